# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that follow from inputs' sizes, as steps that a bundle holds.

`n // 2` and `max(n, 16)` are no polynomials of sizes, and a condition such as
``n % 2 == 0`` says which sizes a program takes (`ltc/derived_size.h`).
"""

import functools
import operator

import sympy
import torch
from torch.utils._sympy import functions

# DerivedSize::Step::Kind.
(
    _CONSTANT,
    _SIZE,
    _ADD,
    _MULTIPLY,
    _FLOOR_DIVIDE,
    _MODULO,
    _GREATEST,
    _LEAST,
    _EQUAL,
    _LESS,
) = range(10)
_PAIRS = {
    functions.FloorDiv: _FLOOR_DIVIDE,
    functions.CleanDiv: _FLOOR_DIVIDE,
    functions.Mod: _MODULO,
    functions.PythonMod: _MODULO,
    sympy.Mod: _MODULO,
    sympy.Eq: _EQUAL,
    sympy.StrictLessThan: _LESS,
}
_CHAINS = {
    sympy.Add: _ADD,
    sympy.Mul: _MULTIPLY,
    sympy.Max: _GREATEST,
    sympy.Min: _LEAST,
    functions.Max: _GREATEST,
    functions.Min: _LEAST,
    sympy.And: _LEAST,
    sympy.Or: _GREATEST,
}
_TURNED = {  # 1 where the other, of exchanged operands or not, is 0
    sympy.Ne: (sympy.Eq, False),
    sympy.LessThan: (sympy.StrictLessThan, True),
    sympy.GreaterThan: (sympy.StrictLessThan, False),
}
_APPLIED = {
    _ADD: operator.add,
    _MULTIPLY: operator.mul,
    _FLOOR_DIVIDE: operator.floordiv,
    _MODULO: operator.mod,
    _GREATEST: max,
    _LEAST: min,
    _EQUAL: operator.eq,
    _LESS: operator.lt,
}


class Steps:
    """Writes expressions of symbols that inputs' sizes tell."""

    def __init__(self, inputs):
        self.leaves = {}
        self.names = {}
        sizes = [
            (size.node.expr, number, dim, value)
            for number, value in enumerate(inputs)
            for dim, size in enumerate(_shape_of(value.value))
            if isinstance(size, torch.SymInt)
        ]
        for expression, number, dim, value in sizes:
            if expression.is_Symbol and expression not in self.leaves:
                self.leaves[expression] = [(_SIZE, number, dim, 0)]
                shown = value.name if value.is_integer else f"{value.name}.shape[{dim}]"
                self.names[expression] = sympy.Symbol(shown, integer=True)
        for expression, number, dim, value in sizes:
            self._add_multiple(expression, number, dim, value)

    def _add_multiple(self, expression, number, dim, value):
        """Note a symbol by a size that is a multiple of it, and more."""
        if len(expression.free_symbols) != 1:
            return
        (symbol,) = expression.free_symbols
        found = sympy.Poly(expression, symbol) if expression.is_polynomial() else None
        if symbol in self.leaves or found is None or found.degree() != 1:
            return
        factor, offset = map(int, found.all_coeffs())
        self.leaves[symbol] = [
            *[(_SIZE, number, dim, 0), _constant(-offset), _of(_ADD)],
            *[_constant(factor), _of(_FLOOR_DIVIDE)],
        ]
        size = sympy.Symbol(f"{value.name}.shape[{dim}]", integer=True)
        self.names[symbol] = functions.FloorDiv(size - offset, factor)

    def can_write(self, expression):
        """Return whether `of` takes the expression."""
        try:
            self.of(expression)
        except KeyError:
            return False
        return True

    def of(self, expression):
        """Return the steps of an expression; a ``KeyError`` says what has none."""
        if expression.is_Symbol:
            return self.leaves[expression]
        if expression in (sympy.true, sympy.false):
            return [_constant(expression == sympy.true)]
        if expression.is_Integer:
            return [_constant(expression)]
        kind, args = type(expression), expression.args
        if expression.is_Pow and args[1].is_Integer and args[1] > 0:
            kind, args = sympy.Mul, (args[0],) * int(args[1])
        if kind is sympy.Not:
            return self._not(args[0])
        if kind in _TURNED:
            other, is_exchanged = _TURNED[kind]
            args = args[::-1] if is_exchanged else args
            return self._not(other(*args, evaluate=False))
        if kind is sympy.StrictGreaterThan:
            kind, args = sympy.StrictLessThan, args[::-1]
        step = _of(_PAIRS[kind] if kind in _PAIRS else _CHAINS[kind])
        first, *rest = map(self.of, args)
        return functools.reduce(lambda made, one: [*made, *one, step], rest, first)

    def _not(self, condition):
        minus = [_constant(-1), _of(_MULTIPLY)]
        return [_constant(1), *self.of(condition), *minus, _of(_ADD)]

    def text(self, expression):
        """Return an expression as Python has it."""
        return str(expression.xreplace(self.names))


def _of(kind):
    return kind, 0, 0, 0


def _constant(value):
    return _CONSTANT, 0, 0, int(value)


def _shape_of(value):
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)


def evaluate(steps, size_of):
    """Return what steps give; ``size_of`` an input's dimension is a number."""
    stack = []
    for kind, number, dim, constant in steps:
        if kind == _CONSTANT:
            stack.append(constant)
        elif kind == _SIZE:
            stack.append(size_of(number, dim))
        else:
            last = stack.pop()
            stack[-1] = int(_APPLIED[kind](stack[-1], last))
    return stack[0]
