# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What makes new tensors: where they are, what they hold, and what is drawn."""

import pytest
import torch
from repeated import RUNS, modes, same
from torch_ltc import settings

MAKERS = {
    "zeros": lambda d: torch.zeros(2, 3, device=d),
    "zeros of a dtype": lambda d: torch.zeros((2, 0), dtype=torch.int64, device=d),
    "ones for a gradient": lambda d: torch.ones(3, device=d, requires_grad=True),
    "full": lambda d: torch.full((2,), 1.5, device=d),
    "full of integers": lambda d: torch.full((2,), 3, device=d),
    "arange": lambda d: torch.arange(4, device=d),
    "arange of reals": lambda d: torch.arange(0, 1, 0.25, device=d),
    "a number": lambda d: torch.tensor(2.5, device=d),
    "scalar_tensor": lambda d: torch.scalar_tensor(2, device=d),
    "a negative size": lambda d: torch.zeros(-1, device=d),
    "no memory": lambda d: torch.empty(2, 3, device=d).fill_(1),
    "like columns": lambda d: torch.zeros_like(torch.ones(2, 3, device=d).t()),
    "like it": lambda d: torch.ones_like(torch.zeros(2, 3, device=d)),
    "like it in integers": lambda d: torch.full_like(
        torch.zeros(2, device=d), 3, dtype=torch.int32
    ),
    "memory like it": lambda d: torch.empty_like(torch.zeros(2, 3, device=d)).fill_(2),
    "memory like columns": lambda d: torch.empty_like(
        torch.zeros(2, 3, device=d).t()
    ).fill_(2),
    "memory like columns in rows": lambda d: torch.empty_like(
        torch.zeros(2, 3, device=d).t(), memory_format=torch.contiguous_format
    ).fill_(2),
    "channels last": lambda d: torch.zeros_like(
        torch.zeros(1, 2, 2, 2, device=d), memory_format=torch.channels_last
    ),
    "new_zeros": lambda d: torch.zeros(1, device=d).new_zeros(2, 2),
    "like a parameter": lambda d: torch.zeros_like(
        torch.ones(2, device=d, requires_grad=True)
    ),
}


@modes
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_made_as_eager_makes_it(mode, make):
    def program(device):
        with mode():
            first, second = make(device), make(device)
            yield first
            with torch.no_grad():
                second.add_(1)
            yield second
            yield make(device)

    same(program)


def test_the_default_dtype_may_change():
    try:
        for dtype in (torch.float32, torch.float64) * RUNS:
            torch.set_default_dtype(dtype)
            assert torch.zeros(2, device="lazy").dtype is dtype
            assert torch.full((2,), 1.0, device="lazy").dtype is dtype
            assert torch.randn(2, device="lazy").dtype is dtype
    finally:
        torch.set_default_dtype(torch.float32)


LIKE = {
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "empty_like": torch.empty_like,
    "full_like": lambda x, **given: torch.full_like(x, 3, **given),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint_like": lambda x, **given: torch.randint_like(x, 3, **given),
    "new_zeros": lambda x, **given: x.new_zeros(2, **given),
    "new_ones": lambda x, **given: x.new_ones(2, **given),
    "new_full": lambda x, **given: x.new_full((2,), 3, **given),
    "new_empty": lambda x, **given: x.new_empty(2, **given),
    "new_empty_strided": lambda x, **given: x.new_empty_strided((2,), (1,), **given),
}
likes = pytest.mark.parametrize("like", LIKE.values(), ids=LIKE)


@modes
@likes
def test_on_another_device_than_the_tensor(mode, like):
    with mode():
        x = torch.ones(2, device="lazy")
        for _ in range(RUNS):
            there = like(x, device="cpu")
            assert there.device.type == "cpu" and there.numpy().shape == (2,)
            here = like(x, device="lazy")
            assert here.device == like(x).device == x.device


@likes
def test_memory_that_no_lazy_tensor_has(like):
    x = torch.ones(2, device="lazy")
    for _ in range(RUNS):
        like(x)
        with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
            like(x, pin_memory=True)


def test_on_another_lazy_device(run_python):
    program = """
import torch
x = torch.ones(2, device="lazy:1")
for _ in range(3):
    made = [torch.zeros_like(x), torch.zeros_like(x, device="lazy:0")]
    made += [torch.empty_like(x), torch.empty_like(x, device="lazy:0"), x.new_ones(1)]
    print(*[m.device.index for m in made], (made[1] + 1).tolist())
"""
    out = run_python(program, LTC_CPU_DEVICES="2").stdout.splitlines()
    assert out == ["1 0 1 0 1 [1.0, 1.0]"] * 3


def draw_all(device="lazy", generator=None):
    x = torch.zeros(3, device=device)
    yield torch.randn(3, device=device)
    yield torch.rand(2, 2, device=device)
    yield from (torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 9))
    yield x.clone().normal_()
    yield x.clone().normal_(1, 2, generator=generator)
    yield x.clone().uniform_(2, 3, generator=generator)
    yield x.clone().exponential_(generator=generator)
    yield x.clone().bernoulli_(0.5)
    yield torch.empty(3, device=device).normal_()[1:].normal_(2, 3)


def test_draws_are_the_same_however_they_are_recorded():
    runs = []
    for _ in range(RUNS):
        torch.manual_seed(3)
        generator = torch.Generator().manual_seed(4)
        runs.append([x.tolist() for x in draw_all(generator=generator)])
        runs[-1].append((torch.rand(1).item(), torch.rand(1, generator=generator)))
    assert runs[1:] == runs[:-1]
    assert len({tuple(row) for row in runs[0][5:10]}) == 5


def test_draws_of_eager_after_fast_ones():
    for _ in range(RUNS):
        list(draw_all())
        with settings.scope(rng="eager"):
            drawn = []
            for device in ("cpu", "lazy"):
                torch.manual_seed(3)
                drawn.append([x.tolist() for x in draw_all(device)])
            assert drawn[0] == drawn[1]


def test_numbers_are_checked_after_a_call_was_met():
    def program(device):
        x = torch.zeros(3, device=device)
        for deviation in (1.0, 2.0, 1.0, -1.0):
            x.normal_(0.5, deviation)
        yield x

    same(program)


@pytest.mark.parametrize(
    "draw",
    [lambda x: x.uniform_(3, 1), lambda x: x.exponential_(-1.0)],
    ids=["uniform_", "exponential_"],
)
def test_refused_numbers(draw):
    def program(device):
        yield draw(torch.zeros(2, device=device))

    same(program)
