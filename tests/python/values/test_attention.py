# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention takes eager CPU's route: one fused call where that has one."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch.nn.attention import SDPBackend, sdpa_kernel

MASK = torch.arange(10 * 12).view(10, 12) % 3 != 0
FUSED = {
    "plain": {},
    "causal": {"is_causal": True},
    "scaled": {"scale": 0.3},
    "boolean mask": {"attn_mask": MASK},
    "both masks": {"attn_mask": MASK | (torch.arange(12) == 0), "is_causal": True},
    "float mask": {"attn_mask": torch.where(MASK, 0.5, -2.0)},
}
COMPOSED = {
    "dropout": {"dropout_p": 0.25},
    "row without keys": {"attn_mask": MASK & (torch.arange(10) != 4)[:, None]},
}


def inputs(*shapes, dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(s, generator=generator).to(dtype) for s in shapes]


def attend(device, tensors, grad, **arguments):
    """Return attention and its gradients."""
    torch.manual_seed(5)
    tensors = [t.to(device).requires_grad_(grad) for t in tensors]
    given = {
        k: v.to(device) if isinstance(v, torch.Tensor) else v
        for k, v in arguments.items()
    }
    with torch_ltc.settings.scope(rng="eager"):
        y = F.scaled_dot_product_attention(*tensors, **given)
        grads = torch.autograd.grad(y.square().sum(), tensors) if grad else ()
        return [t.detach().cpu() for t in (y, *grads)]


def recorded(call):
    """Return how many ops a call records."""
    before = torch.lazy.metrics().get("record.ops", 0)
    result = call()
    return torch.lazy.metrics()["record.ops"] - before, result


SHAPES = ((2, 3, 10, 8), (2, 3, 12, 8), (2, 3, 12, 8))


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("arguments", FUSED.values(), ids=FUSED)
def test_fused_attention_is_eagers_kernel(arguments, dtype, grad, counts):
    arguments = {
        k: v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
        for k, v in arguments.items()
    }
    tensors = inputs(*SHAPES, dtype=dtype)
    wanted = attend("cpu", tensors, grad, **arguments)
    ops, found = recorded(lambda: attend("lazy", tensors, grad, **arguments))
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a, b)
    assert ops < (14 if grad else 7)
    assert counts.fallbacks() == []


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("lengths", [(40, 40), (130, 600), (300, 70)])
def test_long_rows_are_as_exact_as_eagers(lengths, dtype, causal):
    queries, keys = lengths
    shapes = (2, 2, queries, 24), (2, 2, keys, 24), (2, 2, keys, 24)
    tensors = inputs(*shapes, dtype=dtype)
    exact = attend("cpu", [t.double() for t in tensors], True, is_causal=causal)
    eager = attend("cpu", tensors, True, is_causal=causal)
    found = attend("lazy", tensors, True, is_causal=causal)
    for a, b, wanted in zip(found, eager, exact, strict=True):
        assert a.dtype == dtype
        error, bound = ((t - wanted).abs().max() for t in (a, b))
        assert error <= 2 * bound + 1e-6 * wanted.abs().max()


@pytest.mark.parametrize("shape", [(50, 60), (2, 1, 1, 60)])
def test_a_mask_of_bfloat16(shape):
    shapes = (2, 2, 50, 24), (2, 2, 60, 24), (2, 2, 60, 24), shape
    *tensors, mask = inputs(*shapes, dtype=torch.bfloat16)
    exact = [t.double() for t in tensors]
    exact = attend("cpu", exact, True, attn_mask=mask.double())
    eager = attend("cpu", tensors, True, attn_mask=mask)
    found = attend("lazy", tensors, True, attn_mask=mask)
    for a, b, wanted in zip(found, eager, exact, strict=True):
        error, bound = ((t - wanted).abs().max() for t in (a, b))
        assert error <= 2 * bound


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("arguments", COMPOSED.values(), ids=COMPOSED)
def test_composed_attention(arguments, grad, counts):
    tensors = inputs(*SHAPES)
    wanted = attend("cpu", tensors, grad, **arguments)
    for a, b in zip(attend("lazy", tensors, grad, **arguments), wanted, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True)
    assert counts.fallbacks() == []


def test_the_gradient_of_a_mask():
    tensors = inputs(*SHAPES)

    def gradient(device):
        mask = torch.where(MASK, 0.5, -2.0).to(device).requires_grad_()
        y = F.scaled_dot_product_attention(*(t.to(device) for t in tensors), mask)
        return torch.autograd.grad(y.square().sum(), mask)[0].cpu()

    torch.testing.assert_close(gradient("lazy"), gradient("cpu"))


def test_grouped_heads():
    tensors = inputs((2, 4, 10, 8), (2, 2, 12, 8), (2, 2, 12, 8))
    wanted = attend("cpu", tensors, True, enable_gqa=True)
    found = attend("lazy", tensors, True, enable_gqa=True)
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a, b)


def test_a_choice_of_the_users_is_kept():
    tensors = inputs(*SHAPES)
    with sdpa_kernel(SDPBackend.MATH):
        ops, (found,) = recorded(lambda: attend("lazy", tensors, False))
    torch.testing.assert_close(found, attend("cpu", tensors, False)[0])
    assert ops > 7


def test_under_vmap_and_inference_mode():
    tensors = inputs(*((5, *s) for s in SHAPES))

    def mapped(device):
        moved = [t.to(device) for t in tensors]
        return torch.vmap(F.scaled_dot_product_attention)(*moved).cpu()

    torch.testing.assert_close(mapped("lazy"), mapped("cpu"))
    with torch.inference_mode():
        assert torch.equal(
            attend("lazy", inputs(*SHAPES), False)[0],
            attend("cpu", inputs(*SHAPES), False)[0],
        )


BAD = {
    "an integer mask": (SHAPES, {"attn_mask": MASK.long()}),
    "head sizes": (((2, 3, 10, 8), (2, 3, 12, 4), (2, 3, 12, 8)), {}),
    "a vector": (((8,), (2, 3, 12, 8), (2, 3, 12, 8)), {}),
}


@pytest.mark.parametrize(("shapes", "arguments"), BAD.values(), ids=BAD)
def test_errors_are_eagers(shapes, arguments):
    with pytest.raises(RuntimeError) as wanted:
        attend("cpu", inputs(*shapes), False, **arguments)
    with pytest.raises(RuntimeError) as found:
        attend("lazy", inputs(*shapes), False, **arguments)
    assert str(wanted.value)[:60] in str(found.value)


@pytest.mark.parametrize("order", [(0, 1, 3, 2), (3, 1, 0, 2), (0, 2, 1, 3)])
@pytest.mark.parametrize("grad", [False, True])
def test_rows_whose_elements_are_not_next_to_each_other(order, grad):
    def attend_to_itself(device):
        (x,) = inputs((2, 8, 8, 8))
        x = x.to(device).requires_grad_(grad)
        y = x.permute(order)
        y = F.scaled_dot_product_attention(y, y[..., 1:, :], y[..., 1:, :])
        if grad:
            (y.square().sum() + y.permute(order).cumsum(3).sum()).backward()
        return y.stride(), [y.detach().cpu(), *([x.grad.cpu()] if grad else [])]

    strides, found = attend_to_itself("lazy")
    wanted_strides, wanted = attend_to_itself("cpu")
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    assert strides == wanted_strides
