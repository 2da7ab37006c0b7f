# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ---
# jupyter:
#   kernelspec: python3
# ---

# %% [markdown]
# # Two spirals
# A notebook, as `jupytext` writes it.

# %%
import math

import torch
from torch import nn

lazy = torch.lazy  # for short
dev = "lazy"

# %%
torch.manual_seed(9)
turn = torch.linspace(0.5, 3, 64).repeat(2)
side = torch.arange(128) // 64
points = torch.stack(
    [turn * torch.cos(turn + side * math.pi), turn * torch.sin(turn + side * math.pi)],
    1,
)

# %%
net = nn.Sequential(
    nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1)
).to(dev)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)

# %%
X, Y = points.to(dev), side.float().to(dev)
for _ in range(10):
    opt.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(net(X).squeeze(1), Y)
    loss.backward()
    opt.step()
    lazy.mark_step()

# %%
loss.item()

# %%
with torch.no_grad():
    print("accuracy", ((net(X).squeeze(1) > 0).float() == Y).float().mean().item())
