# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model whose loop is inside: it writes a text, token by token."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import while_loop

LENGTH, VOCABULARY, WIDTH, HEADS = 24, 40, 32, 2


class Writer(nn.Module):
    """Continues a text up to `end`, or up to the token 0."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def next(self, text, place, keys, values):
        token = text.index_select(0, place.view(1))
        x = self.tokens(token) + self.places(place.view(1))
        query, key, value = (
            part.view(HEADS, 1, -1) for part in self.projection(x).chunk(3, -1)
        )
        keys = keys.index_copy(1, place.view(1), key)
        values = values.index_copy(1, place.view(1), value)
        seen = (torch.arange(LENGTH) <= place)[None, None]
        read = F.scaled_dot_product_attention(query, keys, values, seen)
        x = x + self.out(read.view(1, WIDTH))
        return self.head(F.gelu(x)).argmax(-1), keys, values

    def forward(self, text, given, end):
        def goes_on(place, text, keys, values):
            return (place + 1 < end) & (text.index_select(0, place.view(1))[0] != 0)

        def turn(place, text, keys, values):
            token, keys, values = self.next(text, place, keys, values)
            after = (place + 1).view(1)
            kept = torch.where(after < given, text.index_select(0, after), token)
            return place + 1, text.index_copy(0, after, kept), keys, values

        memory = torch.zeros(HEADS, LENGTH, WIDTH // HEADS)
        start = torch.tensor(0), text.clone(), memory, memory.clone()
        count, text, _, _ = while_loop(goes_on, turn, start)
        return count + 1, text


def text_of(*tokens):
    """Return the argument that a text is."""
    return F.pad(torch.tensor(tokens), (0, LENGTH - len(tokens)), value=1)


def arguments(*tokens, end=LENGTH):
    """Return what the module takes."""
    return text_of(*tokens), torch.tensor(len(tokens)), torch.tensor(end)
