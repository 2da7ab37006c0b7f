# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs whose tensors have the sizes they are run with.

A program is a list of steps drawn with a seed. What a step does (its op, axes,
windows) is drawn once; sizes and the numbers that follow them come from the
tensors it gets, so that all runs of one program have the same structure.
"""

import random_moves  # noqa: F401 (adds its steps)
import random_sums  # noqa: F401
import torch
from random_steps import STEPS, Draw, Run

LARGEST = 6000  # elements, so that eager takes no time
HIGHEST_RANK = 5

FIRST = (3, 8, 5, 6)


def sizes_of(seed, count):
    """Return the sizes to run a program with: some of its axes vary, some do not.

    The last ones are equal in all that vary, then 1, then 0.
    """
    draw = Draw(seed)
    varying = draw.sample(range(4), draw.one(1, 1, 1, 2, 2, 4))

    def changed(size):
        return tuple(
            size(i) if i in varying else first for i, first in enumerate(FIRST)
        )

    drawn = [changed(lambda i: draw.randint(2, 13)) for _ in range(count - 4)]
    large = changed(lambda i: (4, 40, 33, 17)[i])
    return [FIRST, *drawn, large, *(changed(lambda i, n=n: n) for n in (7, 1, 0))]


class Program:
    """The program of a seed. Equal seeds give equal programs, in every process."""

    def __init__(self, seed, length=6):
        draw = Draw(seed)
        self.seed, self.names, self.steps = seed, [], []
        self.rank = draw.one(2, 3, 3, 4)
        self.trains = draw.random() < 0.4
        self.kept = set()
        wanted = draw.randrange(2, length + 1)
        for _ in range(8 * wanted):
            if len(self.steps) == wanted:
                break
            name = draw.choice(sorted(STEPS))
            self.names.append(name)
            self.steps.append(STEPS[name](Draw(draw.random())))
            if draw.random() < 0.3:
                self.kept.add(len(self.steps) - 1)
            if not self._is_good():
                self.kept.discard(len(self.steps) - 1)
                self.names.pop()
                self.steps.pop()
        self.trains = self.trains and self._is_differentiable()

    def __repr__(self):
        return f"Program({self.seed}): {' '.join(self.names)}"

    def data(self, sizes, dtype=torch.float64):
        """Return the input for these sizes, of which the first few are used."""
        generator = torch.Generator().manual_seed(sum(sizes) + self.seed)
        return torch.randn(*sizes[: self.rank], generator=generator).to(dtype)

    def _is_good(self):
        """Return whether eager runs it at the first sizes, to something of use."""
        try:
            x = self(self.data(FIRST), "cpu", every=True)[-1]
        except Exception:
            return False
        return (
            0 < x.numel() <= LARGEST
            and x.dim() <= HIGHEST_RANK
            and bool(x.isfinite().all())
            and float(x.abs().max()) < 1e4
        )

    def _is_differentiable(self):
        try:
            self(self.data(FIRST), "cpu")
        except Exception:
            return False
        return True

    def __call__(self, x, device, every=False):
        """Return what the steps marked for it gave, the last one, and gradients."""
        torch.manual_seed(self.seed)
        run = Run(device, x.dtype)
        first = x = x.to(device).requires_grad_(self.trains and not every)
        results = []
        for i, change in enumerate(self.steps):
            run.before.append(x)
            x = change(x, run)
            if i in self.kept or i == len(self.steps) - 1 or every:
                results.append(x)
        if first.requires_grad:
            total = sum((r * r).mean() for r in results if r.requires_grad)
            if isinstance(total, torch.Tensor) and total.requires_grad:
                results += torch.autograd.grad(total, [first])
        return results
