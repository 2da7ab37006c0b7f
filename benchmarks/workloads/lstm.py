# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nn.LSTM: one op for eager, a loop of small ones for whoever takes it apart."""

from math import prod
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from workloads.workload import Training


class Tagger(nn.Module):
    """A class for each place of a sequence."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


def layer_flops(input, input_weight, weight, *_, **__):
    """Count both products of each time, from the operands' shapes."""
    return 2 * prod(input[:-1]) * (prod(input_weight) + prod(weight))


def backward_flops(input, input_weight, weight, *_, **__):
    """Count both weights' gradients and the states'; the input needs none."""
    return layer_flops(input, input_weight, weight) + 2 * prod((*input[:-1], *weight))


class LstmTrain(Training):
    """AdamW, one layer."""

    name = "lstm-train"
    sizes: ClassVar[dict] = {
        "full": {"batch": 32, "length": 64, "hidden": 256},
        "small": {"batch": 2, "length": 4, "hidden": 8},
    }
    targets: ClassVar[dict] = {"step_ms": 0.75}
    flop_counts: ClassVar[dict] = {
        torch.ops.aten.mkldnn_rnn_layer: layer_flops,
        torch.ops.aten.mkldnn_rnn_layer_backward: backward_flops,
    }

    def build(self, batch, length, hidden):
        self.model = Tagger(64, hidden, 16)
        self.batches = [
            (torch.randn(batch, length, 64), torch.randint(16, (batch, length)))
            for _ in range(4)
        ]

    def loss(self, x, y):
        return F.cross_entropy(self.model(x).flatten(0, 1), y.flatten())


WORKLOADS = [LstmTrain]
