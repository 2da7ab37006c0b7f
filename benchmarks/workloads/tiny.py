# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work so small that the host's time for the ops is all there is."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from workloads.workload import Training, Workload


class TinyOps(Workload):
    """300 ops of several kinds on 16 elements, traced anew in every step."""

    name = "tiny-ops"
    ops = 300
    targets: ClassVar[dict] = {"step_ms": 1.0}

    def build(self):
        self.x, self.y = (torch.randn(4, 4).to(self.device) for _ in range(2))
        self.run = self.contender.compile(self.chain)

    def chain(self, x, y):
        for _ in range(self.ops // 6):
            x = torch.tanh(x + y)
            x = (x * 0.5 - y).relu()
            x = x.t()
        return x

    def step(self):
        return self.run(self.x, self.y)


class TinyTrain(Training):
    """Three dense layers of 16, a batch of 4, AdamW."""

    name = "tiny-train"
    targets: ClassVar[dict] = {"step_ms": 1.0}

    def build(self):
        layers = [nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU()]
        self.model = nn.Sequential(*layers, nn.Linear(16, 4))
        self.batches = [(torch.randn(4, 16), torch.randint(4, (4,))) for _ in range(4)]

    def loss(self, x, y):
        return F.cross_entropy(self.model(x), y)


WORKLOADS = [TinyOps, TinyTrain]
