# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nll_loss's kernels: the loss, the total weight and the gradient of eager."""

import itertools

import pytest
import torch

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
# Of the input, with the classes, 3 of them, in dimension 1, or 0 of one sample.
SHAPES = {"a sample": (3,), "samples": (4, 3), "images": (2, 3, 4, 5)}


def targets(shape, ignored):
    size = [n for i, n in enumerate(shape) if i != min(1, len(shape) - 1)]
    chosen = torch.arange(torch.Size(size).numel()).remainder(3).view(size)
    return torch.where(chosen == 0, ignored, chosen) if ignored < 0 else chosen


@pytest.mark.parametrize("reduction", REDUCTIONS.values(), ids=REDUCTIONS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_all_that_the_kernels_return(shape, reduction):
    name = "nll_loss2d" if len(shape) == 4 else "nll_loss"
    forward = getattr(torch.ops.aten, f"{name}_forward")
    backward = getattr(torch.ops.aten, f"{name}_backward")
    x = torch.linspace(-2, -0.1, torch.Size(shape).numel()).view(shape)
    for weight, ignored in itertools.product(
        (None, torch.tensor([0.5, 2.0, 3.0])), (-100, 1, 2)
    ):
        found = {}
        for device in ("cpu", "lazy"):
            w = None if weight is None else weight.to(device)
            call = x.to(device), targets(shape, ignored).to(device)
            rest = w, reduction, ignored
            loss, total = forward(*call, *rest)
            grad = backward(torch.ones_like(loss), *call, *rest, total)
            found[device] = [each.cpu() for each in (loss, total, grad)]
        for lazy, eager in zip(found["lazy"], found["cpu"], strict=True):
            assert lazy.shape == eager.shape
            torch.testing.assert_close(lazy, eager, equal_nan=True)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("target", [0, 1, -100])
def test_the_loss_of_one_sample(target, reduction):
    def program(device):
        x = torch.linspace(-2, -0.1, 3, device=device).requires_grad_()
        loss = torch.nn.functional.nll_loss(
            x, torch.tensor(target, device=device), reduction=reduction
        )
        loss.backward()
        return loss.detach().cpu(), x.grad.cpu()

    torch.testing.assert_close(program("lazy"), program("cpu"), equal_nan=True)
