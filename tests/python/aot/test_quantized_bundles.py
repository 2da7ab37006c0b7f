# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized graphs in bundles: what convert_pt2e() of torchao leaves."""

import platform

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines the ops
import torch.nn.functional as F
import torch_ltc
from torch import nn
from torch.export import Dim, export
from torch_ltc import aot

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)
quantized = torch.ops.quantized_decomposed
SIGNED = (-127, 127, torch.int8)
UNSIGNED = (0, 255, torch.uint8)


class Weights(nn.Module):
    """A layer whose weight is eight bits wide, with a scale for each row."""

    def __init__(self, *shape):
        super().__init__()
        weight = torch.rand(shape) - 0.5
        scales = weight.flatten(1).abs().amax(1) / 127
        zeros = torch.zeros(shape[0], dtype=torch.int64)
        levels = quantized.quantize_per_channel(weight, scales, zeros, 0, *SIGNED)
        self.register_buffer("levels", levels)
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", zeros)

    def forward(self):
        return quantized.dequantize_per_channel(
            self.levels, self.scales, self.zeros, 0, *SIGNED
        )


def rounded(x, scale, zero_point):
    levels = quantized.quantize_per_tensor(x, scale, zero_point, *UNSIGNED)
    return quantized.dequantize_per_tensor(levels, scale, zero_point, *UNSIGNED)


class Static(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters, self.weight = Weights(8, 3, 3, 3), Weights(5, 8)

    def forward(self, x):
        x = F.conv2d(rounded(x, 0.008, 3), self.filters(), padding=1).relu()
        return F.linear(rounded(x.mean((2, 3)), 0.01, 0), self.weight())


class Dynamic(nn.Module):
    """Whose inputs' scale and zero point follow from the inputs."""

    def __init__(self, choose, limits):
        super().__init__()
        self.choose, self.limits = choose, limits
        self.weight = Weights(6, 32)

    def forward(self, x):
        least, most, dtype = self.limits
        scale, zero_point = self.choose(x, least, most, 1e-5, dtype)
        x = quantized.quantize_per_tensor(x, scale, zero_point, *self.limits)
        x = quantized.dequantize_per_tensor(x, scale, zero_point, *self.limits)
        return F.linear(x, self.weight())


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_a_static_model(make):
    model = Static()
    x = torch.rand(4, 3, 6, 6)
    torch.testing.assert_close(make(model, (x,))(x), model(x))


@pytest.mark.parametrize(
    ("choose", "limits"),
    [
        (quantized.choose_qparams.tensor, (-128, 127, torch.int8)),
        (quantized.choose_qparams.tensor, UNSIGNED),
        (quantized.choose_qparams_symmetric.tensor, SIGNED),
    ],
)
def test_a_dynamic_model(make, choose, limits):
    model = Dynamic(choose, limits)
    loaded = make(model, (torch.rand(4, 32),))
    for x in (torch.randn(4, 32), torch.rand(4, 32) + 2, torch.zeros(4, 32)):
        torch.testing.assert_close(loaded(x), model(x))


class PerToken(nn.Module):
    def forward(self, x):
        scales, zeros = quantized.choose_qparams_per_token(x, torch.int8)
        x = quantized.quantize_per_token(x, scales, zeros, *SIGNED)
        return quantized.dequantize_per_token(x, scales, zeros, *SIGNED, torch.float32)


def test_scales_of_tokens(make):
    length = ({1: Dim("length", max=64)},)
    loaded = make(PerToken(), (torch.randn(3, 5, 16),), dynamic_shapes=length)
    for size in (5, 1, 40):
        x = torch.randn(3, size, 16)
        torch.testing.assert_close(loaded(x), PerToken()(x))


class Groups(nn.Module):
    def forward(self, levels, scales, zeros, x):
        weight = quantized.dequantize_per_channel_group(
            levels, scales, zeros, *SIGNED, 8, torch.float32
        )
        return F.linear(x, weight)


def test_groups_of_a_weight(make):
    levels = torch.randint(-127, 127, (6, 32), dtype=torch.int8)
    args = levels, torch.rand(6, 4), torch.zeros(6, 4, dtype=torch.int32)
    args = (*args, torch.rand(3, 32))
    torch.testing.assert_close(make(Groups(), args)(*args), Groups()(*args))


def test_weights_stay_eight_bits_wide(tmp_path):
    layer = Weights(256, 256)
    aot.compile(export(layer, ()), tmp_path / "m.ltcpkg", targets="baseline")
    assert (tmp_path / "m.ltcpkg").stat().st_size < 256 * 256 * 2


class Tensors(nn.Module):
    def forward(self, x):
        return torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).dequantize()


def test_a_quantized_tensor_is_refused_by_op_and_line(tmp_path):
    with pytest.raises(torch_ltc.errors.UnsupportedOpError) as raised:
        aot.compile(export(Tensors(), (torch.rand(3),)), tmp_path / "m.ltcpkg")
    told = str(raised.value)
    assert "aten.quantize_per_tensor.default" in told
    assert "test_quantized_bundles.py:" in told
    assert "convert_pt2e" in told
    assert not list(tmp_path.iterdir())
