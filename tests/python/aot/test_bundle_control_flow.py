# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops inside bundles."""

import pytest
import torch
import torch_ltc
from aot_writer import Writer, arguments
from torch import nn
from torch._higher_order_ops import while_loop
from torch.export import Dim, export
from torch_ltc import aot

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
]
close = torch.testing.assert_close


class Branches(nn.Module):
    """Has a branch in a loop, and weights that only they read."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, turns):
        def body(i, y):
            even = i % 2 == 0
            return i + 1, torch.cond(
                even, lambda y: self.linear(y).tanh(), lambda y: y * 0.5, (y,)
            )

        start = torch.tensor(0), x.sin()
        return while_loop(lambda i, y: i < turns, body, start)


def test_a_branch_in_a_loop(make):
    module = Branches()
    loaded = make(module, (torch.ones(3, 4), torch.tensor(5)))
    with torch.no_grad():
        for turns in (5, 0, 9):
            x = torch.randn(3, 4)
            close(loaded(x, torch.tensor(turns)), module(x, torch.tensor(turns)))


def test_a_text_is_written_inside(make):
    module = Writer()
    loaded = make(module, arguments(3, 5, 8))
    with torch.no_grad():
        for given in ((3, 5, 8), (1,), (7, 7, 7, 7, 2)):
            close(loaded(*arguments(*given)), module(*arguments(*given)))
        close(loaded(*arguments(3, end=1)), module(*arguments(3, end=1)))


def test_an_error_in_a_loop_loses_nothing(make):
    module = Writer()
    loaded = make(module, arguments(3, 5, 8))
    with pytest.raises(torch_ltc.Error, match=r"while_loop: aten::embedding: .*99"):
        loaded(*arguments(99))
    with torch.no_grad():
        close(loaded(*arguments(4)), module(*arguments(4)))


class Draws(nn.Module):
    def forward(self, x):
        def body(i, rows):
            row = torch.rand_like(rows[:1])
            return i + 1, rows.index_copy(0, i.view(1), row)

        start = torch.tensor(0), x.clone()
        rows = while_loop(lambda i, _: i < x.shape[0], body, start)[1]
        return torch.cond(x.sum() > 0, lambda r: r + torch.rand(()), torch.cos, (rows,))


def test_each_turn_draws_anew(make):
    loaded = make(Draws(), (torch.ones(3, 500),))
    loaded.seed(7)
    first, second = loaded(torch.ones(3, 500)), loaded(torch.zeros(3, 500)).acos()
    loaded.seed(7)
    assert torch.equal(loaded(torch.ones(3, 500)), first)
    first = first - first.min()
    for rows in (first, second):
        assert rows.min() >= 0 and rows.max() <= 1
        assert rows.unique().numel() > 1490
        assert (rows.mean(1) - 0.5).abs().max() < 0.1


class Needs(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sort()[0], torch.cos, (x,))


def test_a_call_without_a_kernel_in_a_branch_is_refused(tmp_path):
    with pytest.raises(torch_ltc.errors.UnsupportedOpError, match="aten::sort"):
        aot.compile(export(Needs(), (torch.ones(3),)), tmp_path / "x")


def test_open_sizes_in_a_loop(make):
    rows = Dim("rows", max=64)
    module = Branches()
    given = torch.ones(3, 4), torch.tensor(5)
    loaded = make(module, given, dynamic_shapes=({0: rows}, None))
    with torch.no_grad():
        for n, turns in ((3, 5), (1, 2), (64, 3), (17, 0)):
            x = torch.randn(n, 4)
            close(loaded(x, torch.tensor(turns)), module(x, torch.tensor(turns)))


class Windows(nn.Module):
    """Reads and writes rows at numbers that its loop computes."""

    def forward(self, x):
        def body(i, y):
            y = y.clone()
            y[i] = y[i] * 2 + x.narrow(0, i, 2).sum(0)
            return i + 1, y

        return while_loop(lambda i, _: i < x.shape[0] - 1, body, (0, x + 1))[1]


def test_numbers_of_a_loop_are_places(make):
    rows = {0: Dim("rows", min=4, max=64)}
    loaded = make(Windows(), (torch.ones(5, 3),), dynamic_shapes=(rows,))
    for n in (4, 5, 23):
        x = torch.randn(n, 3)
        close(loaded(x), Windows()(x))


class Looks(nn.Module):
    def forward(self, x, n):
        def body(i, y):
            k = i.item()
            torch._check(k >= 0)
            torch._check(k <= 3)
            return i - 1, y + x[k]

        return while_loop(lambda i, _: i >= 0, body, (n, x[0]))[1]


def test_a_check_of_a_number_in_a_loop(make):
    loaded = make(Looks(), (torch.ones(5, 3), torch.tensor(2)))
    x = torch.randn(5, 3)
    close(loaded(x, torch.tensor(3)), x[0] + x[:4].sum(0))
    with pytest.raises(torch_ltc.Error, match=r"while_loop: .*u\d+ <= 3"):
        loaded(x, torch.tensor(4))
