# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each choice of arguments that get a gradient: frozen layers, and first ones."""

import itertools

import pytest
import torch
import torch.nn.functional as F

# A function, and the shapes of what it may get gradients for.
FUNCTIONS = {
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        [(4, 3, 5, 2), (3,), (3,)],
    ),
    "batch_norm of running statistics": (
        lambda x, w, b: F.batch_norm(x, b.detach(), w.detach() ** 2, w, b),
        [(4, 3, 5), (3,), (3,)],
    ),
    "instance_norm": (
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
        [(2, 3, 5, 2), (3,), (3,)],
    ),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        [(2, 4, 5), (4,), (4,)],
    ),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), [(3, 6), (6,), (6,)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (6,), w), [(3, 6), (6,)]),
    "linear": (F.linear, [(2, 3, 6), (4, 6), (4,)]),
    "conv1d": (F.conv1d, [(2, 3, 8), (4, 3, 3), (4,)]),
    "conv2d": (F.conv2d, [(2, 3, 5, 6), (4, 3, 3, 2), (4,)]),
    "conv_transpose2d": (F.conv_transpose2d, [(2, 3, 4, 4), (3, 2, 2, 2), (2,)]),
    "grid_sample": (
        lambda x, grid: F.grid_sample(x, grid.tanh(), align_corners=False),
        [(2, 3, 4, 5), (2, 3, 3, 2)],
    ),
    "prelu": (F.prelu, [(2, 3, 4), (3,)]),
    "embedding": (
        lambda w: F.embedding(torch.tensor([1, 3, 1], device=w.device), w),
        [(5, 3)],
    ),
    "attention": (
        F.scaled_dot_product_attention,
        [(2, 2, 4, 8), (2, 2, 5, 8), (2, 2, 5, 8)],
    ),
}


def gradients(function, arguments, wanted, device):
    arguments = [
        x.detach().clone().to(device).requires_grad_(w)
        for x, w in zip(arguments, wanted, strict=True)
    ]
    y = function(*arguments)
    (y * torch.linspace(0.5, 2, y.numel()).to(y).reshape(y.shape)).sum().backward()
    return [x.grad if x.grad is None else x.grad.cpu() for x in arguments]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_choice_of_gradients(name, dtype):
    function, shapes = FUNCTIONS[name]
    torch.manual_seed(0)
    arguments = [torch.randn(shape, dtype=dtype) for shape in shapes]
    # Not each choice in eager: group_norm's for the bias alone ends the process.
    told = gradients(function, arguments, [True] * len(shapes), "cpu")
    for wanted in itertools.product([False, True], repeat=len(shapes)):
        if not any(wanted):
            continue
        found = gradients(function, arguments, wanted, "lazy")
        chosen = [g if w else None for g, w in zip(told, wanted, strict=True)]
        for a, b in zip(found, chosen, strict=True):
            assert (a is None) == (b is None), wanted
            if b is not None:
                torch.testing.assert_close(a, b)
