# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts, copies and new tensors: what is met before goes a shorter way."""

import pytest
import torch
from repeated import RUNS, modes, same
from torch.autograd import forward_ad


def numbers(device):
    return (torch.arange(12.0).view(3, 4) - 5.5).to(device)


SHOWN = {
    "rows": lambda x: x,
    "columns": lambda x: x.t(),
    "a part": lambda x: x[:, 1:3],
    "the same row": lambda x: x[0].expand(3, 4),
    "none": lambda x: x[:0],
}


@modes
@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN)
def test_casts(mode, show):
    def program(device):
        with mode():
            x = numbers(device).requires_grad_(mode is torch.enable_grad)
            x = show(x)
            yield from (x.half(), x.double(), x.long(), x.bool(), x.to(torch.complex64))
            yield from (x.to(torch.bfloat16, copy=True), x.to(x.dtype, copy=True))
            yield x.to(torch.float64, memory_format=torch.contiguous_format)
            yield x.half().float() + 1

    same(program)


def test_casts_to_another_place():
    x = numbers("lazy")
    for _ in range(RUNS):
        assert x.to("cpu", torch.float64).device.type == "cpu"
        assert x.to(torch.float64).device == x.device
        assert torch.equal(x.to("cpu", torch.float64), numbers("cpu").double())


def test_gradients_of_casts():
    def program(device):
        x = numbers(device).requires_grad_()
        (x.double() * 3).sum().backward()
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x.detach(), torch.ones_like(x))
            yield forward_ad.unpack_dual(dual.double()).tangent * 1
        yield x.grad

    same(program)


def test_a_cast_keeps_the_value_it_was_made_of():
    def program(device):
        x = numbers(device)
        double, copy = x.double(), x.to(x.dtype, copy=True)
        x.add_(1)
        copy.mul_(2)
        yield from (x, double, copy)

    same(program)


SOURCES = {
    "another": lambda x: x * 2,
    "itself": lambda x: x,
    "a view of itself": lambda x: x.view(3, 4),
    "half": lambda x: x.half(),
    "integers": lambda x: x.long(),
    "columns": lambda x: (x * 2).t().contiguous().t(),
    "one row": lambda x: x[0] * 2,
    "a number": lambda x: x.sum(),
    "too many": lambda x: x.view(4, 3) * 1,
    "a conjugate": lambda x: torch.complex(x, x).conj().imag,
    "of the host": lambda x: x.cpu() * 2,
}
TARGETS = {
    "rows": lambda x: x * 1,
    "columns": lambda x: (x * 1).t().contiguous().t(),
    "a view": lambda x: (x * 1)[:],
    "integers": lambda x: x.long(),
    "half": lambda x: x.half(),
}


@modes
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_copies(mode, source, target):
    def program(device):
        with mode():
            x = numbers(device)
            z = target(x) if source is not SOURCES["itself"] else x
            other = source(x)
            before = z * 1
            z.copy_(other)
            version = z._version if mode is not torch.inference_mode else 0
            z.add_(1)
            yield from (z, other, before, version)

    same(program)


def test_a_copy_and_its_source_are_written_apart():
    def program(device):
        x, z = numbers(device), numbers(device)
        z.copy_(x)
        x.mul_(2)
        view = z[0]
        z.copy_(x)
        x.mul_(2)
        yield from (x, z, view)

    same(program)


def test_gradients_of_copies():
    def program(device):
        x, z = numbers(device).requires_grad_(), numbers(device).double()
        z.copy_(x)
        (z * z).sum().backward()
        yield from (z, x.grad)
        with torch.no_grad():
            x.copy_(z)
        yield x
        x.copy_(z.detach())  # a leaf

    same(program)
