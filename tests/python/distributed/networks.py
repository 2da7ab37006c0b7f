# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small networks, their batches, and a loop that trains one on each rank."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

CLASSES = 4


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 16),
        nn.Tanh(),
        nn.Linear(16, 16),
        nn.Tanh(),
        nn.Linear(16, CLASSES),
    )


def cnn():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * 36, CLASSES),
    )


class Block(nn.Module):
    """Attention and an MLP, whose eight heads may be split over ranks."""

    def __init__(self, width=16):
        super().__init__()
        self.head_size = width // 8
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (
            project(h).view(*h.shape[:2], -1, self.head_size).transpose(1, 2)
            for project in (self.q, self.k, self.v)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(*h.shape[:2], -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """Two blocks."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(CLASSES, 16)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(16, CLASSES)

    def forward(self, tokens):
        return self.head(self.blocks(self.embed(tokens)))


SHAPES = {mlp: (6, 8), cnn: (6, 1, 8, 8), Gpt: (2, 7)}


def batch(network, step, rank, device):
    """Return inputs and labels of a rank's own."""
    drawn = torch.Generator().manual_seed(10 * step + rank)
    shape = SHAPES[network]
    if network is Gpt:
        x = torch.randint(CLASSES, shape, generator=drawn)
        return x.to(device), x.to(device)
    labels = torch.randint(CLASSES, shape[:1], generator=drawn)
    return torch.randn(shape, generator=drawn).to(device), labels.to(device)


def loss_of(model, network, step, device, rank=None):
    rank = dist.get_rank() if rank is None else rank
    x, labels = batch(network, step, rank, device)
    return F.cross_entropy(model(x).flatten(0, -2), labels.flatten())


def whole(tensor):
    """Return a distributed tensor as one, with its gradient history cut off."""
    return getattr(tensor, "full_tensor", lambda: tensor)().detach()


def train(model, network, device, optimizer=None, steps=3, rank=None):
    """Return the losses, and then the parameters."""
    optimizer = optimizer or sgd(model)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, network, step, device, rank)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [torch.stack(losses), *map(whole, model.parameters())]


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)
