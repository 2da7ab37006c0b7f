# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows, borders and resampling over batches and images whose sizes vary."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc

BATCHES = [(6, 8, 12, 10), (3, 8, 12, 10), (5, 8, 12, 10), (2, 8, 12, 10)]
# Sizes that no formula relates, and such as a window reaches beyond.
IMAGES = [
    (2, 8, 12, 10),
    (2, 8, 20, 14),
    (2, 8, 8, 30),
    (2, 8, 6, 6),
    (2, 8, 34, 4),
]

PROGRAMS = {
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "max_pool_indices": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True)[1],
    "max_pool_padded": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool_dilated": lambda x: F.max_pool2d(x, 2, 1, 1, dilation=2),
    "max_pool_ceiled": lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
    "max_pool1d": lambda x: F.max_pool1d(x.flatten(1, 2), 2),
    "avg_pool": lambda x: F.avg_pool2d(x, 2),
    "avg_pool_padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "avg_pool_of_elements": lambda x: F.avg_pool2d(
        x, 3, 2, 1, ceil_mode=True, count_include_pad=False
    ),
    "avg_pool1d": lambda x: F.avg_pool1d(x.flatten(1, 2), 3, 2),
    "adaptive_avg_pool": lambda x: F.adaptive_avg_pool2d(x, (x.shape[2] // 2, 2)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest_to_a_size": lambda x: F.interpolate(x, (3 * x.shape[2], x.shape[3])),
    "reflect": lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 4),
    "group_norm": lambda x: F.group_norm(x, 4),
    "instance_norm": lambda x: F.instance_norm(x),
    "flip": lambda x: x.flip((0, 3)),
    "roll": lambda x: x.roll((1, -15, 2), (0, 2, 1)),
    "roll_of_rows": lambda x: x.roll((3, -1), (0, 3)),
    "roll_of_all": lambda x: x.roll(5),
    "repeat": lambda x: x.repeat(2, 1, 1, 3),
}


def outcome(program, x):
    """What a program gives, and the gradient of x if there is one."""
    x = x.detach().requires_grad_()
    y = program(x)
    if not y.requires_grad:
        return [y.cpu()]
    weights = torch.linspace(-1, 1, y.numel()).view(y.shape).to(x.device)
    return [y.detach().cpu(), torch.autograd.grad(y, x, weights)[0].cpu()]


@pytest.mark.parametrize("sizes", [BATCHES, IMAGES], ids=["batches", "images"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_vary(name, sizes):
    with torch_ltc.metrics.measure() as counts:
        for size in sizes:
            x = torch.randn(size, generator=torch.manual_seed(size[-1]))
            torch.testing.assert_close(
                outcome(PROGRAMS[name], x.to("lazy")),
                outcome(PROGRAMS[name], x),
                rtol=1e-5,
                atol=1e-5,
            )
    if sizes is BATCHES:
        assert counts["cache.dynamic_hits"] >= 2
        assert counts["cache.dynamic_refusals"] == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64])
def test_other_dtypes(dtype):
    def program(x):
        parts = [x.flip(2), x.roll(1, 0), F.pad(x, (1, 1, 1, 1), mode="replicate")]
        if dtype.is_floating_point:
            parts += [F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.interpolate(x, size=20)]
        return torch.cat([part.flatten() for part in parts])

    for rows in (4, 7, 12, 5):
        x = (torch.randn(rows, 3, 10, 10) * 8).to(dtype)
        torch.testing.assert_close(program(x.to("lazy")).cpu(), program(x))
