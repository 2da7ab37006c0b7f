# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A multilayer perceptron on vectors as long as MNIST's images."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from workloads.workload import Inference, Training, TrainingOnSizes

SIZES = {"full": {"batch": 256, "width": 1024}, "small": {"batch": 8, "width": 16}}


def network(width):
    layers = [nn.Linear(784, width), nn.ReLU()]
    layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


class MlpTrain(Training):
    """SGD with momentum."""

    name = "mlp-train"
    sizes = SIZES
    targets: ClassVar[dict] = {"step_ms": 0.87}

    def build(self, batch, width):
        self.model = network(width)
        self.batches = [
            (torch.randn(batch, 784), torch.randint(10, (batch,))) for _ in range(4)
        ]

    def make_optimizer(self, parameters, **options):
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, **options)

    def loss(self, x, y):
        return F.cross_entropy(self.model(x), y)


class MlpInfer(Inference):
    """One batch."""

    name = "mlp-infer"
    sizes = SIZES
    targets: ClassVar[dict] = {"step_ms": 0.92}

    def build(self, batch, width):
        self.model, self.inputs = network(width), torch.randn(batch, 784)


class MlpBatchSizes(TrainingOnSizes):
    """AdamW on eight batch sizes in turn."""

    name = "mlp-8-batch-sizes"
    # A unit within rounding of ReLU's kink has a gradient or none, and AdamW scales it
    # up: eager differs from eager with weights nudged by 1e-7 by up to 4.8e-2 of the
    # largest weight after 16 steps, as from float64; with tanh by 6e-4, SGD by 1e-4.
    bound = 1e-2
    sizes: ClassVar[dict] = {
        "full": {"largest": 256, "width": 1024, "steps": 8},
        "small": {"largest": 32, "width": 16, "steps": 8},
    }

    def build(self, largest, width, steps):
        self.model = network(width)
        sizes = [largest * k // steps - k % 2 for k in (5, 2, 8, 3, 6, 1, 7, 4)]
        self.batches = [
            (torch.randn(n, 784), torch.randint(10, (n,))) for n in sizes[:steps]
        ]

    def loss(self, x, y):
        return F.cross_entropy(self.model(x), y)


WORKLOADS = [MlpTrain, MlpInfer, MlpBatchSizes]
