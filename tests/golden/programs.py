# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The whole programs whose outputs are kept in this folder.

Each takes a device and returns tensors by name. Data and weights come of formulas,
since random generators may change from one PyTorch to the next.
"""

import torch
import torch.nn.functional as F
from torch import nn


def wave(*size, step=0.37, dtype=torch.float32):
    """Return numbers from -1 to 1, of which no two rows are alike."""
    count = torch.Size(size).numel()
    return torch.arange(count, dtype=torch.float64).mul(step).sin().to(dtype).view(size)


def with_known_weights(module, scale=0.4):
    """Give each parameter numbers that follow from its place."""
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(wave(*parameter.shape, step=0.7 + 0.1 * number) * scale)
    return module


def train(module, device, batches, loss_of, optimizer=torch.optim.AdamW, **options):
    """Train, and return the losses, and each parameter's norm and first numbers."""
    module = with_known_weights(module).to(device)
    steps = optimizer(module.parameters(), **options)
    losses = []
    for x, y in batches:
        steps.zero_grad()
        loss = loss_of(module(x.to(device)), y.to(device))
        loss.backward()
        steps.step()
        losses.append(loss.detach())
    found = {"losses": torch.stack(losses)}
    for name, value in module.state_dict().items():
        if value.is_floating_point():
            found[name] = value.detach().flatten()[:6]
            found[f"{name}.norm"] = value.detach().norm()
    return found


def mlp(device):
    """Train a network of linear layers by SGD with momentum."""
    batches = [(wave(8, 12, step=0.3 + 0.1 * i), torch.arange(8) % 5) for i in range(4)]
    module = nn.Sequential(
        nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 5)
    )
    sgd = torch.optim.SGD
    return train(module, device, batches, F.cross_entropy, sgd, lr=0.1, momentum=0.9)


def cnn(device):
    """Train convolutions, normalisation of batches and pooling by AdamW."""
    batches = [
        (wave(6, 2, 9, 9, step=0.21 + 0.1 * i), torch.arange(6) % 3) for i in range(3)
    ]
    module = nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1, bias=False),
        nn.BatchNorm2d(6),
        nn.GELU(),
        nn.AvgPool2d(3),
        nn.Flatten(),
        nn.Linear(54, 3),
    )
    return train(module, device, batches, F.cross_entropy, lr=1e-2)


class Block(nn.Module):
    """A layer of a language model: attention and a network, with residuals."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(11, width)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 32), nn.Linear(32, width)
        self.head = nn.Linear(width, 11)

    def forward(self, tokens):
        x = self.embedding(tokens)
        b, t, c = x.shape
        parts = self.qkv(self.before(x)).view(b, t, 3, self.heads, c // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, c))
        x = x + self.narrow(F.gelu(self.wide(self.between(x))))
        return self.head(x).flatten(0, 1)


def transformer(device):
    """Train one layer of a language model by AdamW."""
    tokens = torch.arange(3 * 10).mul(7).remainder(11).view(3, 10)
    batches = [(tokens.roll(i, 1), tokens.roll(i - 1, 1).flatten()) for i in range(3)]
    return train(Block(), device, batches, F.cross_entropy, lr=1e-2)


class Recurrent(nn.Module):
    """An LSTM and what is read off its last output."""

    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(5, 8, batch_first=True)
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.cells(x)[0][:, -1])


def lstm(device):
    """Train layers over time by SGD."""
    batches = [(wave(4, 7, 5, step=0.4 + 0.1 * i), wave(4, 2)) for i in range(3)]
    sgd = torch.optim.SGD
    return train(Recurrent(), device, batches, F.mse_loss, sgd, lr=0.1)


def numbers(device):
    """Compute with each kind of type, and move, sort and count elements."""
    found = {}
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        x, y = wave(7, 20, dtype=dtype).to(device), wave(20, 3, dtype=dtype).to(device)
        name = str(dtype).removeprefix("torch.")
        found[f"{name}.product"] = x @ y
        found[f"{name}.softmax"] = (x * 3).softmax(1)[:2]
        found[f"{name}.sums"] = torch.stack([x.sum(), x.mean(), x.var(), x.amax()])
        found[f"{name}.functions"] = (x.exp() + x.abs().log1p() - x.tanh()).sum(1)
    whole = torch.arange(60).mul(37).remainder(101).view(6, 10).to(device)
    found["whole.sorted"] = whole.sort(1).values
    found["whole.order"] = whole.argsort(dim=0, stable=True)
    found["whole.counts"] = torch.stack([whole.sum(1), whole // 7 % 5 @ whole[0]])
    found["whole.bits"] = (whole ^ (whole << 2)) & 63
    found["picked"] = whole[whole[:, 0] % 6].gather(1, whole % 10)
    return found


PROGRAMS = (mlp, cnn, transformer, lstm, numbers)


def outputs(device):
    """Return the outputs of all programs, on the CPU, by program and name."""
    return {
        f"{program.__name__}.{name}": value.detach().cpu().contiguous()
        for program in PROGRAMS
        for name, value in program(device).items()
    }
