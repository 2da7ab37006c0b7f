# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that PyTorch has no meta kernel for, or asks about shapes, split no graph."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch.distributions import Beta, Dirichlet, Gamma


def gradient_of(f):
    def gradient(x):
        x = x.clone().requires_grad_()
        (result,) = torch.autograd.grad((f(x) ** 2).sum(), x)
        return result

    return gradient


def tangent_of(f):
    return lambda x: torch.func.jvp(f, (x,), (x.cos(),))[1]


CALLS = {
    "gamma": gradient_of(lambda x: Gamma(x, 1.0, validate_args=False).rsample()),
    "beta": gradient_of(lambda x: Beta(x, x + 1, validate_args=False).rsample()),
    "dirichlet": gradient_of(lambda x: Dirichlet(x, validate_args=False).rsample()),
    "binomial": lambda x: torch.binomial(torch.full_like(x, 9.0), x / 2),
    "masked softmax": lambda x: torch._masked_softmax(x, x > 1, 1),
    "gradient of a masked softmax": lambda x: torch.ops.aten._masked_softmax_backward(
        x, x.softmax(1), x > 1, 1
    ),
    "scales that are learnt": lambda x: (
        torch.ops.aten._fake_quantize_learnable_per_channel_affine(
            x, x[:, 0], x[:, 0] * 0, 0, 0, 15
        )
    ),
    "a sum of matrices": lambda x: torch._compute_linear_combination(x, x[:, :4]),
    "one that is added": lambda x: torch._compute_linear_combination(
        x, x[:, :4], out=x.sin()
    ),
    "tangent of glu": tangent_of(lambda x: F.glu(x, 1)),
    "tangent of layers": tangent_of(lambda x: (x @ x.mT).tanh().softmax(-1)),
    "tangent of a gradient": tangent_of(torch.func.grad(lambda x: (x.sin() * x).sum())),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_eagers_and_splits_no_graph(name, counts):
    x = torch.rand(4, 6, generator=torch.Generator().manual_seed(1)) + 0.5
    results = []
    with torch_ltc.settings.scope(rng="eager"):
        for device in ("cpu", "lazy"):
            torch.manual_seed(0)
            results.append(CALLS[name](x.to(device)).cpu())
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
    assert counts.fallbacks() == []


@pytest.mark.parametrize("rng", ["fast", "eager"])
def test_a_binomial_of_two_sizes_is_refused_where_it_is_called(rng):
    with torch_ltc.settings.scope(rng=rng):
        for device in ("cpu", "lazy"):
            count, p = torch.ones(3, device=device), torch.ones(4, device=device)
            with pytest.raises(RuntimeError, match="must match the size"):
                torch.binomial(count, p)


@pytest.mark.parametrize("name", ["gamma", "beta", "dirichlet", "binomial"])
def test_drawing_on_the_device_splits_no_graph(name, counts):
    before = torch.get_rng_state()
    x = torch.rand(4, 6, device="lazy") + 0.5
    assert CALLS[name](x).isfinite().all()
    assert counts.fallbacks() == []
    # Where a shape is asked about, eager's generator is not drawn from.
    torch.set_rng_state(before)
    first = CALLS[name](torch.rand(5, 6, device="lazy") + 0.5).cpu()
    torch.set_rng_state(before)
    assert torch.equal(first, CALLS[name](torch.rand(5, 6, device="lazy") + 0.5).cpu())
