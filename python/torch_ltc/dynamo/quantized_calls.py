# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of ``quantized_decomposed``, which quantized FX graphs have, as ATen's.

PyTorch defines most of them by calls of ATen's. Those that read a scale, to have it
as a number, are written here for one that stays a tensor.
"""

import torch


def as_aten(target):
    """Return what a call's target does, by calls that have rows if it is known."""
    if getattr(target, "namespace", None) != "quantized_decomposed":
        return target
    from torch.ao.quantization.fx import _decomposed

    name = target._opname
    if target._overloadname == "default":
        return getattr(_decomposed, name, target) if name in _OF_PYTORCH else target
    return _OWN.get((name, target._overloadname), target)


# Which read no values.
_OF_PYTORCH = (
    "quantize_per_tensor",
    "dequantize_per_tensor",
    "quantize_per_channel",
    "dequantize_per_channel",
    "choose_qparams_per_token",
    "_choose_qparams_per_token_asymmetric_impl",
    "quantize_per_token",
    "dequantize_per_token",
    "dequantize_per_channel_group",
)


def _number(tensor, dtype=torch.float64):
    """Return a tensor of one element as a number of eager's would count."""
    return tensor.reshape(()).to(dtype)


def _quantize(x, scale, zero_point, least, most, dtype):
    x = x.to(torch.float32)
    inverse = (1.0 / _number(scale)).to(x.dtype)
    levels = torch.round(x * inverse) + _number(zero_point, x.dtype)
    return _clamp(levels, least, most).to(dtype)


def _dequantize(x, scale, zero_point, least, most, dtype, *, out_dtype=None):
    x = x.to(out_dtype or torch.float32)
    return (x - _number(zero_point, x.dtype)) * _number(scale, x.dtype)


def _clamp(x, least, most):
    if isinstance(least, torch.Tensor):
        least, most = _number(least, x.dtype), _number(most, x.dtype)
    return torch.clamp(x, least, most)


def _choose(x, least, most, eps, dtype):
    low, high = _range(x)
    scale = ((high - low) / float(most - least)).clamp(min=eps)
    zero_point = least - torch.round(low / scale).to(torch.int32)
    return _parameters(scale, torch.clamp(zero_point, least, most))


def _choose_symmetric(x, least, most, eps, dtype):
    low, high = _range(x)
    scale = (torch.maximum(-low, high) / (float(most - least) / 2)).clamp(min=eps)
    middle = 128 if dtype is torch.uint8 else 0
    return _parameters(scale, torch.full_like(scale, middle))


def _range(x):
    low, high = torch.aminmax(x)
    return low.clamp(max=0), high.clamp(min=0)


def _parameters(scale, zero_point):
    return (
        scale.to(torch.float64).reshape(1),
        zero_point.to(torch.int64).reshape(1),
    )


_OWN = {
    ("quantize_per_tensor", "tensor"): _quantize,
    ("quantize_per_tensor", "tensor2"): _quantize,
    ("dequantize_per_tensor", "tensor"): _dequantize,
    ("dequantize_per_tensor", "tensor2"): _dequantize,
    ("choose_qparams", "tensor"): _choose,
    ("choose_qparams_symmetric", "tensor"): _choose_symmetric,
}
