# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that are no polynomials of a graph's symbols: ``n // 2``, ``max(n, 16)``.

A strided convolution gives them, and pooling and ``chunk``. A program takes them as
symbols of their own, whose values are computed here for each new set of sizes.
"""

import sympy
import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP
from torch.utils._sympy import functions
from torch.utils._sympy.printers import PythonPrinter

_REMAINDERS = (sympy.Mod, functions.Mod, functions.PythonMod)
LEASTS = (sympy.Min, functions.Min)
_EXTREMES = (sympy.Max, functions.Max, *LEASTS)
# Of integers; an exact division by CleanDiv follows from its operands.
_FUNCTIONS = (functions.FloorDiv, functions.CleanDiv, *_REMAINDERS, *_EXTREMES)


def is_symbolic(value):
    """Return whether a value is a number that Dynamo or the exporter leaves open."""
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def nodes_of(gm):
    """Return the nodes of a graph and of its calls' bodies."""
    return [
        node
        for module in gm.modules()
        if isinstance(module, fx.GraphModule)
        for node in module.graph.nodes
    ]


def expressions_in(gm):
    """Return what the symbolic numbers, sizes and strides of all nodes are."""
    numbers = []
    for node in nodes_of(gm):
        value = node.meta.get("val")
        for part in value if isinstance(value, list | tuple) else [value]:
            if isinstance(part, torch.Tensor):
                numbers += [*part.shape, *part.stride(), part.storage_offset()]
            else:
                numbers.append(part)
    found = (number.node.expr for number in numbers if is_symbolic(number))
    return list(dict.fromkeys(found))


def conditions_of(environment):
    """Return what a shape environment takes for granted of its symbols."""
    late = environment.deferred_runtime_asserts.values()
    return [
        *(guard.expr for guard in environment.guards),
        *(check.expr for checks in late for check in checks),
    ]


def are_known(expressions):
    """Return whether all can be computed from the symbols' values."""
    return all(map(_is_known, expressions))


def _is_known(expression):
    if expression.is_Symbol or expression.is_Integer:
        return True
    if expression.is_Pow:
        base, exponent = expression.args
        return exponent.is_Integer and exponent > 0 and _is_known(base)
    is_function = isinstance(expression, _FUNCTIONS)
    return (expression.is_Add or expression.is_Mul or is_function) and are_known(
        expression.args
    )


def is_derived(expression):
    """Return whether an expression is no polynomial."""
    # Strides are max(1, n) where eager's are n.
    return any(
        1 not in part.args or not isinstance(part, _EXTREMES)
        for part in expression.atoms(*_FUNCTIONS)
    )


def has_extremes(expression):
    """Return whether an expression has a greatest or a least of some in it."""
    return expression.has(*_EXTREMES)


class DerivedSizes:
    """Those among ``expressions`` that are no polynomials of ``symbols``."""

    def __init__(self, symbols, expressions):
        self.symbols = symbols
        self.expressions = [e for e in dict.fromkeys(expressions) if is_derived(e)]
        self.at = compiled(symbols, self.expressions)
        atoms = (part for e in self.expressions for part in e.atoms(*_FUNCTIONS))
        parts = list(dict.fromkeys(atoms))
        self._sides = compiled(symbols, _sides_of(parts))
        self._remainders = compiled(symbols, _remainders_of(parts))

    def __bool__(self):
        return bool(self.expressions)

    def most_telling(self, trials, drawn):
        """Return those of the values ``drawn`` that tell formulas apart best.

        Like the first of ``trials`` in which of two sizes is the greater and whether
        a remainder is 0: else calls may be left out. Unlike all in remainders: of
        sizes that are all even, ``n // 2`` would be the half.
        """
        sides = self._of(self._sides, trials[0])
        seen = [self._of(self._remainders, trial) for trial in trials]

        def rank(values):
            same = zip(self._of(self._sides, values), sides, strict=True)
            columns = zip(self._of(self._remainders, values), *seen, strict=True)
            return (
                sum(side == first for side, first in same),
                sum(len({*old}) == 1 and new not in old for new, *old in columns),
            )

        return max(drawn, key=rank)

    def most_unlike(self, trials, drawn, is_plain):
        """Return those of the values ``drawn`` that are least like ``trials``.

        For a program that has to be one for all sizes. Of two sizes another one is
        the greater, if that may be; else plain values come first.
        """

        def unseen(numbers, values):
            columns = [self._of(numbers, trial) for trial in trials]
            rows = zip(self._of(numbers, values), *columns, strict=True)
            return sum(new not in old for new, *old in rows)

        def rank(values):
            others = unseen(self._remainders, values) + unseen(self.at, values)
            return unseen(self._sides, values), is_plain(values), others

        return max(drawn, key=rank)

    def span(self, least):
        """Return how far from each other sizes have to be to tell them apart."""
        numbers = (
            int(atom) for e in self.expressions for atom in e.atoms(sympy.Integer)
        )
        return max(least, 3 * max(map(abs, numbers), default=0))

    def _of(self, numbers, values):
        return numbers([values[symbol] for symbol in self.symbols])


def _sides_of(parts):
    extremes = [(part, part.args[0]) for part in parts if isinstance(part, _EXTREMES)]
    wholes = [(part, 0) for part in parts if isinstance(part, _REMAINDERS)]
    return [sympy.Ne(*pair, evaluate=False) for pair in (*extremes, *wholes)]


def _remainders_of(parts):
    divisions = [part for part in parts if isinstance(part, functions.FloorDiv)]
    remainders = [part for part in parts if isinstance(part, _REMAINDERS)]
    return [*(functions.PythonMod(*part.args) for part in divisions), *remainders]


def compiled(symbols, expressions):
    """Return a function of a list of the symbols' values: what the expressions are."""
    printer = PythonPrinter()
    names = ", ".join(map(printer.doprint, symbols))
    values = "".join(f"{printer.doprint(e)}, " for e in expressions)
    function = eval(f"lambda {names}: [{values}]", dict(SYMPY_INTERP))
    return lambda numbers: function(*numbers)
