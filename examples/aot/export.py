# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the bundles that run.c runs: a CNN, and a GPT that writes token by token.

python examples/aot/export.py FOLDER
"""

import math
import sys

import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn

LENGTH, VOCABULARY, WIDTH, HEADS, LAYERS = 64, 96, 64, 4, 2


class CNN(nn.Module):
    """Gives the probabilities of ten classes."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.scores = nn.Linear(32, 10)

    def forward(self, images):
        return self.scores(self.convolutions(images).flatten(1)).softmax(1)


class Block(nn.Module):
    """Attention of one new token to all before it, whose keys the module keeps."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.grow = nn.Linear(WIDTH, 4 * WIDTH)
        self.shrink = nn.Linear(4 * WIDTH, WIDTH)
        for name in ("keys", "values"):
            cache = torch.zeros(HEADS, LENGTH, WIDTH // HEADS)
            self.register_buffer(name, cache)

    def forward(self, x, place):
        query, key, value = (
            part.view(HEADS, 1, -1)
            for part in self.projection(self.norms[0](x)).chunk(3, -1)
        )
        places = torch.arange(LENGTH)
        is_new = (places == place)[None, :, None]
        self.keys.copy_(torch.where(is_new, key, self.keys))
        self.values.copy_(torch.where(is_new, value, self.values))
        scores = query @ self.keys.transpose(1, 2) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(places > place, -torch.inf)
        read = (scores.softmax(-1) @ self.values).view(1, WIDTH)
        x = x + self.out(read)
        return x + self.shrink(F.gelu(self.grow(self.norms[1](x))))


class GPT(nn.Module):
    """Takes a token and its place in the text, and returns the next token."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, token, place):
        x = self.tokens(token) + self.places(place)
        for block in self.blocks:
            x = block(x, place)
        return self.head(self.norm(x)).argmax(-1)


def models():
    """Return both, with the same random weights at each call."""
    torch.manual_seed(0)
    return CNN().eval(), GPT().eval()


def main(folder, **options):
    cnn, gpt = models()
    batch = {0: torch.export.Dim("batch", max=4096)}
    images = torch.export.export(
        cnn, (torch.rand(8, 1, 28, 28),), dynamic_shapes=(batch,)
    )
    torch_ltc.aot.compile(images, f"{folder}/cnn.ltcpkg", **options)
    step = torch.export.export(gpt, (torch.tensor([1]), torch.tensor([0])))
    torch_ltc.aot.compile({"step": step}, f"{folder}/gpt.ltcpkg", **options)


if __name__ == "__main__":
    main(sys.argv[1])
