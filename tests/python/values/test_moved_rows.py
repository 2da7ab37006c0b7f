# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows read backwards, from elsewhere or around the end, at every odd length."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from sampling import sampled

WIDTHS = [1, 2, 7, 16, 17, 33, 129]
DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32]
DTYPES += [torch.bfloat16, torch.uint8, torch.bool]

MOVES = {
    "flip": lambda x: x.flip(1),
    "flip both": lambda x: x.flip(0, 1),
    "flip of a transpose": lambda x: x.t().flip(1),
    "flip of a flip": lambda x: x.flip(1).flip(1) * x.flip(1),
    "every second of a flip": lambda x: x.flip(1)[:, ::2] * 1,
    "every second of one": lambda x: x[:2, None, None][::2].view(1, 1, -1),
    "diagonal of a flip": lambda x: x.flip(1).diagonal() * 1,
    "roll": lambda x: x.roll(1, 1),
    "roll back": lambda x: x.roll(-5, 1) * x,
    "roll far": lambda x: x.roll(3 * x.shape[1] + 2, 1) * x,
    "roll twice": lambda x: x.roll((2, 3), (1, 1)),
    "roll both": lambda x: x.roll((2, -3), (0, 1)),
    "roll all": lambda x: x.roll(7),
    "flip of a roll": lambda x: x.roll(2, 1).flip(1) * x,
    "a diagonal put in": lambda x: x.diagonal_scatter(x[:, 0][: min(x.shape)]),
    "a diagonal of others": lambda x: torch.diag_embed(x, 2),
    "a diagonal in front": lambda x: torch.diag_embed(x, -1, 2, 0) * 2,
    "windows": lambda x: x.unfold(1, min(3, x.shape[1]), 1) * 1,
    "index": lambda x: x[:, torch.arange(x.shape[1], device=x.device)] * 1,
    "repeated": lambda x: x.repeat(2, 3) * x.repeat(1, 3)[:1],
    "every fifth": lambda x: x[:, ::5] * 1,
    "every seventh, behind": lambda x: x[:, 3:].flip(1)[:, ::7] * 1,
    "last first": lambda x: x[:, torch.arange(x.shape[1], device=x.device).flip(0)],
}
PADS = [(2, 2), (0, 3), (4, 0), (1, 4), (-1, 2)]


def same(move, x):
    assert torch.equal(move(x.to("lazy")).cpu(), move(x))


@pytest.mark.parametrize("dtype", sampled(DTYPES, one_in=2, kept=()))
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


WINDOWS = [
    {"kernel_size": 3, "padding": 1},
    {"kernel_size": 2, "stride": 1, "padding": 1},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    {"kernel_size": 5, "stride": 5, "padding": 2},
    {"kernel_size": 7, "stride": 3, "padding": 3, "ceil_mode": True},
]
POOLS = {
    "max 1d": lambda x, o: F.max_pool1d(x[0], **o),
    "max 1d, far apart": lambda x, o: F.max_pool1d(x[0], dilation=3, **o),
    "max 2d": lambda x, o: torch.stack(
        [y.double() for y in F.max_pool2d(x, return_indices=True, **o)]
    ),
    "average 1d": lambda x, o: F.avg_pool1d(x[0], **o),
    "average 2d": lambda x, o: F.avg_pool2d(x, count_include_pad=False, **o),
    "average 2d of all": lambda x, o: F.avg_pool2d(x, **o) * 2,
    "gradient": lambda x, o: torch.autograd.grad(
        F.avg_pool2d(x.requires_grad_(), **o).square().sum(), x
    )[0],
}


@pytest.mark.parametrize("name", POOLS)
def test_windows_reach_beyond_the_border(name):
    with torch_ltc.settings.scope(dynamic="off"):
        for width in WIDTHS[3:]:
            x = (torch.arange(6 * 7 * width) * 37 % 101 - 50.0).view(2, 3, 7, width)
            x[0, 0, 3, width // 2], x[1, 1, 2, 0] = torch.nan, -torch.inf
            for options in WINDOWS:
                found = POOLS[name](x.to("lazy"), options).detach().cpu()
                wanted = POOLS[name](x.clone(), options).detach()
                torch.testing.assert_close(found, wanted, equal_nan=True)


def shifted(y):
    y[:, 1:] = y[:, :-1].clone()


def swapped(y):
    y[:, :8], y[:, 16:24] = y[:, 16:24].clone(), y[:, :8].clone()


def seen_before(y):
    before = y * 1
    y[:, :8] = y[:, 8:16]
    y += before.flip(0)


# Each writes to a part of y what lies elsewhere in y.
WRITES = {
    "beside": lambda y: y[:, :8].copy_(y[:, 16:24]),
    "next to it": lambda y: y[:, 8:16].copy_(y[:, 16:24]),
    "every second": lambda y: y[:, ::2].copy_(y[:, 1::2]),
    "every third": lambda y: y[:, 2::3].copy_(y[:, :-2:3]),
    "rows": lambda y: y[200:].copy_(y[:100]),
    "row": lambda y: y[3].copy_(y[299]),
    "column": lambda y: y[:, 3].copy_(y[:, 23]),
    "computed": lambda y: y[:, :8].copy_(y[:, 16:24] * 2 - y[:, 8:16]),
    "from everywhere": lambda y: y[:, :8].copy_(y[:, 16:24] + y.sum(1, True)),
    "over what it reads": lambda y: y[:, :8].mul_(y[:, 4:12].clone()),
    "a part of a part": lambda y: y[100:200, 4:8].copy_(y[:100, 4:8]),
    "steps of steps": lambda y: y[1::2][::3, 2:10].copy_(y[::2][::3, 12:20]),
    "shifted": shifted,
    "swapped": swapped,
    "seen before": seen_before,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_part_is_written_from_elsewhere_in_its_tensor(write, dtype):
    x = (torch.arange(300 * 24).view(300, 24) % 101).to(dtype)
    found, wanted = x.to("lazy"), x.clone()
    for _ in range(3):
        kept = found.clone(), wanted.clone()
        write(found), write(wanted)
        torch.lazy.mark_step()
        assert torch.equal(found.cpu(), wanted)
        assert torch.equal(kept[0].cpu(), kept[1])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3)])
def test_nothing_moves_in_nothing(shape):
    x = torch.ones(shape)
    same(lambda x: x.flip(tuple(range(x.dim()))), x)
    same(lambda x: x.roll(2), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_value_is_kept_both_ways_round(dtype):
    def both_ways(x, y):
        product = x * y
        turned = [z.transpose(-1, -2).contiguous() for z in (product, product > 9)]
        return [product, *turned]

    for height, width in [(83, 70), (16, 32), (17, 33), (5, 40), (40, 5), (1, 64)]:
        x, y = (torch.arange(2 * height * width) % n for n in (11, 7))
        x, y = (z.view(2, height, width).to(dtype) for z in (x, y))
        lazy = both_ways(x.to("lazy"), y.to("lazy"))
        torch.lazy.mark_step()
        for there, here in zip(lazy, both_ways(x, y), strict=True):
            assert torch.equal(there.cpu(), here)
