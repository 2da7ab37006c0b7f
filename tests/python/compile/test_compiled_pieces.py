# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads of values leave the rest of a function compiled."""

import copy
import pickle
import weakref

import numpy as np
import pytest
import torch
from torch import fx
from torch._higher_order_ops import while_loop
from torch_ltc.dynamo import fx_calls, fx_pieces, host_calls

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("error:torch_ltc runs .* of torch.compile"),
]


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._dynamo.config.patch(
        capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
    ):
        yield


def compiled(function):
    return torch.compile(function, backend="ltc", fullgraph=True)


def branches_by_a_number(x):
    def inner(y):
        return y * y.sum().item()

    y = torch.cond(x.sum() > 0, inner, lambda y: y.cos(), (x.sin(),))
    return y + 1


def loops_with_a_number(x):
    def body(i, y):
        return i + 1, y * y.abs().max().item()

    return while_loop(lambda i, y: i < 3, body, (x.new_zeros(()), x))[1].t()


def reads_a_number(x):
    return x * (x.abs().sum().item() + 1)


def takes_what_is_positive(x):
    positive = x[x > 0]
    return positive.exp().sum(), positive * 2


def finds_places(x):
    places = torch.nonzero(x.flatten() > 0.5).flatten()
    return x.flatten()[places] + 1, places.shape[0]


def reads_a_view_and_writes(x):
    y = x.t()[1:]
    z = torch.cond(y.sum() > 0, lambda y: y * 2, lambda y: y - 1, (y.clone(),))
    x.add_(1)
    return y + z.sum()


def inverts_twice(x):
    square = x @ x.t() + 9 * torch.eye(4, device=x.device)
    return torch.linalg.inv(torch.linalg.inv(square.sin() + square) + square).cos()


FUNCTIONS = (
    inverts_twice,
    branches_by_a_number,
    loops_with_a_number,
    reads_a_number,
    takes_what_is_positive,
    finds_places,
    reads_a_view_and_writes,
)


@pytest.mark.parametrize("device", ["cpu", "lazy"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values(function, device):
    call = compiled(function)
    with torch.no_grad():
        for by in (1.0, -1.0, 0.5):
            x = torch.linspace(-1, 1.5, 24).view(4, 6) * by
            ours, eagers = x.to(device).clone(), x.clone()
            found, expected = call(ours), function(eagers)
            torch.testing.assert_close(found, expected, check_device=False)
            torch.testing.assert_close(ours.cpu(), eagers)


def test_backward_has_the_value_from_before_a_write():
    def function(x, y):
        x.add_(1)
        z = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x.clone(),))
        return z.sum() * (x * y).sum()

    ours, eagers = (
        (torch.arange(6.0), torch.ones(6).requires_grad_()) for _ in range(2)
    )
    found, expected = compiled(function)(*ours), function(*eagers)
    torch.testing.assert_close(found, expected)
    found.backward()
    expected.backward()
    torch.testing.assert_close(ours[1].grad, eagers[1].grad)
    assert ours[0].tolist() == [1, 2, 3, 4, 5, 6]


def test_an_error_in_a_piece_names_its_line():
    def function(x, i):
        y = x * x.sum().item()
        return y[i]

    with pytest.raises(IndexError, match="index 7 is out of bounds") as raised:
        compiled(function)(torch.ones(3), torch.tensor([7]))
    line = function.__code__.co_firstlineno + 2
    assert f"test_compiled_pieces.py:{line} in function" in str(raised.value)


def test_an_op_that_runs_eagerly_for_another_reason_is_told(monkeypatch):
    build = host_calls.build

    def refuse_sines(gm, *more):
        sine = torch.ops.aten.sin.default
        for node in gm.graph.find_nodes(op="call_function", target=sine):
            error = RuntimeError("no sines here")
            error.ltc_node = node
            raise error
        return build(gm, *more)

    monkeypatch.setattr(host_calls, "build", refuse_sines)
    x = torch.linspace(-1, 1, 6)
    told = r"runs an op of torch.compile eagerly: no sines here \(aten.sin.default\)"
    with pytest.warns(UserWarning, match=told) as warned:
        found = compiled(lambda x: x.exp().sin().cos())(x)
    assert warned[0].filename == __file__
    torch.testing.assert_close(found, x.exp().sin().cos())


