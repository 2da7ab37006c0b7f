# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions in groups, of points, and of large images."""

import pytest
import torch
import torch.nn.functional as F

NUMBERS = torch.Generator().manual_seed(0)


def random(*sizes):
    return torch.randn(sizes, generator=NUMBERS)


def results(device, tensors, function):
    """Return the output and the gradients of a sum that weighs its places."""
    tensors = [t.to(device, copy=True).requires_grad_() for t in tensors]
    output = function(*tensors)
    weights = torch.linspace(-1, 1, output.numel()).view(output.shape)
    output.backward(weights.to(device))
    return [t.detach().cpu() for t in (output, *(t.grad for t in tensors))]


def check(tensors, function):
    """Against float64: of large images eager's sums for a bias are 1e-3 off."""
    exact = results("cpu", [t.double() for t in tensors], function)
    eager = results("cpu", tensors, function)
    for found, near, wanted in zip(
        results("lazy", tensors, function), eager, exact, strict=True
    ):
        assert found.shape == wanted.shape
        bound = max(3e-6 * wanted.abs().max(), 2 * (near - wanted).abs().max())
        assert (found - wanted).abs().max() <= bound


@pytest.mark.parametrize("size", [1, 3, 5, 7])
@pytest.mark.parametrize(
    "form",
    [{}, {"stride": 2}, {"stride": (1, 2)}, {"dilation": 2}, {"stride": 3}],
    ids=str,
)
def test_each_channel_alone(size, form):
    tensors = [random(2, 24, 30, 21), random(24, 1, size, size) / size, random(24)]
    check(tensors, lambda *t: F.conv2d(*t, padding=size // 2, groups=24, **form))


def test_each_channel_alone_of_sound():
    tensors = [random(3, 16, 500), random(16, 1, 31) / 6, random(16)]
    check(tensors, lambda *t: F.conv1d(*t, padding="same", groups=16))


@pytest.mark.parametrize("side", [12, 29])
@pytest.mark.parametrize("channels, kernels", [(1, 2), (2, 1), (4, 4), (12, 7)])
@pytest.mark.parametrize("form", [{}, {"stride": 2}, {"stride": 3}], ids=str)
def test_some_channels_together(side, channels, kernels, form):
    groups = 4
    tensors = [
        random(2, groups * channels, side, side),
        random(groups * kernels, channels, 3, 3) / 3,
        random(groups * kernels),
    ]
    check(tensors, lambda *t: F.conv2d(*t, padding=1, groups=groups, **form))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "sizes",
    [
        (2, 32, 96, 28),
        (3, 96, 24, 19),
        (5, 200, 40, 7),
        (2, 3, 64, 40),
        (64, 40, 10, 1),
    ],
)
def test_points(sizes, bias, stride):
    images, before, after, side = sizes
    tensors = [random(images, before, side, side), random(after, before, 1, 1) / 10]
    tensors += [random(after)] * bias
    check(tensors, lambda *t: F.conv2d(*t, stride=stride))


@pytest.mark.parametrize("size", [1, 3, 4])
def test_images_that_are_mapped_anew(size):
    tensors = [random(6, 3, 700, 710), random(5, 3, size, size) / 10, random(5)]
    assert tensors[0].nbytes > 32 << 20
    check(tensors, lambda *t: F.conv2d(*t, padding=size // 2, stride=2))


@pytest.mark.parametrize(
    "form", [{"stride": 2}, {"stride": 2, "padding": 1, "output_padding": 1}], ids=str
)
def test_transposed_of_images_that_are_mapped_anew(form):
    tensors = [random(6, 4, 350, 353), random(4, 3, 3, 3) / 4, random(3)]
    check(tensors, lambda *t: F.conv_transpose2d(*t, **form))


@pytest.mark.parametrize("groups", [1, 48])
def test_channels_last_in_between(groups):
    """A gradient comes as a view, with its channels last in memory."""
    tensors = [
        random(2, 48, 14, 14),
        random(48, 48 // groups, 3, 3) / 10,
        random(48),
        random(48, 48) / 7,
    ]

    def block(x, weight, scale, mix):
        x = F.conv2d(x, weight, padding=1, groups=groups).permute(0, 2, 3, 1)
        x = F.layer_norm(x, (48,), scale) @ mix
        return x.permute(0, 3, 1, 2)

    check(tensors, block)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("which", range(2))
def test_what_is_not_finite(which, value):
    tensors = [random(2, 8, 9, 9), random(8, 1, 3, 3)]
    tensors[which][1, 0, 0, 0] = float(value)

    def convolve(image, weight):
        return F.conv2d(image, weight, padding=1, groups=8)

    for found, wanted in zip(
        results("lazy", tensors, convolve),
        results("cpu", tensors, convolve),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
