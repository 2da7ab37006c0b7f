# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.compile leaves open is compiled once, and built for no further size."""

from types import SimpleNamespace

import pytest
import sympy
import torch
import torch.nn.functional as F
from torch.utils._sympy.functions import FloorDiv, Max
from torch_ltc import settings
from torch_ltc.dynamo import host_calls, open_calls
from torch_ltc.dynamo.derived_sizes import DerivedSizes

SIZES = (5, 12, 3, 64, 33)


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


@pytest.fixture
def builds(monkeypatch):
    """Count the graphs that are built, compiled or not."""
    counted = []
    record = host_calls._record

    def counting(*args):
        counted.append(args)
        return record(*args)

    monkeypatch.setattr(host_calls, "_record", counting)
    return counted


def open_first(x):
    torch._dynamo.mark_dynamic(x, 0)
    return x


def compiled(function, **options):
    return torch.compile(function, backend="ltc", fullgraph=True, **options)


weight = torch.randn(8, 8)


def normalizes(x):
    hidden = F.layer_norm(x @ weight, (8,)).relu()
    return hidden, hidden.t(), hidden.view(-1)[3:]


def computes_with_sizes(x):
    return x.sum() / x.shape[0] + x.mean(), x * x.shape[0], x.shape[0] * 2 + 1


def attends(x):
    q, k, v = ((x @ weight + i).view(-1, 2, 4).transpose(0, 1) for i in range(3))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def joins(x):
    return torch.cat([x, x[1:] + 1, x.new_zeros(3, 8)]).cumsum(0), x.flip(0)


def counts_places(x):
    places = torch.arange(x.shape[0]).remainder(3)
    return x[places] + places.cumsum(0)[:, None], places


def writes(x):
    x.add_(1)
    return x.sum(0), x.view(-1)[2:]


