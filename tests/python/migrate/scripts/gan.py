# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two networks that train against each other."""

import torch
from torch import nn

device = torch.device("lazy")
torch.manual_seed(1)

generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator.to(device)
critic.to(device)
forger = torch.optim.Adam(generator.parameters(), 1e-3, betas=(0.5, 0.999))
judge = torch.optim.Adam(critic.parameters(), 1e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss().to(device)

for _ in range(8):
    real = torch.randn(16, 2).to(device) / 2 + 1
    fake = generator(torch.randn(16, 4).to(device))
    ones, zeros = torch.ones(16, 1, device=device), torch.zeros(16, 1, device=device)

    judge.zero_grad()
    judged = criterion(critic(real), ones) + criterion(critic(fake.detach()), zeros)
    judged.backward()
    judge.step()
    torch.lazy.mark_step()

    forger.zero_grad()
    fooled = criterion(critic(fake), ones)
    fooled.backward()
    forger.step()
    torch.lazy.mark_step()
print(f"judged {judged.item():.4f}, fooled {fooled.item():.4f}")
