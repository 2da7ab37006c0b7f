# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops that draw random numbers, or compute Python's numbers."""

import pytest
import torch
import torch_ltc
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.map import map as map_op
from torch.nn.functional import dropout

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("error:torch_ltc runs .* of torch.compile"),
]


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch_ltc.settings.scope(rng="fast"):  # other files set eager's for all
        yield


def compiled(function):
    return torch.compile(function, backend="ltc", fullgraph=True)


def draws_in_turns(x):
    def body(i, rows):
        row = torch.rand(1, 1000) + torch.zeros_like(rows[:1])
        return i + 1, rows.index_copy(0, i.view(1), row)

    return while_loop(lambda i, _: i < 4, body, (torch.tensor(0), x))[1]


def test_each_turn_draws_anew(counts):
    x = torch.zeros(4, 1000)
    call = compiled(draws_in_turns)
    call(x)
    counts.restart()
    torch.manual_seed(3)
    first, second = call(x), call(x)
    assert counts["execute.launches"] == 2
    torch.manual_seed(3)
    assert torch.equal(call(x), first) and torch.equal(call(x), second)
    rows = torch.cat([first, second])
    assert rows.min() >= 0 and rows.max() < 1
    assert len({tuple(row.tolist()) for row in rows}) == 8
    assert (rows.mean(1) - 0.5).abs().max() < 0.05
    # Not shifted either: of independent rows few elements are equal.
    assert rows.unique().numel() > 7900


def test_both_branches_draw():
    def function(x):
        return torch.cond(
            x.sum() > 0,
            lambda x: x + torch.rand_like(x),
            lambda x: dropout(x, 0.5),
            (x,),
        )

    call = compiled(function)
    x = torch.ones(1000)
    first, second = call(x) - x, call(x) - x
    assert first.min() >= 0 and first.max() < 1 and not torch.equal(first, second)
    kept = call(-x)
    assert set(kept.tolist()) == {0.0, -2.0}
    assert 400 < kept.count_nonzero() < 600


def test_a_branch_and_what_is_around_it_draw_apart():
    def function(x):
        y = torch.rand_like(x)
        z = torch.cond(x.sum() > 0, torch.rand_like, torch.cos, (x,))
        return y, z, torch.rand_like(x)

    results = compiled(function)(torch.ones(500))
    assert torch.stack(results).unique().numel() > 1490


def test_loops_in_a_loop_draw():
    def function(x):
        def body(i, rows):
            def inner(j, row):
                return j + 1, row + torch.rand_like(row)

            row = while_loop(
                lambda j, _: j < 2, inner, (torch.tensor(0), torch.zeros(1, 500))
            )[1]
            return i + 1, rows.index_copy(0, i.view(1), row)

        return while_loop(lambda i, _: i < 3, body, (torch.tensor(0), x))[1]

    rows = compiled(function)(torch.zeros(3, 500))
    assert rows.unique().numel() > 1490
    assert (rows.mean(1) - 1).abs().max() < 0.1


def test_a_long_map_draws_for_each_row(counts):
    def function(x):
        return map_op(lambda row: row + torch.rand_like(row), x)

    call = compiled(function)
    rows = call(torch.zeros(1200, 4))
    assert rows.unique().numel() > 4790
    assert counts["execute.launches"] == 1


def test_eagers_numbers_are_drawn_where_they_are_wanted():
    def function(x):
        return torch.cond(
            x.sum() > 0, lambda x: x + torch.rand_like(x), torch.cos, (x,)
        )

    x = torch.ones(100)
    with torch_ltc.settings.scope(rng="eager"):
        call = compiled(function)
        torch.manual_seed(5)
        found = call(x)
    torch.manual_seed(5)
    torch.testing.assert_close(found, function(x))


def counts_to(x):
    return while_loop(
        lambda i, y: i < 5, lambda i, y: (i + 1, y * 0.5 + i), (0, x.sin())
    )


def starts_from_a_size(x):
    i, y = while_loop(
        lambda i, y: 2 * i > y.shape[0], lambda i, y: (i - 1, y + i), (x.shape[1], x)
    )
    return y.sum() * i, y[0] - i


def reads_rows(x):
    def body(i, total):
        return i + 1, total + x[i] * (i + 0.5)

    return while_loop(lambda i, _: i < x.shape[0], body, (0, torch.zeros(6)))[1]


