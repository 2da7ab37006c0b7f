# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the steps of random programs are made of, and the table of them."""

import random

import torch

STEPS = {}


def step(function):
    """Add a step: function(draw) returns what maps a tensor and the run to one."""
    STEPS[function.__name__] = function
    return function


class Draw(random.Random):
    """What is drawn for a step."""

    def axis(self):
        """Return a function that names an axis of a tensor, the same at each run."""
        number = self.randrange(60)
        return lambda x: number % max(x.dim(), 1)

    def one(self, *choices):
        return self.choice(choices)


class Run:
    """One run of a program: its device and the earlier tensors."""

    def __init__(self, device, dtype):
        self.device, self.dtype = device, dtype
        self.before = []

    def arange(self, n, dtype=torch.int64):
        return torch.arange(n, device=self.device, dtype=dtype)

    def numbers(self, *shape):
        """Return the same numbers on every device, as a constant of the program."""
        count = 1
        for size in shape:
            count *= size
        made = torch.arange(count, dtype=self.dtype).mul(0.7).sin()
        return made.reshape(shape).to(self.device)


def clear(x):
    """Return x without differences that another order of summing can make.

    What jumps (a comparison, an index) would make much of them.
    """
    return (x + 0.0137).round(decimals=4)


def unfolded(x, rank):
    """Return x with that many dimensions: units in front, or its first ones joined."""
    while x.dim() < rank:
        x = x.unsqueeze(0)
    return x.flatten(0, x.dim() - rank) if x.dim() > rank else x
