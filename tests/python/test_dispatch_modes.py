# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program under a TorchDispatchMode works as it does without one."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

torch.lazy.device_count()  # the first tensor of a process is made before ours is


class Counting(TorchDispatchMode):
    """Sees every op, as tools do that count what a program computes."""

    def __init__(self):
        super().__init__()
        self.ops = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ops.append(func)
        return func(*args, **kwargs or {})


MADE = {
    "zeros": lambda d: torch.zeros(3, 4, device=d),
    "full": lambda d: torch.full((3, 4), 2.5, device=d),
    "arange": lambda d: torch.arange(12.0, device=d).view(3, 4),
    "empty and fill": lambda d: torch.empty(3, 4, device=d).fill_(3),
    "tensor": lambda d: torch.tensor([[1.0, 2, 3, 4]] * 3, device=d),
    "to": lambda d: torch.ones(3, 4).to(d),
    "new": lambda d: torch.ones(3, 4).new_zeros((3, 4), device=d),
    "like": lambda d: torch.ones_like(torch.zeros(3, 4), device=d),
    "from lazy": lambda d: torch.ones(3, 4, device=d) * 2,
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("modes", [1, 2])
def test_new_tensors_know_their_views(made, modes):
    def run(device):
        x = MADE[made](device)
        row, column = x[1], x.t()[2]
        row.fill_(7)
        x.mul_(2)
        column += 1
        x[0].copy_(row)
        return [x, row, column]

    expected = run("cpu")
    with Counting() as mode:
        if modes == 1:
            found = run("lazy")
        else:
            with Counting():
                found = run("lazy")
    assert any("mul" in str(op) for op in mode.ops)
    found[0][2] += 1  # and after the mode has ended
    expected[0][2] += 1
    for lazy, eager in zip(found, expected, strict=True):
        assert lazy.device.type == "lazy" and torch.equal(lazy.cpu(), eager)


def test_a_mode_sees_calls_that_were_met_before():
    x = torch.ones(3, 4, device="lazy")

    def call():
        return [(x * 2).t(), x.add_(1), torch._foreach_add_([x], 1)]

    for _ in range(3):
        call()
    with Counting() as mode:
        call()
    seen = {op.overloadpacket for op in mode.ops}
    aten = torch.ops.aten
    assert seen >= {aten.mul, aten.add, aten._foreach_add}
    assert {aten.t, aten.t_copy} & seen


def test_training_under_a_mode():
    def run(device):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            x = torch.linspace(-1, 1, 20, device=device).view(5, 4)
            model(x).square().sum().backward()
            optimizer.step()
        return {name: value.cpu() for name, value in model.state_dict().items()}

    expected = run("cpu")
    with Counting():
        found = run("lazy")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_gradients_reach_what_was_moved():
    x = torch.ones(3, requires_grad=True)
    with Counting():
        (x.to("lazy") * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