def writes_rows(x):
    def body(i, y):
        return i + 2, torch.select_scatter(y, y[i - 1] + i // 2, 0, i)

    return while_loop(lambda i, _: (i < 4) & (i >= 0), body, (0, x + 1))[1]


def computes_with_numbers(x):
    def body(i, j, y):
        k = (i * 7 + 3) % 5 - j // 2
        return i + 1, k, y + k * 0.25

    return while_loop(lambda i, j, y: (i < 6) & (j != 100), body, (0, -3, x))


def keeps_dtypes(x):
    n = (x[0, 0] * 10).to(torch.int32)
    return while_loop(
        lambda i, n, h: i < 3,
        lambda i, n, h: (i + 1, n + i, h * i + 1),
        (1, n, x.to(torch.float16)),
    )


def reads_windows(x):
    def body(i, total):
        return i + 1, total + x.narrow(0, i, 2).sum(0)

    return while_loop(lambda i, _: i < x.shape[0] - 1, body, (0, torch.zeros(6)))[1]


def writes_windows(x):
    def body(i, y):
        y = y.clone()
        y.narrow(0, i, 2).copy_(y.narrow(0, i, 2) * 2 + i)
        return i + 1, y

    return while_loop(lambda i, _: i < x.shape[0] - 1, body, (0, x + 1))[1]


def loops_of_numbers_in_a_loop(x):
    def body(i, y):
        j, y = while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y * 0.5 + j), (0, y))
        return i + 1, y + j

    return while_loop(lambda i, _: i < 4, body, (1, x))[1]


@pytest.mark.parametrize(
    "function",
    [
        counts_to,
        starts_from_a_size,
        reads_rows,
        writes_rows,
        computes_with_numbers,
        keeps_dtypes,
        reads_windows,
        writes_windows,
        loops_of_numbers_in_a_loop,
    ],
)
def test_a_loop_that_carries_integers_is_one_program(function, counts):
    call = compiled(function)
    x = torch.linspace(-1, 1.5, 24).view(4, 6)
    call(x)
    for by in (1, -0.5):
        expected = function(x * by)
        y = x * by
        counts.restart()
        found = call(y)
        assert counts["execute.launches"] <= 3  # before, the loop, and behind
        assert counts["codegen.graphs"] == 0
        torch.testing.assert_close(found, expected)


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_a_value_is_read_in_a_body(counts):
    def function(x):
        def body(i, y):
            return i + 1, y / y.abs().max().item() + y[0, 0].item()

        return while_loop(lambda i, y: i < 3, body, (torch.tensor(0), x))[1]

    x = torch.linspace(-1, 2, 12).view(3, 4)
    found = compiled(function)(x)
    assert counts["execute.launches"] == 1
    for _ in range(3):
        x = x / x.abs().max() + x[0, 0]
    torch.testing.assert_close(found, x)


def test_a_number_that_is_a_size_is_read_between_the_turns():
    def function(x):
        def body(i, y):
            return i + 1, y + torch.arange(3).roll(i)

        return while_loop(lambda i, _: i < 3, body, (0, x))[1]

    x = torch.ones(3)
    torch.testing.assert_close(compiled(function)(x), function(x))


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_a_window_is_read_at_a_value(counts):
    def function(x, n):
        def body(i, n, y):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k <= 4)
            return i + 1, (n + 3) % 5, y + x.narrow(0, k, 2).sum(0) + x[k + 1]

        return while_loop(lambda i, *_: i < 4, body, (torch.tensor(0), n, x[0] + 0))[2]

    x, n = torch.linspace(-1, 2, 42).view(7, 6), torch.tensor(1)
    call = compiled(function)
    found = call(x, n)
    assert counts["execute.launches"] == 1
    expected = x[0]
    for k in (1, 4, 2, 0):
        expected = expected + x[k : k + 2].sum(0) + x[k + 1]
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "function", [starts_from_a_size, reads_rows, reads_windows, writes_windows]
)
def test_a_loop_that_carries_integers_takes_every_size(function, counts):
    call = torch.compile(function, backend="ltc", fullgraph=True, dynamic=True)
    for number, rows in enumerate((4, 5, 7, 12)):
        x = torch.linspace(-1, 1.5, rows * 6).view(rows, 6)
        torch.testing.assert_close(call(x), function(x))
        if number == 1:
            counts.restart()
    assert counts["codegen.graphs"] == 0
