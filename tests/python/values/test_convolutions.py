# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of 3x3, which have kernels of our own, and all others."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc

FORMS = {
    "padded": {"padding": 1},
    "not padded": {},
    "more padding than needed": {"padding": 2},
    "same": {"padding": "same"},
    "uneven padding": {"padding": (0, 1)},
    "strided": {"padding": 1, "stride": 2},
    "dilated": {"padding": 2, "dilation": 2},
    "grouped": {"padding": 1, "groups": 2},
}
NUMBERS = torch.Generator().manual_seed(0)


def operands(images, before, after, height, width, groups=1):
    return [
        torch.randn(images, before, height, width, generator=NUMBERS),
        torch.randn(after, before // groups, 3, 3, generator=NUMBERS) / 10,
        torch.randn(after, generator=NUMBERS),
    ]


def results(device, tensors, **form):
    """Return the output and the gradients of a sum that weighs its places."""
    tensors = [t.to(device, copy=True).requires_grad_() for t in tensors]
    output = F.conv2d(*tensors, **form)
    weights = torch.linspace(-1, 1, output.numel()).view(output.shape)
    output.backward(weights.to(device))
    return [t.detach().cpu() for t in (output, *(t.grad for t in tensors))]


def assert_close(found, wanted):
    for f, w in zip(found, wanted, strict=True):
        torch.testing.assert_close(f, w, rtol=1e-4, atol=3e-6 * w.abs().max().item())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "sizes",
    [
        (8, 64, 64, 12, 12),
        (2, 80, 96, 25, 18),
        (1, 4, 32, 20, 20),
        (6, 48, 40, 5, 5),
    ],
)
def test_results_and_gradients(form, sizes):
    groups = FORMS[form].get("groups", 1)
    tensors = operands(*sizes, groups=groups)
    found = results("lazy", tensors, **FORMS[form])
    assert_close(found, results("cpu", tensors, **FORMS[form]))


@pytest.mark.parametrize("form", [{}, {"stride": 5}, {"padding": "same"}])
def test_sound(form):
    tensors = [
        torch.randn(2, 24, 320, generator=NUMBERS),
        torch.randn(64, 24, 9, generator=NUMBERS) / 10,
        torch.randn(64, generator=NUMBERS),
    ]

    def results(device):
        moved = [t.to(device, copy=True).requires_grad_() for t in tensors]
        output = F.conv1d(*moved, **form)
        output.square().sum().backward()
        return [t.detach().cpu() for t in (output, *(t.grad for t in moved))]

    assert_close(results("lazy"), results("cpu"))


@pytest.mark.parametrize("frozen", range(3))
def test_some_gradients(frozen):
    tensors = operands(4, 64, 64, 16, 16)

    def gradients(device):
        moved = [t.to(device, copy=True) for t in tensors]
        trained = [t.requires_grad_() for i, t in enumerate(moved) if i != frozen]
        F.conv2d(*moved, padding=1).square().sum().backward()
        return [t.grad.cpu() for t in trained]

    assert_close(gradients("lazy"), gradients("cpu"))


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_what_is_not_finite_stays_where_it_is(value):
    tensors = operands(4, 64, 64, 16, 16)
    tensors[0][1, 2, 3, 4] = tensors[0][3, 63, 15, 15] = float(value)
    found = results("lazy", tensors, padding=1)
    for f, w in zip(found, results("cpu", tensors, padding=1), strict=True):
        torch.testing.assert_close(f, w, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("value", ["inf", "nan"])
def test_a_weight_that_is_not_finite_times_the_zeros_around_an_image(value):
    images, weight, bias = operands(2, 16, 32, 4, 4)
    weight[3, 2, 0, 0] = float(value)
    found = F.conv2d(*(t.to("lazy") for t in (images, weight, bias)), padding=1)
    wanted = F.conv2d(images, weight, bias, padding=1)
    torch.testing.assert_close(
        found.cpu(), wanted, rtol=1e-4, atol=1e-4, equal_nan=True
    )


def test_a_large_number_reaches_its_own_places_only():
    images, weight, _ = operands(4, 64, 64, 16, 16)
    images[1, 2, 7, 4] = 1e12
    found = F.conv2d(images.to("lazy"), weight.to("lazy"), padding=1).cpu()
    wanted = F.conv2d(images, weight, padding=1)
    reached = torch.zeros_like(wanted, dtype=torch.bool)
    reached[1, :, 6:9, 3:6] = True
    assert wanted[reached].abs().min() > 1e6
    torch.testing.assert_close(found[~reached], wanted[~reached], rtol=1e-4, atol=1e-4)


def test_without_it_the_kernels_are_eagers():
    tensors = operands(8, 64, 64, 20, 12)
    with torch_ltc.settings.scope(without="winograd,im2col", cache="off"):
        found = results("lazy", tensors, padding=1)
    for f, w in zip(found, results("cpu", tensors, padding=1), strict=True):
        assert torch.equal(f, w)


LAID_OUT = {
    "one channel out": ((2, 3, 5, 5), (1, 3, 3, 3), torch.float32),
    "one pixel": ((1, 3, 1, 1), (4, 3, 1, 1), torch.float32),
    "volume of floats": ((2, 1, 5, 5, 5), (4, 1, 3, 3, 3), torch.float32),
    "volume of doubles": ((2, 3, 5, 5, 5), (1, 3, 1, 1, 1), torch.float64),
    "volume of bfloat16": ((1, 3, 5, 5, 5), (1, 3, 3, 3, 3), torch.bfloat16),
}


@pytest.mark.parametrize("transposed", ["", "_transpose"])
@pytest.mark.parametrize("name", LAID_OUT)
def test_convolutions_are_laid_out_by_the_kernel_that_eager_takes(name, transposed):
    shape, weight_shape, dtype = LAID_OUT[name]
    last = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    convolve = getattr(F, f"conv{transposed}{len(shape) - 2}d")

    def program(device):
        x = torch.ones(shape, dtype=dtype, device=device).to(memory_format=last)
        weight = torch.ones(weight_shape, dtype=dtype, device=device)
        if transposed:
            weight = weight.transpose(0, 1)
        weight = weight.to(memory_format=last).requires_grad_()
        y = convolve(x.requires_grad_(), weight)
        made = [y, *torch.autograd.grad(y.sum(), (x, weight))]
        return [each.stride() for each in made]

    assert program("lazy") == program("cpu")
