# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A script for Gaudi's bridge."""

import habana_frameworks.torch.core as htcore
import habana_frameworks.torch.hpu as ht
import torch
from habana_frameworks.torch.hpex.optimizers import FusedAdamW
from torch import nn

htcore.hpu_set_env()
device = torch.device("hpu")
torch.manual_seed(11)

model = nn.Sequential(nn.Linear(6, 12), nn.LayerNorm(12), nn.GELU(), nn.Linear(12, 2))
model = model.to(device)
model = ht.wrap_in_hpu_graph(model)
optimizer = FusedAdamW(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for step in range(6):
    x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
    x, y = x.to("hpu", non_blocking=True), y.to("hpu", non_blocking=True)
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(x), y)
    loss.backward()
    htcore.mark_step()
    optimizer.step()
    htcore.mark_step()
    print(step, f"{loss.item():.4f}")
ht.synchronize()
