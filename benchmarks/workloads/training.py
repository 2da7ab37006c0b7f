# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training steps of the examples, on batches that are on the device."""

import itertools
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

import train_digits
import train_text

BATCHES = 8


class Training:
    """One step is forward, loss, backward, optimizer."""

    def __init__(self, device):
        torch.manual_seed(0)
        model, batches = self.build()
        self.model = model.to(device)
        self.optimizer = self.make_optimizer()
        moved = [(x.to(device), y.to(device)) for x, y in batches]
        self.batches = itertools.cycle(moved)

    def step(self):
        x, y = next(self.batches)
        loss = F.cross_entropy(self.model(x).flatten(0, -2), y.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class Digits(Training):
    """Handwritten digits."""

    def build(self, size=128):
        (images, labels), _ = train_digits.load_images(seed=0)
        pairs = zip(images.split(size), labels.split(size), strict=True)
        return self.network(), list(itertools.islice(pairs, BATCHES))


class DigitsMlp(Digits):
    """SGD with momentum."""

    name = "digits-mlp"
    network = train_digits.Mlp

    def make_optimizer(self):
        return train_digits.make_optimizer("sgd", self.model.parameters())


class DigitsCnn(Digits):
    """AdamW."""

    name = "digits-cnn"
    network = train_digits.Cnn

    def make_optimizer(self):
        return train_digits.make_optimizer("adamw", self.model.parameters())


class GptText(Training):
    """AdamW, as train_text does it without clipping."""

    name = "gpt"

    def build(self, size=16):
        text = train_text.Text()
        shape = train_text.Shape(len(text.alphabet))
        starts = torch.randint(len(text.train) - shape.context, (BATCHES, size))
        batches = [text.windows(text.train, row, shape.context) for row in starts]
        return train_text.Gpt(shape), batches

    def make_optimizer(self):
        return torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.1)
