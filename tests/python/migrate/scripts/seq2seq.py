# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reverse a sequence: an encoder, a decoder, attention and teacher forcing."""

import random
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    device: str = "lazy"
    symbols: int = 9
    width: int = 16
    steps: int = 5


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config.symbols, config.width)
        self.cell = nn.GRU(config.width, config.width, batch_first=True)

    def forward(self, x):
        return self.cell(self.embedding(x))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = nn.Embedding(config.symbols, config.width)
        self.cell = nn.GRUCell(2 * config.width, config.width)
        self.head = nn.Linear(config.width, config.symbols)

    def forward(self, symbol, state, seen):
        weight = torch.softmax((seen * state.unsqueeze(1)).sum(-1), -1)
        context = (weight.unsqueeze(-1) * seen).sum(1)
        state = self.cell(torch.cat([self.embedding(symbol), context], -1), state)
        return self.head(state), state


def main():
    """Train, and say how it went."""
    config = Config()
    torch.manual_seed(5)
    random.seed(5)
    encoder = Encoder(config).to(config.device)
    decoder = Decoder(config).to(config.device)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, 5e-3)
    for _ in range(config.steps):
        given = torch.randint(1, config.symbols, (8, 5)).to(config.device)
        wanted = given.flip(1)
        seen, state = encoder(given)
        state = state[0]
        symbol = torch.zeros(8, dtype=torch.long, device=config.device)
        loss = 0
        for place in range(5):
            scores, state = decoder(symbol, state, seen)
            loss = loss + nn.functional.cross_entropy(scores, wanted[:, place])
            is_told = random.random() < 0.5
            symbol = wanted[:, place] if is_told else scores.argmax(-1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.lazy.mark_step()
    print(f"loss {loss.item():.4f}")


main()
