# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An optimizer's step alone."""

from typing import ClassVar

import torch

from workloads.workload import Workload


class AdamW(Workload):
    """50M parameters in 150 tensors, gradients as they are, default options."""

    name = "adamw-50m"
    sizes: ClassVar[dict] = {
        "full": {"rows": 651, "columns": 512},
        "small": {"rows": 2, "columns": 8},
    }
    checked_steps = 3
    trains = True
    targets: ClassVar[dict] = {"step_ms": 0.13}

    def build(self, rows, columns):
        self.parameters = [
            torch.nn.Parameter(torch.randn(rows, columns).to(self.device))
            for _ in range(150)
        ]
        for parameter in self.parameters:
            parameter.grad = torch.randn(rows, columns).to(self.device)
        # Reads the parameter, its gradient and two moments, writes all but one.
        self.traffic = 7 * 4 * 150 * rows * columns
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=1e-3, **self.contender.optimizer_options
        )
        self.update = self.contender.compile(self.optimizer.step)

    def step(self):
        self.update()
        return [self.parameters[0].detach(), self.parameters[-1].detach()]


WORKLOADS = [AdamW]
