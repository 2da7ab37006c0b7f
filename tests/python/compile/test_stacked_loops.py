# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A `while_loop` in training keeps the values of all turns, in a program."""

import pytest
import torch
from torch._higher_order_ops import while_loop

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("error:torch_ltc runs .* of torch.compile"),
]


def loops(x, turns):
    def body(i, y):
        return i + 1, (y * 1.1 + x).sin()

    return while_loop(lambda i, _: i < turns, body, (torch.tensor(0), x.clone()))[1] * 2


def unrolled(x, turns):
    y = x
    for _ in range(turns):
        y = (y * 1.1 + x).sin()
    return y * 2


def test_values_and_gradients_of_any_number_of_turns(counts):
    torch._dynamo.reset()
    call = torch.compile(loops, backend="ltc", fullgraph=True)
    for turns in (3, 40, 200, 40):
        x = torch.randn(6, 4, requires_grad=True)
        other = x.detach().clone().requires_grad_()
        counts.restart()
        found, wanted = call(x, torch.tensor(turns)), unrolled(other, turns)
        # The loop is one program, and not two a turn.
        assert counts["execute.launches"] <= 5
        assert counts["execute.turns"] == turns
        found.sum().backward()
        wanted.sum().backward()
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(x.grad, other.grad, rtol=1e-4, atol=1e-5)
