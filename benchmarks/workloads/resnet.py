# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ResNet-18 on small images."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from workloads.workload import Inference, Training

SIZES = {"full": {"batch": 8, "side": 96}, "small": {"batch": 8, "side": 64}}


def convolution(before, after, size, stride=1):
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False),
        nn.BatchNorm2d(after),
    )


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.first = convolution(before, after, 3, stride)
        self.second = convolution(after, after, 3)
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = convolution(before, after, 1, stride)

    def forward(self, x):
        y = self.second(torch.relu(self.first(x)))
        return torch.relu(y + self.shortcut(x))


def network(classes=100):
    """Return the network of He et al., 11.2M parameters."""
    blocks, before = [], 64
    for width, stride in (64, 1), (128, 2), (256, 2), (512, 2):
        blocks += [Block(before, width, stride), Block(width, width, 1)]
        before = width
    return nn.Sequential(
        convolution(3, 64, 7, 2),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, classes),
    )


class ResNetTrain(Training):
    """SGD with momentum."""

    name = "resnet18-train"
    sizes = SIZES
    # Ten steps of batch normalisation over few images amplify rounding.
    checked_steps, bound = 3, 1e-4
    targets: ClassVar[dict] = {"step_ms": 0.88, "cold_s": 0.1}
    network = staticmethod(network)

    def build(self, batch, side):
        self.model = self.network()
        self.batches = [
            (torch.randn(batch, 3, side, side), torch.randint(100, (batch,)))
            for _ in range(4)
        ]

    def make_optimizer(self, parameters, **options):
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, **options)

    def loss(self, x, y):
        return F.cross_entropy(self.model(x), y)


class ResNetInfer(Inference):
    """One batch, batch normalisation by running statistics."""

    name = "resnet18-infer"
    sizes = SIZES
    network = staticmethod(network)

    def build(self, batch, side):
        self.model, self.inputs = self.network(), torch.randn(batch, 3, side, side)


class ResNetTrainBf16(ResNetTrain):
    """Under autocast."""

    name = "resnet18-train-bf16"
    autocast = torch.bfloat16
    bound = 5e-2
    targets: ClassVar[dict] = {}


WORKLOADS = [ResNetTrain, ResNetInfer, ResNetTrainBf16]
