# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of tiny ops: what one op costs the thread that runs the program."""

import torch


class Chain:
    """`ops` ops on tensors of four elements."""

    ops = 400

    def __init__(self, device):
        self.start = torch.tensor([0.5, -1.0, 2.0, 3.0]).to(device)
        self.factor = torch.tensor([0.999, 1.001, 0.998, 1.002]).to(device)
        self.x = None

    def reset(self):
        self.x = self.start.clone()


class AddMulChain(Chain):
    """New tensors all the way."""

    name = "add-mul"

    def run(self):
        x, factor = self.x, self.factor
        for _ in range(self.ops // 2):
            x = x + factor
            x = x * factor
        self.x = x


class InPlaceChain(Chain):
    """One tensor, written over and over."""

    name = "in-place"

    def run(self):
        x, factor = self.x, self.factor
        for _ in range(self.ops // 2):
            x.add_(factor)
            x.mul_(factor)
