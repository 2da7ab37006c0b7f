# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classify blobs: a data loader, batch norm, a schedule, an evaluation."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="lazy", choices=["cpu", "lazy"])
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()


class Classifier(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(8, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 3)
        )

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
centers = torch.randn(3, 8)
labels = torch.arange(96) % 3
data = TensorDataset(centers[labels] + 0.3 * torch.randn(96, 8), labels)
loader = DataLoader(data, batch_size=16, shuffle=True)

model = Classifier().to(args.device)  # the parameters stay the same objects
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

for epoch in range(args.epochs):
    model.train()
    total = 0.0
    for x, y in loader:
        x, y = x.to(args.device), y.to(args.device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        # One graph a step.
        torch.lazy.mark_step()
        total += loss.item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        x, y = (part.to(args.device) for part in data.tensors)
        hits = (model(x).argmax(1) == y).float().mean()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}, accuracy {hits.item():.2f}")
