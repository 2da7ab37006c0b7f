# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sizes that an exported program leaves open, and some to try."""

import math
import random

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy.value_ranges import bound_sympy

from torch_ltc.aot.derived import Steps
from torch_ltc.aot.library import NO_LIMIT, error
from torch_ltc.aot.tracing import shape_of
from torch_ltc.dynamo import derived_sizes

# So many trials are close to the example. Formulas are found from those, and have
# to agree with the least sizes and, symbol by symbol, with the most.
NEAR = 3
_DISTANCE = 24
# The most without a limit; and of how many elements no input may have more. Some
# ops show what they return by running, on masks as large as the square perhaps.
_FAR, _ELEMENTS = 2**13, 2**24
_DRAWS = 64


class Sizes:
    """Symbols of an ``ExportedProgram``, by what its inputs' shapes name."""

    def __init__(self, program):
        self.ranges = program.exported.range_constraints
        values = [argument.value for argument in program.inputs]
        self.shapes = [value.shape for value in values if _is_tensor(value)]
        # A size that equals one of these means less by chance: `x[:n]` is `x`.
        self.fixed = {d for shape in self.shapes for d in shape if isinstance(d, int)}
        found = {}
        for value in values:
            for size in shape_of(value):
                if isinstance(size, torch.SymInt):
                    for symbol in size.node.expr.free_symbols:
                        found[symbol] = None
        self.symbols = list(found)
        self.steps = Steps(program.inputs)
        self._find_derived(program.gm)

    def _find_derived(self, gm):
        """Find which numbers are no polynomials, and which sizes are taken."""
        written = [
            e
            for e in derived_sizes.expressions_in(gm)
            if e.free_symbols and self.steps.can_write(e)
        ]
        self.derived = derived_sizes.DerivedSizes(self.symbols, written)
        of_one_side = [e for e in written if not derived_sizes.has_extremes(e)]
        self.numbers = derived_sizes.compiled(self.symbols, of_one_side)
        sizes = [size for shape in self.shapes for size in shape]
        symbolic = [size for size in sizes if isinstance(size, torch.SymInt)]
        # All are of one environment.
        environment = symbolic[0].node.shape_env if symbolic else ShapeEnv()
        conditions = [
            condition
            for condition in derived_sizes.conditions_of(environment)
            if condition.free_symbols and self.steps.can_write(condition)
        ]
        self.guards = [
            guard
            for guard in environment.guards
            if guard.expr.free_symbols <= {*self.symbols}
        ]
        guarded = [guard.expr for guard in self.guards]
        self.guards_hold = derived_sizes.compiled(self.symbols, guarded)
        self.holds = derived_sizes.compiled(self.symbols, [*conditions, *guarded])
        # Other conditions are formulas, or hold for all sizes in their limits.
        self.checked = [c for c in conditions if derived_sizes.is_derived(c)]
        self.checks = derived_sizes.compiled(self.symbols, self.checked)

    def derived_at(self, values):
        """Return the numbers that are derived, and 1 for each condition that holds."""
        known = [values[symbol] for symbol in self.symbols]
        return [*map(int, self.derived.at(known)), *map(int, self.checks(known))]

    def derived_rows(self, formulas):
        """Return (text, steps, formula) of each of those."""
        expressions = [*self.derived.expressions, *self.checked]
        return [
            (self.steps.text(e), self.steps.of(e), formula)
            for e, formula in zip(expressions, formulas, strict=True)
        ]

    def check_guards(self, trials):
        """Raise where the exporter took a number that depends on sizes for fixed."""
        for values in trials:
            known = [values[symbol] for symbol in self.symbols]
            for guard, held in zip(self.guards, self.guards_hold(known), strict=True):
                if not held:
                    place = guard.sloc.maybe_user_loc
                    raise error(
                        "unsupported",
                        "torch.export fixed a number that depends on a size: "
                        f"{self.steps.text(guard.expr)}"
                        + (f", met {place}" if place else "")
                        + "; compute with the number and a tensor, as in "
                        "q * n ** -0.5 and scale=1.0 of an attention, or export it "
                        "with that dimension fixed",
                    )

    def _may_be(self, values):
        known = [values[symbol] for symbol in self.symbols]
        return all(self.holds(known)) and self._is_small(values)

    def _is_plain(self, values):
        """Return whether no size is 0 or 1, which may mean other calls."""
        return all(abs(n) > 1 for n in self.numbers([values[s] for s in self.symbols]))

    def limits(self, size):
        """Return the least and the most that a dimension may be."""
        if not isinstance(size, torch.SymInt):
            return size, size
        return _limits(size.node.expr, self.ranges)

    def trials(self, hints):
        """Return values of the symbols: those of the example, and others."""
        if not self.symbols:
            return [{}]
        draw = random.Random(0)
        is_like_others = all(hints[s] > 1 and hints[s] not in self.fixed for s in hints)
        trials = [hints] if is_like_others else []
        while len(trials) < NEAR:
            trials.append(self._near(trials, hints, draw.choice))
        least = self._least(trials, hints)
        return [*trials, least, *(self._far(least, s) for s in self.symbols)]

    def _near(self, before, hints, choose):
        """Return values that no symbol had ``before``, no two of them equal."""
        drawn = [self._drawn(before, hints, choose) for _ in range(_DRAWS)]
        good = [*filter(self._may_be, drawn)] or drawn
        if not self.derived:
            return next(filter(self._is_plain, good), good[0])
        return self.derived.most_unlike(before, good, self._is_plain)

    def _least(self, before, hints):
        """Return the least values that may be, and of those the first plain ones."""

        def lifted(by):
            return self._drawn(before, hints, lambda free: free[min(by, len(free) - 1)])

        drawn = [*map(lifted, range(_DISTANCE))]
        good = [*filter(self._may_be, drawn)] or drawn
        return next(filter(self._is_plain, good), good[0])

    def _drawn(self, before, hints, choose):
        values = {}
        for symbol in self.symbols:
            # 0 and 1 may mean other calls: an empty dimension, a broadcast one.
            least, most = _limits(symbol, self.ranges)
            least = max(least, 2)
            distance = min(self.derived.span(_DISTANCE), _FAR)
            far = max(least, min(most, max(least, hints[symbol]) + distance))
            used = {*values.values(), *(trial[symbol] for trial in before)}
            free = [size for size in range(least, far + 1) if size not in used]
            apart = [size for size in free if size not in self.fixed]
            values[symbol] = choose(apart or free or [least, far])
        return values

    def _far(self, least, symbol):
        """Return values of which one symbol's is the most that it may have."""
        _, most = _limits(symbol, self.ranges)
        size = most if most < NO_LIMIT else _FAR
        while size > least[symbol] and not self._is_small(least | {symbol: size}):
            size = max(size // 2, least[symbol])
        others = {least[other] for other in self.symbols if other != symbol}
        others |= self.fixed
        near = range(size, size - min(_DRAWS, size - least[symbol]), -1)
        drawn = [least | {symbol: n} for n in near if n not in others]
        good = [*filter(self._may_be, drawn)] or [least]
        return next(filter(self._is_plain, good), good[0])

    def _is_small(self, trial):
        sizes = [math.prod(at(d, trial) for d in shape) for shape in self.shapes]
        return max(sizes, default=0) <= _ELEMENTS


def _is_tensor(value):
    return isinstance(value, torch.Tensor)


def at(size, values):
    """Return a size for these values of the symbols."""
    if not isinstance(size, torch.SymInt):
        return size
    return int(size.node.expr.xreplace(values))


def hints_of(values, examples):
    """Return the symbols' values in the example inputs, which fit ``values``."""
    rows = [
        (size.node.expr, known)
        for value, example in zip(values, examples, strict=True)
        for size, known in zip(shape_of(value), shape_of(example), strict=True)
        if isinstance(size, torch.SymInt)
    ]
    found = {}
    for expr, known in sorted(rows, key=lambda row: len(row[0].free_symbols)):
        rest = expr.subs(found)
        if len(rest.free_symbols) == 1:
            (symbol,) = rest.free_symbols
            found.update(_solved(rest, symbol, known))
    for expr, _ in rows:
        if not expr.free_symbols <= found.keys():
            raise error(
                "unsupported",
                f"the value of {expr} in the example does not tell those of its "
                "symbols; give inputs a dimension for each of them",
            )
    return found


def _solved(expr, symbol, known):
    values = sympy.solve(expr - known, symbol)
    found = [int(value) for value in values if value.is_integer and value >= 0]
    return {symbol: found[0]} if found else {}


def _limits(expr, ranges):
    within = ranges.get(expr)
    if within is None:
        within = bound_sympy(expr, ranges)
    return max(_int(within.lower, 0), 0), _int(within.upper, NO_LIMIT)


def _int(bound, otherwise):
    is_finite = isinstance(bound, int | sympy.Integer)
    return min(int(bound), NO_LIMIT) if is_finite else otherwise
