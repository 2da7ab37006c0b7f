# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One chain of pointwise ops over more memory than the caches hold."""

from typing import ClassVar

import torch
import torch.nn.functional as F

from workloads.workload import Workload


class PointwiseChain(Workload):
    """Eight ops, one of them costly, on 4M elements."""

    name = "pointwise-4m"
    sizes: ClassVar[dict] = {"full": {"rows": 4096}, "small": {"rows": 8}}
    targets: ClassVar[dict] = {"step_ms": 0.18}

    def build(self, rows):
        self.x, self.y = (torch.randn(rows, 1024).to(self.device) for _ in range(2))
        self.traffic = 3 * 4 * self.x.numel()
        self.run = self.contender.compile(self.chain)

    @staticmethod
    def chain(x, y):
        z = F.gelu(x * 1.5 + 0.5, approximate="tanh")
        return torch.relu(z * y - 0.25) + x * 0.125

    def step(self):
        return self.run(self.x, self.y)


WORKLOADS = [PointwiseChain]
