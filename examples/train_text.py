# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a small GPT, letter by letter, on the Python language reference.

    python examples/train_text.py --device lazy --sample 300

The text is what `help("for")` prints: Python carries it (pydoc_data.topics).
An ordinary PyTorch script: it says which device it wants and knows nothing
else about it.
"""

import argparse
import dataclasses
import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Shape:
    """How large the network is."""

    vocabulary: int
    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 3
    dropout: float = 0.1


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.project_in = nn.Linear(shape.width, 3 * shape.width)
        self.project_out = nn.Linear(shape.width, shape.width)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.project_in(x).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.dropout(self.project_out(mixed))


class Block(nn.Module):
    """Attention, then two dense layers, each on a normalised residual."""

    def __init__(self, shape):
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.dense_norm = nn.LayerNorm(shape.width)
        self.dense = nn.Sequential(
            nn.Linear(shape.width, 4 * shape.width),
            nn.GELU(),
            nn.Linear(4 * shape.width, shape.width),
            nn.Dropout(shape.dropout),
        )

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.dense(self.dense_norm(x))


class Gpt(nn.Module):
    """A decoder-only transformer over letters."""

    def __init__(self, shape):
        super().__init__()
        self.letters = nn.Embedding(shape.vocabulary, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.blocks = nn.Sequential(*(Block(shape) for _ in range(shape.layers)))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary)
        self.apply(self.initialise)

    @staticmethod
    def initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)

    def forward(self, letters):
        positions = torch.arange(letters.shape[1], device=letters.device)
        x = self.dropout(self.letters(letters) + self.positions(positions))
        return self.head(self.norm(self.blocks(x)))


class Text:
    """The Python language reference as numbers, a tenth of it held out."""

    def __init__(self):
        try:
            from pydoc_data.topics import topics
        except ImportError:
            sys.exit(
                "train_text.py: this Python carries no pydoc_data.topics to train on; "
                "on Debian it is in the package libpython3-stdlib"
            )
        text = "\n\n".join(topics[name] for name in sorted(topics))
        self.alphabet = sorted(set(text))
        numbers = {letter: number for number, letter in enumerate(self.alphabet)}
        encoded = torch.tensor([numbers[letter] for letter in text])
        held_out = len(encoded) // 10
        self.train, self.test = encoded[:-held_out], encoded[-held_out:]

    def decode(self, numbers):
        return "".join(self.alphabet[number] for number in numbers)

    @staticmethod
    def windows(letters, starts, context):
        """Return (inputs, what comes next) for the windows that begin at `starts`."""
        rows = letters[starts[:, None] + torch.arange(context + 1)]
        return rows[:, :-1], rows[:, 1:]


@dataclasses.dataclass
class Epoch:
    """What a number of training steps gave."""

    number: int
    losses: list  # one a step
    accuracy: float  # of the next letter on held-out text, in [0, 1]
    seconds: float  # training only, until the last loss was read
    sample: str = ""  # written by the network, after the last epoch

    @property
    def loss(self):
        return sum(self.losses) / len(self.losses)

    @property
    def step_ms(self):
        return 1e3 * self.seconds / len(self.losses)


def loss_of(model, inputs, targets):
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def learning_rate(step, steps, warm_up=20):
    """Return the share of the full rate: a linear warm-up, then half a cosine."""
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.1 + 0.45 * (
        1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up))
    )


def evaluate(model, text, context, device, windows=64):
    model.eval()
    starts = torch.linspace(0, len(text.test) - context - 1, windows).long()
    inputs, targets = text.windows(text.test, starts, context)
    with torch.no_grad():
        guess = model(inputs.to(device)).argmax(dim=2)
        correct = (guess == targets.to(device)).sum().item()
    model.train()
    return correct / targets.numel()


def write(model, text, context, device, letters, temperature=0.7):
    """Let the network continue the held-out text by `letters` letters."""
    model.eval()
    chance = torch.Generator().manual_seed(0)
    numbers = text.test[:context].tolist()
    with torch.no_grad():
        for _ in range(letters):
            window = torch.tensor([numbers[-context:]]).to(device)
            logits = model(window)[0, -1].cpu() / temperature
            numbers.append(
                torch.multinomial(logits.softmax(0), 1, generator=chance).item()
            )
    model.train()
    return text.decode(numbers[context:])


def train(options):
    """Yield one Epoch after another."""
    torch.manual_seed(options.seed)
    text = Text()
    shape = Shape(
        len(text.alphabet), options.context, options.width, layers=options.layers
    )
    choice = torch.Generator().manual_seed(options.seed)

    model = Gpt(shape).to(options.device, getattr(torch, options.dtype))
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.1)
    steps = options.epochs * options.steps_per_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate(step, steps)
    )

    for number in range(1, options.epochs + 1):
        losses = []
        started = time.perf_counter()
        for _ in range(options.steps_per_epoch):
            starts = torch.randint(
                len(text.train) - shape.context, (options.batch_size,), generator=choice
            )
            inputs, targets = text.windows(text.train, starts, shape.context)
            loss = loss_of(model, inputs.to(options.device), targets.to(options.device))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
        losses = [loss.item() for loss in losses]
        seconds = time.perf_counter() - started
        accuracy = evaluate(model, text, shape.context, options.device)
        epoch = Epoch(number, losses, accuracy, seconds)
        if number == options.epochs and options.sample:
            epoch.sample = write(
                model, text, shape.context, options.device, options.sample
            )
        yield epoch


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps-per-epoch", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument(
        "--context", type=int, default=64, help="letters the network sees"
    )
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="write N letters at the end"
    )
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
            f"next letter {epoch.accuracy:.4f}  {epoch.step_ms:7.2f} ms a step",
            flush=True,
        )
    if options.sample:
        print(f"\n{epochs[-1].sample}")
    if options.json:
        record = {
            **vars(options),
            "epochs": [dataclasses.asdict(epoch) for epoch in epochs],
        }
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
