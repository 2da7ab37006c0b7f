# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MobileNetV2: depthwise convolutions between those of 1x1."""

from math import prod
from typing import ClassVar

import torch
from torch import nn

from workloads.resnet import ResNetInfer, ResNetTrain

SIZES = {"full": {"batch": 16, "side": 160}, "small": {"batch": 4, "side": 32}}


def convolution(before, after, size, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
    )


class Block(nn.Module):
    """More channels, each alone in a window, and fewer again."""

    def __init__(self, before, after, stride, factor):
        super().__init__()
        wide = before * factor
        self.parts = nn.Sequential(
            *([convolution(before, wide, 1), nn.ReLU6()] if factor > 1 else []),
            convolution(wide, wide, 3, stride, groups=wide),
            nn.ReLU6(),
            convolution(wide, after, 1),
        )
        self.adds = stride == 1 and before == after

    def forward(self, x):
        y = self.parts(x)
        return x + y if self.adds else y


def network(classes=100):
    """Return the network of Sandler et al., 2.4M parameters."""
    layers = [convolution(3, 32, 3, 2), nn.ReLU6()]
    before = 32
    for factor, after, count, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(count):
            layers.append(Block(before, after, stride if i == 0 else 1, factor))
            before = after
    return nn.Sequential(
        *layers,
        convolution(before, 1280, 1),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(1280, classes),
    )


def backward_flops(grad, input, weight, *rest, **_):
    """Count a forward's for either gradient; PyTorch leaves out the groups."""
    mask = rest[-1]
    return 2 * prod(grad) * prod(weight[1:]) * sum(mask[:2])


class MobileNetTrain(ResNetTrain):
    """SGD with momentum."""

    name = "mobilenet-train"
    sizes = SIZES
    # In float32 gradients are 1e-2 off those in float64, eager's as ours: batch
    # normalisation amplifies what rounding moves across an edge of ReLU6.
    checked_steps, bound = 2, 3e-2
    targets: ClassVar[dict] = {"step_ms": 0.7}
    flop_counts: ClassVar[dict] = {torch.ops.aten.convolution_backward: backward_flops}
    network = staticmethod(network)


class MobileNetInfer(ResNetInfer):
    """One batch, batch normalisation by running statistics."""

    name = "mobilenet-infer"
    sizes = SIZES
    targets: ClassVar[dict] = {"step_ms": 0.7}
    network = staticmethod(network)


WORKLOADS = [MobileNetTrain, MobileNetInfer]