def test_pieces_let_go_of_what_nothing_reads_any_more():
    graph = fx.Graph()
    x = graph.placeholder("x")
    grown = graph.call_function(torch.ops.aten.sin.default, (x,))
    total = graph.call_function(torch.ops.aten.sum.default, (grown,))
    number = graph.call_function(torch.ops.aten._local_scalar_dense.default, (total,))
    scaled = graph.call_function(torch.ops.aten.mul.Tensor, (grown, number))
    again = graph.call_function(torch.ops.aten._local_scalar_dense.default, (total,))
    last = graph.call_function(torch.ops.aten.add.Tensor, (scaled, again))
    graph.output((last,))
    made, alive = {}, []

    def compiled(piece):
        names = [node.name for node in fx_calls.outputs_of(piece)]

        def call(args):
            alive.append({name for name, ref in made.items() if ref() is not None})
            results = list(piece(*args))
            made.update(zip(names, map(weakref.ref, results), strict=True))
            return results

        return call

    given = [torch.ones(3)]
    pieces = fx_pieces.Pieces(fx.GraphModule({}, graph), compiled)
    torch.testing.assert_close(pieces(given)[0], _last(torch.ones(3)))
    assert given == []
    assert alive == [set(), {"sin_default", "sum_default"}, {"mul_tensor"}]


def _last(x):
    total = x.sin().sum()
    return x.sin() * total + total


def test_calls_are_not_copied_with_a_graph():
    gm = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    gm.graph.find_nodes(op="output")[0].args = ([*gm.graph.nodes][-2:-1],)
    gm.recompile()
    x = torch.tensor([-1.0, 2.0], device="lazy")
    (before,), _ = fx_calls.run(gm, x.device, [x])
    for other in (copy.deepcopy(gm), copy.copy(gm), pickle.loads(pickle.dumps(gm))):
        (node,) = other.graph.find_nodes(op="call_function", target=torch.relu)
        node.target = torch.abs
        (found,), _ = fx_calls.run(other, x.device, [x])
        assert found.tolist() == [2, 3]
    assert before.tolist() == [1, 3]


@torch.library.custom_op("ltc_tests_pieces::sines", mutates_args=("outs",))
def write_sines(x: torch.Tensor, outs: list[torch.Tensor]) -> None:
    for out in outs:
        np.sin(x.numpy(), out=out.numpy())


def test_an_op_that_reads_memory_in_python_runs_on_the_tensors():
    def function(x):
        outs = [torch.empty_like(x) for _ in range(2)]
        write_sines(x * 2, outs)
        return outs[0] + outs[1] * x

    x = torch.linspace(-1, 1, 5)
    call = compiled(function)
    with pytest.warns(UserWarning, match="eagerly: can't convert lazy.* to numpy"):
        torch.testing.assert_close(call(x), function(x))
    torch.testing.assert_close(call(-x), function(-x))


LOGGED = []


@torch.library.custom_op("ltc_tests_pieces::log", mutates_args=())
def log(what: str, x: torch.Tensor) -> torch.Tensor:
    LOGGED.append((what, x.tolist()))
    return x.clone()


@log.register_fake
def _(what, x):
    return torch.empty_like(x)


log.register_autograd(lambda _, grad: (None, log("gradient", grad)))
log.register_effect("ordered")


def test_ops_with_effects_are_called_in_turn_whether_or_not_they_are_read():
    def function(x):
        log("before", x)
        y = log("kept", x * 2)
        log("behind", y + 1)
        return (y * y).sum()

    call = compiled(function)
    for i in range(2):
        ours = torch.tensor([1.0, 2.0 + i], requires_grad=True)
        eagers = ours.detach().requires_grad_()
        runs = []
        for run, x in ((call, ours), (function, eagers)):
            LOGGED.clear()
            run(x).backward()
            runs.append([*LOGGED])
        assert runs[0] == runs[1]
        assert len(runs[0]) == 4
        torch.testing.assert_close(ours.grad, eagers.grad)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_check_of_values_raises_with_open_sizes_too(dynamic):
    call = torch.compile(torch.linalg.inv, backend="ltc", dynamic=dynamic)
    for size in (2, 3, 5):
        x = torch.randn(size, size)
        torch.testing.assert_close(call(x), torch.linalg.inv(x))
        with pytest.raises(torch.linalg.LinAlgError, match="element 1 is zero"):
            call(torch.zeros(size, size))
