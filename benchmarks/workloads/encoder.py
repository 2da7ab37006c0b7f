# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A BERT-like encoder over batches of several lengths."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from workloads.workload import Workload


class Layer(nn.Module):
    """Attention and dense layers, each followed by a normalised residual."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width)
        self.dense = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dense_norm = nn.LayerNorm(width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.project_in(x).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        x = self.attention_norm(x + self.project_out(mixed))
        return self.dense_norm(x + self.dense(x))


class Encoder(nn.Module):
    """Embeddings, layers, and a tanh of what stands first."""

    def __init__(self, words, context, width, heads, layers):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Embedding(context, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.pool = nn.Linear(width, width)

    def forward(self, words, present):
        places = torch.arange(words.shape[1], device=words.device)
        x = self.norm(self.words(words) + self.positions(places))
        mask = present[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return torch.tanh(self.pool(x[:, 0]))


class EncoderLengths(Workload):
    """Inference on eight lengths in turn; a step is all eight."""

    name = "encoder-8-lengths"
    sizes: ClassVar[dict] = {
        "full": {"batch": 8, "width": 256, "layers": 4, "longest": 128},
        "small": {"batch": 2, "width": 16, "layers": 1, "longest": 32},
    }
    targets: ClassVar[dict] = {"step_ms": 0.90, "static": 1.15, "graphs": 2}

    def lengths(self, longest):
        return [longest * k // 8 - k % 2 for k in (5, 2, 8, 3, 6, 1, 7, 4)]

    def build(self, batch, width, layers, longest):
        model = Encoder(1000, longest, width, 4, layers).eval().to(self.device)
        self.batches = []
        for length in self.lengths(longest):
            words = torch.randint(1000, (batch, length))
            ends = torch.randint(length // 2, length + 1, (batch, 1))
            present = torch.arange(length) < ends
            self.batches.append((words.to(self.device), present.to(self.device)))
        self.forward = self.contender.compile(model)

    def step(self):
        results = []
        with torch.no_grad():
            for batch in self.batches:
                results.append(self.forward(*batch))
                self.contender.submit()
        return results


class EncoderManyLengths(EncoderLengths):
    """The same on thirty lengths."""

    name = "encoder-30-lengths"

    def lengths(self, longest):
        return [longest - 7 * k % 30 for k in range(30)]


WORKLOADS = [EncoderLengths, EncoderManyLengths]
