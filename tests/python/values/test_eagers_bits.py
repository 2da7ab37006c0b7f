# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where eager rounds, and where it does not, so that results are equal bit for bit."""

import math

import pytest
import torch
import torch.nn.functional as F


def random(*shape):
    return torch.randn(shape, generator=torch.manual_seed(0))


def check(program, *tensors):
    wanted, found = program(*tensors), program(*(t.to("lazy") for t in tensors)).cpu()
    assert found.dtype == wanted.dtype
    equal = (found == wanted) & (found.signbit() == wanted.signbit())
    assert (equal | (found.isnan() & wanted.isnan())).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_exponentials_of_a_long_column_stay_wide(dtype):
    # Eager's vectors do; the columns that fill no vector it rounds on the way.
    shifted = random(64, 512).to(dtype)
    differs = shifted.to("lazy").softmax(0).cpu() != shifted.softmax(0)
    # By exponentials that differ in their last bit; rounded, it were a quarter.
    assert differs.double().mean() < 1e-3


@pytest.mark.parametrize("exponent", [0.5, -0.5])
def test_a_power_of_float16_is_no_root(exponent):
    values = [0.0, -0.0, math.inf, -math.inf, math.nan, 4.0, 2.0, -1.0]
    check(lambda x: x**exponent, torch.tensor(values * 5).half())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("value", [1, -1, 0.3])
def test_a_product_and_a_sum_round_once(dtype, value):
    x, y = random(2, 1000).to(dtype)
    check(lambda x, y: torch.addcmul(x, y, x, value=value), x, y)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("border", [1.3, 0.37])
@pytest.mark.parametrize("kind", ["huber", "smooth_l1"])
def test_the_border_of_a_loss_is_rounded_where_eager_rounds_it(dtype, border, kind):
    def loss(x, y):
        if kind == "huber":
            return F.huber_loss(x, y, reduction="none", delta=border)
        return F.smooth_l1_loss(x, y, reduction="none", beta=border)

    def slope(x, y):
        x = x.requires_grad_()
        return torch.autograd.grad(loss(x, y).sum(), x)[0]

    x, y = random(2, 1000).to(dtype)
    check(loss, x, y)
    check(slope, x.clone(), y)
