# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train an MLP or a small CNN on scikit-learn's handwritten digits.

    python examples/train_digits.py --model cnn --optimizer adamw --device lazy

An ordinary PyTorch script: it says which device it wants and knows nothing
else about it.
"""

import argparse
import dataclasses
import json
import time

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class Mlp(nn.Module):
    """Two hidden layers with dropout."""

    def __init__(self, width=512, dropout=0.1):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, 10),
        )

    def forward(self, images):
        return self.layers(images)


class Cnn(nn.Module):
    """Two convolutions with batch normalisation, pooling and dropout."""

    def __init__(self, channels=32, dropout=0.1):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, 2 * channels, 3, padding=1),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(2 * channels * 16, 10),
        )

    def forward(self, images):
        return self.classifier(self.features(images))


MODELS = {"mlp": Mlp, "cnn": Cnn}


@dataclasses.dataclass
class Epoch:
    """What one pass over the training images gave."""

    number: int
    losses: list  # one a step
    accuracy: float  # on the test images, in [0, 1]
    seconds: float  # training only, until the last loss was read

    @property
    def loss(self):
        return sum(self.losses) / len(self.losses)

    @property
    def step_ms(self):
        return 1e3 * self.seconds / len(self.losses)


def load_images(seed, test_share=0.2):
    """Return ((images, labels) to train on, the same to test on), 1,797 in all."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    test, train = order.tensor_split([int(test_share * len(order))])
    return (images[train], labels[train]), (images[test], labels[test])


def make_optimizer(name, parameters, rate=None):
    if name == "sgd":
        return torch.optim.SGD(
            parameters, lr=rate or 0.05, momentum=0.9, weight_decay=1e-4
        )
    return torch.optim.AdamW(parameters, lr=rate or 1e-3, weight_decay=0.01)


def evaluate(model, images, labels):
    model.eval()
    with torch.no_grad():
        correct = (model(images).argmax(dim=1) == labels).sum().item()
    model.train()
    return correct / len(labels)


def train(options):
    """Yield one Epoch after another."""
    torch.manual_seed(options.seed)
    (images, labels), test = load_images(options.seed)
    dtype = getattr(torch, options.dtype)
    images = images.to(dtype)
    test = [test[0].to(options.device, dtype), test[1].to(options.device)]
    shuffle = torch.Generator().manual_seed(options.seed)

    model = MODELS[options.model]().to(options.device, dtype)
    optimizer = make_optimizer(options.optimizer, model.parameters(), options.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)

    for number in range(1, options.epochs + 1):
        losses = []
        started = time.perf_counter()
        for batch in torch.randperm(len(images), generator=shuffle).split(
            options.batch_size
        ):
            x, y = images[batch].to(options.device), labels[batch].to(options.device)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        schedule.step()
        losses = [loss.item() for loss in losses]
        seconds = time.perf_counter() - started
        yield Epoch(number, losses, evaluate(model, *test), seconds)


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--model", choices=MODELS, default="mlp")
    parser.add_argument("--optimizer", choices=["sgd", "adamw"], default="sgd")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument(
        "--lr", type=float, help="learning rate (sgd 0.05, adamw 0.001)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--json", metavar="FILE", help="also write what was measured to FILE"
    )
    return parser.parse_args(arguments)


def main():
    options = parse_options()
    epochs = []
    for epoch in train(options):
        epochs.append(epoch)
        print(
            f"epoch {epoch.number:3d}  loss {epoch.loss:.5f}  "
            f"test accuracy {epoch.accuracy:.4f}  {epoch.step_ms:7.2f} ms a step",
            flush=True,
        )
    if options.json:
        record = {
            **vars(options),
            "epochs": [dataclasses.asdict(epoch) for epoch in epochs],
        }
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
