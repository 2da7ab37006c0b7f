# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks that tests/gpu/workloads.py trains, which need no other package."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Of all heads at once."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        """Return queries, keys and values, by head."""
        rows, length, width = x.shape
        shape = (rows, length, self.heads, width // self.heads)
        parts = self.project(x).split(width, 2)
        return [part.view(shape).transpose(1, 2) for part in parts]

    def join(self, x):
        """Return what leaves the heads, side by side."""
        return self.out(x.transpose(1, 2).flatten(2))

    def forward(self, x):
        return self.join(F.scaled_dot_product_attention(*self.split(x), is_causal=True))


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width, heads, dropout=0.0):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.second_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(self.second_norm(x))


class Gpt(nn.Module):
    """Letters to the logits of the next ones."""

    def __init__(self, letters, length, width, heads, layers, dropout=0.0):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.places = nn.Embedding(length, width)
        blocks = [Block(width, heads, dropout) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)

    def forward(self, letters):
        places = torch.arange(letters.shape[1], device=letters.device)
        x = self.letters(letters) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def next(self, letter, place, caches):
        """Return the most likely letter behind one, whose keys go to the caches."""
        x = self.letters(letter) + self.places(place)
        seen = torch.arange(caches[0][0].shape[2], device=letter.device) <= place
        for block, (keys, values) in zip(self.blocks, caches, strict=True):
            query, key, value = block.attention.split(block.norm(x))
            keys.index_copy_(2, place, key)
            values.index_copy_(2, place, value)
            mixed = F.scaled_dot_product_attention(
                query, keys, values, attn_mask=seen[None, None, None]
            )
            x = x + block.attention.join(mixed)
            x = x + block.mlp(block.second_norm(x))
        return self.head(self.norm(x)).argmax(2)


class Encoder(nn.Module):
    """Texts to vectors."""

    def __init__(self, width, heads, layers):
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.out = nn.Linear(width, width)

    def forward(self, words):
        return torch.tanh(self.out(self.blocks(self.words(words))[:, 0]))


class Tagger(nn.Module):
    """One of 64 tags for each time."""

    def __init__(self, width):
        super().__init__()
        self.lstm = nn.LSTM(width // 2, width, 2, batch_first=True)
        self.head = nn.Linear(width, 64)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


def normed(inner, outer, size, stride=1):
    """Return a convolution with batch norm behind it."""
    return nn.Sequential(
        nn.Conv2d(inner, outer, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(outer),
    )


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, inner, width, stride):
        super().__init__()
        self.one = normed(inner, width, 1)
        self.two = normed(width, width, 3, stride)
        self.three = normed(width, 4 * width, 1)
        keeps = inner == 4 * width and stride == 1
        self.shortcut = nn.Identity() if keeps else normed(inner, 4 * width, 1, stride)

    def forward(self, x):
        y = self.two(self.one(x).relu()).relu()
        return (self.three(y) + self.shortcut(x)).relu()


def resnet(layers=(3, 4, 6, 3), width=64):
    """Return ResNet-50, or a smaller one."""
    modules = [normed(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inner = width
    for stage, count in enumerate(layers):
        for i in range(count):
            stride = 2 if stage and not i else 1
            modules.append(Bottleneck(inner, width << stage, stride))
            inner = 4 * width << stage
    modules += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 1000)]
    return nn.Sequential(*modules)
