# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows read backwards, from elsewhere or around the end, at every odd length."""

import pytest
import torch
import torch.nn.functional as F

WIDTHS = [1, 2, 7, 16, 17, 33, 129]
DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32]
DTYPES += [torch.bfloat16, torch.uint8, torch.bool]

MOVES = {
    "flip": lambda x: x.flip(1),
    "flip both": lambda x: x.flip(0, 1),
    "flip of a transpose": lambda x: x.t().flip(1),
    "flip of a flip": lambda x: x.flip(1).flip(1) * x.flip(1),
    "every second of a flip": lambda x: x.flip(1)[:, ::2] * 1,
    "diagonal of a flip": lambda x: x.flip(1).diagonal() * 1,
    "roll": lambda x: x.roll(1, 1),
    "roll back": lambda x: x.roll(-5, 1) * x,
    "roll far": lambda x: x.roll(3 * x.shape[1] + 2, 1) * x,
    "roll twice": lambda x: x.roll((2, 3), (1, 1)),
    "roll both": lambda x: x.roll((2, -3), (0, 1)),
    "roll all": lambda x: x.roll(7),
    "flip of a roll": lambda x: x.roll(2, 1).flip(1) * x,
    "windows": lambda x: x.unfold(1, min(3, x.shape[1]), 1) * 1,
    "index": lambda x: x[:, torch.arange(x.shape[1], device=x.device)] * 1,
    "last first": lambda x: x[:, torch.arange(x.shape[1], device=x.device).flip(0)],
}
PADS = [(2, 2), (0, 3), (4, 0), (1, 4), (-1, 2)]


def same(move, x):
    assert torch.equal(move(x.to("lazy")).cpu(), move(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MOVES)
def test_a_move_gives_the_same_elements(name, dtype):
    for width in WIDTHS:
        same(MOVES[name], (torch.arange(5 * width).view(5, width) % 251).to(dtype))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_gives_the_same_elements(mode):
    for width in WIDTHS[2:]:
        for dtype in DTYPES[:2]:
            x = torch.arange(3 * 8 * width, dtype=dtype).view(1, 3, 8, width)
            for pad in PADS:
                same(lambda x, pad=pad: F.pad(x[0], pad, mode=mode) * 2, x)
                around = (*pad, *pad[::-1])
                same(lambda x, pad=around: F.pad(x, pad, mode=mode) * 2, x)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3)])
def test_nothing_moves_in_nothing(shape):
    x = torch.ones(shape)
    same(lambda x: x.flip(tuple(range(x.dim()))), x)
    same(lambda x: x.roll(2), x)
