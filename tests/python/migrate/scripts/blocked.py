# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What no tool decides: a callback, counters, a device that branches."""

import torch
from torch import nn

dev = torch.device("lazy")


class Clipped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        out = self.layer(x)
        if out.abs().max() > 3:
            out = out / 2
        return out


def fit(model, batches, after_step):
    """Train, with a function to call after each step."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in batches:
        optimizer.zero_grad()
        model(batch.to(dev)).square().mean().backward()
        optimizer.step()
        after_step()


torch.manual_seed(12)
model = Clipped().to(dev)
fit(model, torch.randn(3, 8, 4), after_step=torch.lazy.mark_step)
if next(model.parameters()).device.type == "lazy":
    print(torch.lazy.metrics()["codegen.graphs"] > 0)
