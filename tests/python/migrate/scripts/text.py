# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The next letter, by a recurrent network whose state goes from step to step."""

import os

import torch
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog. " * 8
device = os.environ.get("TRAIN_DEVICE", "lazy")


class Writer(nn.Module):
    def __init__(self, letters, width=16):
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.cell = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, letters)

    def forward(self, x, state=None):
        out, state = self.cell(self.embedding(x), state)
        return self.head(out), state


torch.manual_seed(4)
alphabet = sorted(set(TEXT))
letters = torch.tensor([alphabet.index(c) for c in TEXT])
model = Writer(len(alphabet))
model.to(device=device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
state = None
for start in range(0, 96, 16):
    span = letters[start : start + 17].unsqueeze(0).to(device)
    scores, state = model(span[:, :-1], state)
    state = state.detach()
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), span[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.lazy.mark_step()  # both on a line
    print(start, f"{loss.item():.4f}")
