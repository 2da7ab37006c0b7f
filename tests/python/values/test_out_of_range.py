# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts that do not fit and shifts by too much give what eager gives.

A compiler may take these for impossible, and then most readily where it knows the
operands: each is tested on data and on constants of the graph.
"""

import math

import pytest
import torch

INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
ENDS = (127, 255, 2**15, 2**16, 2**31, 2**32, 2**63, 2**64)
NUMBERS = (
    *(sign * (end + by) for end in ENDS for by in (-1, 0, 1) for sign in (1, -1)),
    *(0.9, -0.9, 1e20, -1e20, 3e38, math.inf, -math.inf, math.nan),
)


def check(program):
    wanted, found = program("cpu"), program("lazy")
    for number, (w, f) in enumerate(zip(wanted, found, strict=True)):
        assert f.dtype == w.dtype
        assert torch.equal(f.cpu(), w), number


@pytest.mark.parametrize("dtype", FLOATS)
def test_casts_of_data(dtype):
    x = torch.tensor(NUMBERS, dtype=torch.float64).to(dtype)
    check(lambda d: [x.to(d).to(to) for to in INTEGERS])
    check(lambda d: [x[i].to(d).to(torch.int32) for i in range(len(x))])


@pytest.mark.parametrize("dtype", FLOATS)
def test_casts_of_constants(dtype):
    def program(device):
        zeros = torch.zeros(20, dtype=dtype, device=device)
        ones = torch.ones(20, dtype=dtype, device=device)
        made = [zeros / zeros, ones / zeros, -ones / zeros, (ones * 300).exp()]
        made += [torch.full((20,), float(n), device=device).to(dtype) for n in NUMBERS]
        return [x.to(to) for x in made for to in INTEGERS]

    check(program)


SHIFTS = {
    "left": torch.bitwise_left_shift,
    "right": torch.bitwise_right_shift,
    "<<": torch.Tensor.__lshift__,
    ">>": torch.Tensor.__rshift__,
}


def distances(dtype):
    bits = torch.iinfo(dtype).bits
    short = [0, 1, bits // 2, bits - 1, bits, bits + 1, 2 * bits, 100, 127]
    return short + [-n for n in short] if dtype.is_signed else short


def shifted(dtype):
    ends = torch.iinfo(dtype)
    return torch.tensor([0, 1, 5, ends.max, ends.min, ends.max - 2], dtype=dtype)


@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_of_data(shift, dtype):
    x = shifted(dtype)[:, None].repeat(1, 3)
    by = torch.tensor(distances(dtype), dtype=dtype).repeat_interleave(3)
    check(lambda d: [shift(x[:, :1].to(d), by.to(d)), shift(x.to(d), by[:3].to(d))])
    check(lambda d: [shift(x.to(d), n) for n in distances(dtype)])


@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_of_constants(shift, dtype):
    def program(device):
        of = {"dtype": dtype, "device": device}
        ones, rising = torch.ones(9, **of), torch.arange(9, **of)
        made = []
        for number in distances(dtype):
            made += [shift(ones, number), shift(rising - 4, number)]
            made += [shift(ones, rising + number), shift(rising, ones * number)]
        return made

    check(program)


def test_a_power_of_two_is_rounded_before_it_scales():
    exponents = torch.tensor([0.5, 15.0, 16.0, 100.0, -30.0, 130.0])
    zeros = torch.zeros(6)
    for dtype in FLOATS:
        for to in FLOATS:
            x, power = (zeros + 3).to(dtype), exponents.to(to)
            wanted = [torch.ldexp(x, power), torch.ldexp(zeros.to(dtype), power)]
            found = [torch.ldexp(x.to("lazy"), power.to("lazy"))]
            found += [torch.ldexp(zeros.to(dtype).to("lazy"), power.to("lazy"))]
            for w, f in zip(wanted, found, strict=True):
                torch.testing.assert_close(f.cpu(), w, equal_nan=True)
    x, power = zeros.double() + 1, torch.tensor([1, 10, 127, 128, 200, -200])
    wanted = torch.ldexp(x, power)
    assert torch.equal(torch.ldexp(x.to("lazy"), power.to("lazy")).cpu(), wanted)


def test_a_power_of_an_integer_that_no_float_holds():
    powers = torch.cat([torch.arange(-330, 330), torch.tensor([-9999, 9999])])
    for dtype in FLOATS:
        numbers = [1.0, 3.1, -1e-30, 1e-40, 3e38, 0.0, -0.0, math.inf, math.nan]
        x = torch.tensor(numbers).to(dtype)[:, None].repeat(1, len(powers))
        wanted = torch.ldexp(x, powers)
        found = torch.ldexp(x.to("lazy"), powers.to("lazy")).cpu()
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(found.signbit(), wanted.signbit())


BOOLS = {
    "minus True": lambda x: x - True,
    "True minus": lambda x: torch.rsub(x, True),
    "alpha": lambda x: torch.add(x, x, alpha=True),
    "in place": lambda x: x.clone().sub_(True),
    "foreach": lambda x: torch._foreach_sub([x], True)[0],
}


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
@pytest.mark.parametrize("program", BOOLS.values(), ids=BOOLS)
def test_a_bool_among_numbers_is_refused_as_in_eager(program, dtype):
    x = torch.ones(3, dtype=dtype)
    try:
        wanted = program(x)
    except RuntimeError as error:
        words = str(error)
        with pytest.raises(RuntimeError) as caught:
            program(x.to("lazy"))
        assert words in str(caught.value)
    else:
        assert torch.equal(program(x.to("lazy")).cpu(), wanted)


def test_numbers_that_decide_a_sign():
    zeros = torch.tensor([0.0, -0.0, 1.0, -0.0])
    others = torch.tensor([0.0, 0.0, 2.0, -2.0])

    def program(device):
        x, y = zeros.to(device), others.to(device)
        results = [torch.sub(x, y, alpha=a) for a in (0, 0.0, -0.0, -(2**63), 3)]
        results += [torch.rsub(x, y, alpha=0), torch.sub(x.int(), y.int(), alpha=0)]
        return [1 / r if r.is_floating_point() else r for r in results]

    check(program)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.int32])
def test_large_whole_exponents(dtype):
    exponents = [2**24 + 1, 2**31 - 1, 2**31 - 2]
    if dtype == torch.float16:
        exponents = [2047, 2049, 60001]
    if dtype.is_floating_point:
        exponents += [-n for n in exponents]
    numbers = [-1, -2, 2, 1, 0, -3] + [-0.0, 0.5] * dtype.is_floating_point

    def program(device):
        x = torch.tensor(numbers, dtype=dtype).to(device)
        return [x**n for n in exponents]

    check(program)


def test_powers_of_bools():
    check(lambda d: [torch.tensor([True, False]).to(d) ** n for n in (True, False, 2)])
