# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of a tensor that is read part by part agree with eager's."""

import pytest
import torch


def each_column(x):
    h = 0
    for i in range(x.shape[1]):
        h = (h * 0.5 + x[:, i]).tanh()
    return h


def columns_backwards(x):
    h = 0
    for i in reversed(range(x.shape[1])):
        h = h * 0.5 + x[:, i]
    return h


def columns_inside(x):
    return sum(i * x[:, i] ** 2 for i in range(1, x.shape[1] - 1))


def windows(x):
    h = 0
    for i in range(x.shape[1] - 2):
        h = h * 0.5 + x[:, i : i + 3].sum(1)
    return h


def halves(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1) * x


def alternating(x):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * b, b - a], -1)


def thirds(x):
    third = x.shape[-1] // 3
    q, k = x[..., :third], x[..., third : 2 * third]
    return q * k.tanh() + x[..., 2 * third :]


def one_twice(x):
    return x[:, 0] * x[:, 1] + x[:, 0] ** 3


def parts_of_parts(x):
    return x[:, 1, 2:5] * x[:, 0, 1:4] + x[0:1, 1, 0:3]


def part_and_whole(x):
    return x[:, 0] * x.sum(1) + x[:, 0].tanh()


def two_dims(x):
    return x[0].sum(0) * x[:, 1].sum(0)


READS = [
    each_column,
    columns_backwards,
    columns_inside,
    windows,
    halves,
    alternating,
    thirds,
    one_twice,
    parts_of_parts,
    part_and_whole,
    two_dims,
]


def gradient(read, x):
    x = x.detach().requires_grad_()
    (result,) = torch.autograd.grad(read(x).float().square().sum(), x)
    return result.cpu()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("read", READS)
def test_the_gradient_is_eagers(read, dtype):
    for shape in [(3, 7, 6), (2, 40, 12), (4, 7, 6), (5, 7, 6), (7, 7, 6)]:
        x = torch.randn(shape).to(dtype)
        torch.testing.assert_close(gradient(read, x.to("lazy")), gradient(read, x))


def test_memory_does_not_grow_with_the_number_of_parts():
    def held(steps):
        x = torch.randn(2, steps, 4096, device="lazy")
        torch.lazy.synchronize()
        torch.lazy.reset_peak_memory_stats()
        gradient(columns_backwards, x)
        peak = torch.lazy.memory_stats()["allocated_bytes.all.peak"]
        return peak / (x.numel() * x.element_size())

    assert held(64) < 1.5 * held(8)
