# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that a resized tensor shows what memory holds, whatever its strides."""

import pytest
import torch
from comparing import numbers

RESIZES = {
    "resize_": lambda x, size: x.clone().resize_(size),
    "resize_as_": lambda x, size: x.clone().resize_as_(x.new_empty(size)),
    "resize": lambda x, size: torch.ops.aten.resize(x, size),
    "resize_as": lambda x, size: torch.ops.aten.resize_as(x, x.new_empty(size)),
}


def resized(resize, size, device):
    turned = resize(numbers(device, 3, 4).t(), size)
    images = numbers(device, 2, 3, 4, 4).to(memory_format=torch.channels_last)
    last = resize(images, (10, *size))
    return [
        (part.tolist(), part.stride())
        for part in (turned.flatten()[:12], turned[1], last.flatten()[:96], last[2])
    ]


@pytest.mark.parametrize("resize", RESIZES)
@pytest.mark.parametrize("size", [(2, 4), (3, 5)], ids=["smaller", "larger"])
def test_resizing_shows_what_memory_holds(resize, size):
    expected = resized(RESIZES[resize], size, "cpu")
    assert resized(RESIZES[resize], size, "lazy") == expected


@pytest.mark.parametrize("resize", ["resize", "resize_as"])
def test_resizing_in_a_compiled_function(resize):
    compiled = torch.compile(RESIZES[resize], backend="ltc")
    expected = resized(RESIZES[resize], (2, 4), "cpu")
    assert resized(compiled, (2, 4), "cpu") == expected