FUNCTIONS = (
    normalizes,
    computes_with_sizes,
    attends,
    joins,
    counts_places,
    writes,
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_of_every_size(function, counts, builds):
    call = compiled(function)
    for n in SIZES:
        ours, eagers = (torch.linspace(-1, 2, n * 8).view(n, 8) for _ in range(2))
        found = call(open_first(ours))
        torch.testing.assert_close(found, function(eagers))
        torch.testing.assert_close(ours, eagers)
        if n == SIZES[0]:
            built = len(builds)
    assert len(builds) == built
    assert counts["codegen.graphs"] <= 1
    assert counts.fallbacks() == []


def test_two_sizes_and_gradients(counts, builds):
    def function(x, w):
        return torch.tanh(x @ w).pow(2).mean()

    call = compiled(function, dynamic=True)
    for n, m in ((5, 3), (12, 7), (3, 9), (64, 2)):
        x, ours = torch.randn(n, m), torch.randn(m, n, requires_grad=True)
        eagers = ours.detach().clone().requires_grad_()
        call(x, ours).backward()
        function(x, eagers).backward()
        torch.testing.assert_close(ours.grad, eagers.grad)
        if n == 5:
            built = len(builds)
    assert len(builds) == built
    assert counts["codegen.graphs"] == 2  # forward and backward


def test_random_ops_draw_in_each_call():
    call = compiled(lambda x: F.dropout(x, 0.5), dynamic=True)
    results = [call(torch.ones(64, n)) for n in (40, 50, 60, 50)]
    assert not torch.equal(results[1], results[3])
    for result in results:
        assert 0.4 < result.count_nonzero() / result.numel() < 0.6


def test_inputs_in_another_order():
    def function(x):
        return x.relu() + 1

    call = compiled(function, dynamic=True)
    for n in SIZES:
        for x in (torch.randn(n, 8), torch.randn(8, n).t(), torch.randn(n, 16)[:, ::2]):
            found, wanted = call(x), function(x)
            torch.testing.assert_close(found, wanted)
            assert found.stride() == wanted.stride()


convolution = torch.nn.Conv2d(1, 2, 3, stride=2, padding=1)


def strides_and_pools(x):
    x = convolution(x[None, None])
    return F.max_pool2d(x.relu(), 2), F.avg_pool2d(x, 3, stride=2)


def unflattens(x):
    return x[: x.shape[0] // 4 * 4].unflatten(0, (-1, 4)).softmax(1) * 2


def chunks(x):
    first, second = x.chunk(2)
    return first.sum(0) + second.relu().sum(0), x[: x.shape[0] // 2] * 2


def keeps_the_least(x):
    return x[: min(x.shape[0], 400)].exp(), x[: x.shape[0] - x.shape[0] % 7] + 1


@pytest.mark.parametrize(
    "function", (strides_and_pools, unflattens, chunks, keeps_the_least)
)
def test_sizes_that_are_no_polynomials(function, counts, builds):
    call = compiled(function, dynamic=True)
    for n in (26, 33, 52, 75, 37):
        ours = torch.randn(n, n + 3, requires_grad=True)
        eagers = ours.detach().clone().requires_grad_()
        found, wanted = call(ours), function(eagers)
        torch.testing.assert_close(found, wanted)
        for results in (found, wanted):
            results = results if isinstance(results, tuple) else (results,)
            sum(result.pow(2).sum() for result in results).backward()
        torch.testing.assert_close(ours.grad, eagers.grad)
        if n == 26:
            built = len(builds)
    assert len(builds) == built
    assert counts["codegen.graphs"] == 2  # forward and backward


def test_what_only_floats_tell_is_built_for_each_size(builds):
    def function(x):
        return F.interpolate(x[None], scale_factor=0.5) * x.shape[1]

    call = compiled(function, dynamic=True)
    for n in (9, 14, 21, 40):
        x = torch.randn(3, n)
        torch.testing.assert_close(call(x), function(x))
    assert len(builds) >= 4


def test_the_greater_of_two_sizes(counts):
    def function(x):
        return x.new_ones(torch.sym_max(x.shape[0], 16)).sum() + x.sum()

    call = compiled(function, dynamic=True)
    for n in (100, 300, 8, 20, 9):
        x = torch.randn(n)
        torch.testing.assert_close(call(x), function(x))
    assert counts["cache.dynamic_hits"] >= 3


def test_a_guard_for_multiples_is_kept_to(builds):
    def function(x):
        return x.view(-1, 8).sum(1) * 2

    call = compiled(function, dynamic=True)
    for n in (16, 40, 24, 800):
        x = torch.randn(n)
        torch.testing.assert_close(call(x), function(x))


def test_more_sizes_than_are_kept(builds):
    call = compiled(lambda x: x.cos() * 2, dynamic=True)
    for n in (*range(2, 90), *range(2, 90)):
        x = torch.randn(n)
        torch.testing.assert_close(call(x), x.cos() * 2)
    assert len(builds) < 10


def test_dynamic_off_leaves_nothing_open(builds, counts):
    with settings.scope(dynamic="off"):
        call = compiled(lambda x: x.cos() * 2, dynamic=True)
        for n in (3, 5, 9):
            x = torch.randn(n)
            torch.testing.assert_close(call(x), x.cos() * 2)
    assert len(builds) == counts["codegen.graphs"] == 3


def test_an_error_names_op_and_line():
    call = compiled(lambda table, index: F.embedding(index, table) * 2, dynamic=True)
    for n in (5, 9):
        call(torch.randn(n, 4), torch.tensor([0, n - 1]))
    with pytest.raises(
        RuntimeError, match=r"(?s)17 is out of.* size 17.*test_open_calls"
    ):
        call(torch.randn(17, 4), torch.tensor([0, 17]))


def test_trials_keep_to_guards_and_differ():
    s, t = sympy.symbols("s t", integer=True)
    environment = SimpleNamespace(
        var_to_range={},
        guards=[SimpleNamespace(expr=sympy.Eq(s % 8, 0))],
        deferred_runtime_asserts={},
    )
    derived = DerivedSizes([s, t], [])
    trials = open_calls._trials({s: 32, t: 7}, environment, derived)
    assert len(trials) >= 3
    for values in trials:
        assert values[s] != values[t] and min(values.values()) >= 2
        assert values[s] % 8 == 0
    for symbol in (s, t):
        assert len({values[symbol] for values in trials}) == len(trials)


def test_trials_tell_a_quotient_from_a_half():
    s, t = sympy.symbols("s t", integer=True, positive=True)
    quotients = [FloorDiv(s, 2), FloorDiv(t - 1, 4) + 1, 2 * FloorDiv(t, 2)]
    derived = DerivedSizes([s, t], [*quotients, Max(16, s), s * t])
    assert derived.at([9, 30]) == [4, 8, 30, 16]
    environment = SimpleNamespace(
        var_to_range={}, guards=[], deferred_runtime_asserts={}
    )
    hints = {s: 32, t: 7}
    trials = [hints, *open_calls._trials(hints, environment, derived)[:2]]
    for remainders in (
        {values[s] % 2 for values in trials},
        {(values[t] - 1) % 4 for values in trials},
        {values[t] % 2 for values in trials},
    ):
        assert len(remainders) > 1
    assert all(values[s] >= 16 for values in trials)
