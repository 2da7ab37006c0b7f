# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a small network on scikit-learn's handwritten digits, on the lazy device.

after.py is what `python -m torch_ltc migrate rewrite` makes of it (docs/migration.md).
"""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="lazy")
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()


class Net(nn.Module):
    """Two hidden layers with dropout."""

    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
data = TensorDataset(images[:1280], torch.tensor(digits.target)[:1280])
loader = DataLoader(data, batch_size=128, shuffle=True)

model = Net().to(args.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(args.epochs):
    for x, y in loader:
        x, y = x.to(args.device), y.to(args.device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        torch.lazy.mark_step()  # one graph a step
    print(f"epoch {epoch}: loss {loss.item():.3f}")
