# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sizes that an exported program leaves open, and some to try."""

import random

import sympy
import torch

from torch_ltc.aot.library import NO_LIMIT

# Formulas are found from the first half, and the others have to agree.
_TRIALS = 6


class Sizes:
    """Symbols of an ``ExportedProgram``, by what its inputs' shapes name."""

    def __init__(self, program, values):
        self.ranges = program.range_constraints
        found = {}
        for value in values:
            for size in value.shape:
                if isinstance(size, torch.SymInt):
                    for symbol in size.node.expr.free_symbols:
                        found[symbol] = None
        self.symbols = list(found)

    def limits(self, size):
        """Return the least and the most that a dimension may be."""
        if not isinstance(size, torch.SymInt):
            return size, size
        within = self.ranges.get(size.node.expr)
        if within is None:  # its symbols have limits, which it follows
            return 0, NO_LIMIT
        return max(_int(within.lower, 0), 0), _int(within.upper, NO_LIMIT)

    def trials(self, hints):
        """Return values of the symbols: those of the example, and others."""
        if not self.symbols:
            return [{}]
        draw = random.Random(0)
        trials = [hints] if all(hint > 1 for hint in hints.values()) else []
        while len(trials) < _TRIALS:
            trials.append(self._drawn(draw, hints, trials))
        return trials

    def _drawn(self, draw, hints, before):
        values = {}
        for symbol in self.symbols:
            # 0 and 1 may mean other calls: an empty dimension, a broadcast one.
            least, most = self._range(symbol)
            least = max(least, 2)
            far = min(most, max(least, hints[symbol]) + 24)
            used = {*values.values(), *(values[symbol] for values in before)}
            free = [size for size in range(least, far + 1) if size not in used]
            values[symbol] = draw.choice(free or range(least, max(far, least) + 1))
        return values

    def _range(self, symbol):
        within = self.ranges.get(symbol)
        if within is None:
            return 0, NO_LIMIT
        return _int(within.lower, 0), _int(within.upper, NO_LIMIT)


def at(size, values):
    """Return a size for these values of the symbols."""
    if not isinstance(size, torch.SymInt):
        return size
    return int(size.node.expr.xreplace(values))


def hints_of(values, examples):
    """Return the symbols' values in the example inputs, which fit ``values``."""
    found = {}
    for value, example in zip(values, examples, strict=True):
        for size, known in zip(value.shape, example.shape, strict=True):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                found[size.node.expr] = known
    return found


def _int(bound, otherwise):
    is_finite = isinstance(bound, int | sympy.Integer)
    return min(int(bound), NO_LIMIT) if is_finite else otherwise
