# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the exported module writes to: buffers and inputs."""

import copy
import platform

import pytest
import torch
import torch_ltc
from torch import nn

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x, scale=2.0):
        self.total += self.linear(x).sum(0)
        x.mul_(scale)
        return self.total.clone(), x.shape[1], None


def test_buffers_and_inputs_are_written_to(make):
    module = Counts()
    loaded = make(Counts.eval(module), (torch.randn(3, 4),))
    for _ in range(3):
        x = torch.randn(3, 4)
        mine = x.clone()
        with torch.no_grad():
            wanted = module(x)
        found = loaded(mine)
        close(found[0], wanted[0])
        assert found[1:] == wanted[1:]
        assert torch.equal(mine, x)
    with pytest.raises(torch_ltc.Error, match="exported with other arguments"):
        loaded(torch.randn(3, 4), 3.0)


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        # In this order: what is written to first is read by the next.
        self.register_buffer("cur", torch.zeros(3))
        self.register_buffer("prev", torch.zeros(3))

    def forward(self, x):
        self.prev.copy_(self.cur)
        self.cur.add_(x)
        return self.cur - self.prev


class Swaps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(3.0))
        self.register_buffer("b", torch.full((3,), 7.0))

    def forward(self, x):
        a = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(a)
        return self.a * x


class SwapsInputs(nn.Module):
    def forward(self, x, y):
        old = x.clone()
        x.copy_(y)
        y.copy_(old)
        return x.view(-1)


class SameNames(nn.Module):
    """A buffer and an argument are both named state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(3))

    def forward(self, state):
        self.state.add_(state)
        state.mul_(2)
        return self.state + 1


@pytest.mark.parametrize(
    ("module", "shapes"),
    [
        (Keeps(), [(3,)]),
        (Swaps(), [(3,)]),
        (SwapsInputs(), [(2, 3), (2, 3)]),
        (SameNames(), [(3,)]),
    ],
)
def test_new_values_are_of_old_ones(make, module, shapes):
    loaded = make(copy.deepcopy(module), tuple(map(torch.ones, shapes)))
    for _ in range(3):
        mine = [torch.randn(shape) for shape in shapes]
        wanted = [one.clone() for one in mine]
        close(loaded(*mine), module(*wanted))
        close(mine, wanted)


class Views(nn.Module):
    def forward(self, x, y):
        x.copy_(y.view_as(x))
        return x.view(-1), y.view(3, 2), x.t(), y


def test_results_that_are_inputs_seen_otherwise(make):
    loaded = make(Views(), (torch.ones(2, 3), torch.ones(6)))
    mine = torch.randn(2, 3), torch.randn(6)
    wanted = [one.clone() for one in mine]
    for found, right in zip(loaded(*mine), Views()(*wanted), strict=True):
        assert torch.equal(found, right)
    assert torch.equal(mine[0], wanted[0])
