# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of tiny ops: what one op costs the thread that runs the program."""

from typing import ClassVar

import torch

from workloads.workload import Workload


class Chain(Workload):
    """`ops` ops on tensors of four elements, traced anew in every step."""

    ops = 400
    targets: ClassVar[dict] = {"op_us": 2.1}

    def build(self):
        self.start = torch.tensor([0.5, -1.0, 2.0, 3.0]).to(self.device)
        self.factor = torch.tensor([0.999, 1.001, 0.998, 1.002]).to(self.device)
        self.step = self.contender.compile(self.run)


class AddMulChain(Chain):
    """New tensors all the way."""

    name = "add-mul"

    def run(self):
        x, factor = self.start, self.factor
        for _ in range(self.ops // 2):
            x = x + factor
            x = x * factor
        return x


class InPlaceChain(Chain):
    """One tensor, written over and over."""

    name = "in-place"

    def run(self):
        x, factor = self.start.clone(), self.factor
        for _ in range(self.ops // 2):
            x.add_(factor)
            x.mul_(factor)
        return x


WORKLOADS = [AddMulChain, InPlaceChain]
