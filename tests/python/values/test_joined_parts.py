# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Concatenations of so many parts that one library call makes them."""

import pytest
import torch

SIZES = [(3, 4, 5), (3, 1, 5), (3, 0, 5), (3, 7, 5), (3, 2, 5), (3, 4, 5), (3, 1, 5)]
DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def parts(dim, dtype, device):
    torch.manual_seed(0)
    made = [torch.randn(size).mul(4).to(dtype).transpose(1, dim) for size in SIZES]
    return [part.contiguous().to(device) for part in made]


def both(program, *arguments):
    """Run on each device; the second is what eager makes of it."""
    return [program(*arguments, device) for device in ("lazy", "cpu")]


def check(lazy, eager):
    assert lazy.dtype == eager.dtype
    assert lazy.stride() == eager.stride()
    assert torch.equal(lazy.cpu(), eager)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", range(3))
def test_parts_of_every_dtype(dim, dtype):
    check(*both(lambda device: torch.cat(parts(dim, dtype, device), dim)))


def test_one_call_makes_them(counts):
    held = parts(1, torch.float32, "lazy")
    torch.lazy.synchronize()
    counts.restart()
    torch.cat(held, 1).cpu()
    assert counts["execute.kernels"] == 1


def test_parts_of_several_dtypes():
    def program(device):
        held = parts(1, torch.float32, device)
        typed = zip(held[:5], DTYPES[:5], strict=True)
        return torch.cat([part.to(dtype) for part, dtype in typed], 1)

    check(*both(program))


def test_what_is_computed_is_taken_along():
    def program(device):
        held = parts(1, torch.float32, device)
        return torch.cat([*held, held[0] * 2, held[3][:, 1:3], held[0].flip(0)], 1) + 1

    check(*both(program))


def test_concatenations_of_concatenations():
    def program(device):
        held = parts(1, torch.float32, device)
        inner = torch.cat(held, 1)
        outer = torch.cat([inner, *held, inner], 1)
        return torch.stack([outer, inner.amax() + outer, outer, outer, outer, outer])

    check(*both(program))


def test_states_of_a_loop_and_their_gradients():
    """What nn.LSTMCell in a loop does; more than a thread is worth."""

    def program(device):
        torch.manual_seed(0)
        weight = (torch.randn(64, 64) / 8).to(device).requires_grad_()
        state, states = torch.randn(40, 64).to(device), []
        for _ in range(12):
            state = torch.relu(state @ weight)
            states.append(state)
        joined = torch.stack(states, 1)
        (joined * joined).sum().backward()
        return joined.detach(), weight.grad

    for lazy, eager in zip(*both(program), strict=True):
        torch.testing.assert_close(lazy.cpu(), eager, rtol=1e-4, atol=1e-4)


def test_what_is_written_back_into_a_part():
    def program(device):
        held = parts(1, torch.float32, device)
        held[0].copy_(torch.cat(held, 1)[:, 6:10])
        return torch.cat(held, 1)

    check(*both(program))
