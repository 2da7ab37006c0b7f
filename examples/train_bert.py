# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a small BERT to fill in words that are missing from sentences.

    python examples/train_bert.py --device lazy --sample 5

Sentences are those of the Python language reference (train_text.py), and as
long as they are: a batch is padded to its longest. An ordinary PyTorch script:
it says which device it wants and knows nothing else about it.
"""

import argparse
import collections
import math
import re
import time

import torch
import torch.nn.functional as F
from torch import nn
from train_text import learning_rate

PADDING, MASK, UNKNOWN = range(3)
SPECIAL = ("[pad]", "[mask]", "[?]")


class Bert(nn.Module):
    """An encoder that sees both sides of a word; its head is its embedding."""

    def __init__(self, words, width=128, heads=4, layers=3, longest=64, dropout=0.1):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PADDING)
        self.places = nn.Parameter(0.02 * torch.randn(longest, width))
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), False)
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, words):
        x = self.words(words) + self.places[: words.shape[1]]
        x = self.dropout(self.norm(x))
        x = self.encoder(x, src_key_padding_mask=words == PADDING)
        return F.linear(x, self.words.weight, self.bias)


class Sentences:
    """The reference's sentences as numbers of words, a tenth of them held out."""

    def __init__(self, vocabulary, longest):
        from pydoc_data.topics import topics

        text = "\n\n".join(topics[name] for name in sorted(topics)).lower()
        split = re.split(r"(?<=[.:;])\s+|\n\n+", text)
        words = [re.findall(r"[a-z_]+|\d+|[.,:;()]", sentence) for sentence in split]
        words = [some[:longest] for some in words if len(some) >= 6]
        counted = collections.Counter(word for some in words for word in some)
        common = [word for word, _ in counted.most_common(vocabulary - len(SPECIAL))]
        self.vocabulary = [*SPECIAL, *common]
        number = {word: i for i, word in enumerate(self.vocabulary)}
        rows = [
            torch.tensor([number.get(word, UNKNOWN) for word in some]) for some in words
        ]
        self.train = [row for i, row in enumerate(rows) if i % 10]
        self.test = rows[::10]

    def text(self, row):
        return " ".join(self.vocabulary[i] for i in row if i != PADDING)


def hide(rows, generator, share=0.15):
    """Return (a padded batch with words hidden, the batch, where they are)."""
    batch = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)
    chance = torch.rand(batch.shape, generator=generator)
    hidden = (chance < share) & (batch > UNKNOWN)
    return batch.masked_fill(hidden, MASK), batch, hidden


def loss_of(model, given, wanted, hidden):
    wanted = wanted.masked_fill(~hidden, -100)  # cross_entropy leaves these out
    return F.cross_entropy(model(given).flatten(0, 1), wanted.flatten())


def evaluate(model, sentences, device):
    """Return the share of hidden words that are guessed, on held-out sentences."""
    model.eval()
    chance = torch.Generator().manual_seed(0)
    given, wanted, hidden = (
        part.to(device) for part in hide(sentences.test[:128], chance)
    )
    with torch.no_grad():
        right = (model(given).argmax(2) == wanted) & hidden
        share = (right.sum() / hidden.sum()).item()
    model.train()
    return share


def fill_in(model, sentences, device, count):
    """Print sentences with the words that the model puts where some are hidden."""
    model.eval()
    given, wanted, hidden = hide(
        sentences.test[:count], torch.Generator().manual_seed(1)
    )
    with torch.no_grad():
        guess = model(given.to(device)).argmax(2).cpu()
    for row, truth, guessed, places in zip(given, wanted, guess, hidden, strict=True):
        print(f"\n{sentences.text(row)}")
        for place in places.nonzero().flatten().tolist():
            words = sentences.vocabulary
            print(f"  {words[truth[place]]}: {words[guessed[place]]}")
    model.train()


def train(options):
    """Yield the losses of one epoch after another, and print what they gave."""
    torch.manual_seed(options.seed)
    sentences = Sentences(options.vocabulary, options.longest)
    chance = torch.Generator().manual_seed(options.seed)
    model = Bert(
        len(sentences.vocabulary),
        options.width,
        layers=options.layers,
        longest=options.longest,
        dropout=options.dropout,
    )
    model = model.to(options.device, getattr(torch, options.dtype))
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.01)
    steps = options.epochs * options.steps_per_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate(step, steps)
    )
    for epoch in range(1, options.epochs + 1):
        losses, started = [], time.perf_counter()
        for _ in range(options.steps_per_epoch):
            chosen = torch.randint(
                len(sentences.train), (options.batch_size,), generator=chance
            )
            rows = [sentences.train[i] for i in chosen]
            batch = [part.to(options.device) for part in hide(rows, chance)]
            loss = loss_of(model, *batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
        losses = [loss.item() for loss in losses]
        ms = 1e3 * (time.perf_counter() - started) / len(losses)
        mean = sum(losses) / len(losses)
        share = evaluate(model, sentences, options.device)
        print(
            f"epoch {epoch:3d}  loss {mean:.5f}  perplexity {math.exp(mean):8.2f}  "
            f"hidden words guessed {share:.4f}  {ms:7.2f} ms a step",
            flush=True,
        )
        yield losses
    if options.sample:
        fill_in(model, sentences, options.device, options.sample)


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps-per-epoch", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--vocabulary", type=int, default=2000, help="common words")
    parser.add_argument("--longest", type=int, default=64, help="words of a sentence")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=1e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="fill in N sentences"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    for _ in train(parse_options()):
        pass
