# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far tensors are apart, in three measures."""

import math

import pytest
import torch
from torch_ltc.checking.comparison import compare


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize("value", [1.0, -1.0, 3.7, 1e-3])
@pytest.mark.parametrize("steps", [1, 5])
def test_ulp_counts_floats_between(dtype, value, steps):
    wanted = torch.tensor([value], dtype=dtype)
    found = wanted.clone()
    for _ in range(steps):
        found = torch.nextafter(found, torch.full_like(found, torch.inf))
    assert compare(found, wanted).ulp == steps
    assert compare(wanted, found).ulp == steps


def test_ulp_goes_through_zero():
    tiny = torch.tensor([5e-324], dtype=torch.float64)
    assert compare(tiny, -tiny).ulp == 2
    assert compare(torch.tensor([0.0]), torch.tensor([-0.0])) is None


def test_the_worst_is_named():
    wanted = torch.arange(12.0).reshape(3, 4)
    found = wanted.clone()
    found[1, 2] += 0.5
    found[2, 0] -= 3
    difference = compare(found, wanted)
    assert (difference.count, difference.elements) == (2, 12)
    assert difference.index == (2, 0)
    assert (difference.found, difference.wanted) == (5.0, 8.0)
    assert (difference.absolute, difference.relative) == (3.0, 0.375)
    assert "[2][0] is 5.0 where 8.0 is right" in str(difference)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_equal_to_itself_alone(odd):
    a, b = torch.tensor([1.0, odd]), torch.tensor([1.0, 2.0])
    allowed = torch.full((2,), 1e9, dtype=torch.float64)
    assert compare(a, a.clone(), allowed) is None
    assert compare(a, b, allowed).index == (1,)
    assert compare(b, a, allowed).ulp is None


def test_integers_and_booleans_are_exact():
    assert compare(torch.tensor([1, 2]), torch.tensor([1, 2])) is None
    assert compare(torch.tensor([1, 9]), torch.tensor([1, 2])).absolute == 7
    assert compare(torch.tensor([True]), torch.tensor([False])).count == 1


def test_complex_numbers_are_compared_by_their_parts():
    a = torch.tensor([1 + 2j, 3 + 4j])
    b = torch.tensor([1 + 2j, 3 + 5j])
    assert compare(a, b).index == (1, 1)
    assert compare(a, b, torch.tensor([0.0, 2.0], dtype=torch.float64)) is None
