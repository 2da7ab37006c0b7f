# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the bundles that run.c runs: a CNN, and a GPT that writes a text.

python examples/aot/export.py FOLDER
"""

import sys

import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn
from torch._higher_order_ops import while_loop

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
    """Attention of one new token to all before it, whose keys and values are kept."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.grow = nn.Linear(WIDTH, 4 * WIDTH)
        self.shrink = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, place, keys, values):
        query, key, value = (
            part.view(HEADS, 1, -1)
            for part in self.projection(self.norms[0](x)).chunk(3, -1)
        )
        keys = keys.index_copy(1, place, key)
        values = values.index_copy(1, place, value)
        seen = (torch.arange(LENGTH) <= place)[None, None]
        read = F.scaled_dot_product_attention(query, keys, values, seen)
        x = x + self.out(read.view(1, WIDTH))
        x = x + self.shrink(F.gelu(self.grow(self.norms[1](x))))
        return x, keys, values


class GPT(nn.Module):
    """Continues a text: its first token is given, and so many are written."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, text, count):
        def turn(place, text, *memory):
            x = self.tokens(text[place]) + self.places(place)
            kept = []
            for block, keys, values in zip(
                self.blocks, memory[::2], memory[1::2], strict=True
            ):
                x, *new = block(x, place, keys, values)
                kept += new
            token = self.head(self.norm(x)).argmax(-1)
            place = place + 1
            return place, text.index_copy(0, place, token), *kept

        memory = torch.zeros(2 * LAYERS, HEADS, LENGTH, WIDTH // HEADS)
        start = torch.zeros(1, dtype=torch.int64), text.clone(), *memory.unbind()
        return while_loop(lambda place, *_: place[0] < count, turn, start)[1]


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
    text = torch.zeros(LENGTH, dtype=torch.int64)
    count = torch.export.Dim.DYNAMIC(min=0)
    text = torch.export.export(gpt, (text, 20), dynamic_shapes=(None, count))
    torch_ltc.aot.compile({"write": text}, f"{folder}/gpt.ltcpkg", **options)


if __name__ == "__main__":
    main(sys.argv[1])
