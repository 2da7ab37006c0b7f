# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of models made of torch.nn's recurrent and transformer layers."""

import torch
from model_rows import BATCH, LENGTH, Model, class_loss, classes, padding_mask
from torch import nn

FEATURES = 12
WIDTH = 16


class Recurrent(nn.Module):
    """Reads a sequence of vectors and names a class."""

    def __init__(self, kind, width=WIDTH, outputs=WIDTH, **numbers):
        super().__init__()
        self.cell = kind(
            FEATURES, width, num_layers=2, batch_first=True, dropout=0.1, **numbers
        )
        self.head = nn.Linear(outputs, 5)

    def forward(self, steps):
        return self.head(self.cell(steps)[0][:, -1])


class Encoder(nn.Module):
    """A transformer encoder that may be told which steps are padding."""

    def __init__(self, **numbers):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 32, dropout=0.1, batch_first=True, **numbers
        )
        self.read = nn.Linear(FEATURES, WIDTH)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, steps, padding=None):
        x = self.encoder(self.read(steps), src_key_padding_mask=padding)
        return self.head(x[:, 0])


class Translator(nn.Module):
    """nn.Transformer from one sequence of vectors to another."""

    def __init__(self):
        super().__init__()
        self.read = nn.Linear(FEATURES, WIDTH)
        self.transformer = nn.Transformer(
            WIDTH, 4, 2, 2, 32, dropout=0.1, batch_first=True
        )
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, steps):
        x = self.read(steps)
        mask = nn.Transformer.generate_square_subsequent_mask(
            LENGTH, device=x.device, dtype=x.dtype
        )
        return self.head(
            self.transformer(x, x, tgt_mask=mask, tgt_is_causal=True)[:, -1]
        )


def sequences():
    return {"steps": torch.randn(BATCH, LENGTH, FEATURES), "labels": classes()}


def padded_sequences():
    return sequences() | {"padding": padding_mask() == 0}


def row(make, batch=sequences):
    return Model(make, batch, class_loss)


TORCH_NN = {
    "lstm": row(lambda: Recurrent(nn.LSTM)),
    "bidirectional lstm": row(
        lambda: Recurrent(nn.LSTM, outputs=2 * WIDTH, bidirectional=True)
    ),
    "projected lstm": row(lambda: Recurrent(nn.LSTM, width=2 * WIDTH, proj_size=WIDTH)),
    "gru": row(lambda: Recurrent(nn.GRU)),
    "rnn": row(lambda: Recurrent(nn.RNN)),
    "encoder": row(Encoder),
    "padded encoder": row(Encoder, padded_sequences),
    "pre-norm encoder": row(
        lambda: Encoder(norm_first=True, activation="gelu"), padded_sequences
    ),
    "transformer": row(Translator),
}
