# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training steps of the examples, on batches that are on the device."""

import itertools
import sys
from pathlib import Path
from typing import ClassVar

import torch
import torch.nn.functional as F

from workloads.workload import Training

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))


class Example(Training):
    """Held to what the project promised first."""

    random = True
    batch_count = 8
    targets: ClassVar[dict] = {"step_ms": 1.5, "peak_mib": 1.3}

    def loss(self, x, y):
        return F.cross_entropy(self.model(x).flatten(0, -2), y.flatten())


class Digits(Example):
    """Handwritten digits."""

    def build(self, size=128):
        import train_digits

        (images, labels), _ = train_digits.load_images(seed=0)
        pairs = zip(images.split(size), labels.split(size), strict=True)
        self.model = train_digits.MODELS[self.network]()
        self.batches = list(itertools.islice(pairs, self.batch_count))


class DigitsMlp(Digits):
    """SGD with momentum."""

    name, network = "digits-mlp", "mlp"

    def make_optimizer(self, parameters, **options):
        options |= {"momentum": 0.9, "weight_decay": 1e-4}
        return torch.optim.SGD(parameters, lr=0.05, **options)


class DigitsCnn(Digits):
    """AdamW."""

    name, network = "digits-cnn", "cnn"


class GptText(Example):
    """AdamW, as train_text does it without clipping."""

    name = "gpt"
    sizes: ClassVar[dict] = {"full": {"size": 16}, "small": {"size": 2}}

    def build(self, size):
        import train_text

        text = train_text.Text()
        shape = train_text.Shape(len(text.alphabet))
        starts = torch.randint(
            len(text.train) - shape.context, (self.batch_count, size)
        )
        self.batches = [text.windows(text.train, row, shape.context) for row in starts]
        self.model = train_text.Gpt(shape)


WORKLOADS = [DigitsMlp, DigitsCnn, GptText]
