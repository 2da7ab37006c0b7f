# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled calls for sizes that Dynamo leaves open.

A graph is traced for the sizes of a first call, and for a few others that Dynamo's
guards allow. What these have in common is compiled once, and serves calls of any size
(`ltc_backend/graph/built/open_call.h`).
"""

import random

import sympy
import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.symbol import SymT, symbol_is_type

from torch_ltc import settings, startup
from torch_ltc.dynamo import derived_sizes, host_calls
from torch_ltc.dynamo.derived_sizes import is_symbolic

# Formulas are found from the first half of the traces, and have to agree with the
# rest. With fewer of them a chance may be taken for a formula.
_LEAST_TRACES = 4
_DRAWS = 64
# The best of these is taken where sizes are derived.
_CHOICES = 8


_aten = torch.ops.aten
# Calls that raise for some sizes, and have to be made for each.
_CHECKS = {
    _aten._assert_scalar.default,
    _aten.sym_constrain_range.default,
    _aten.sym_constrain_range_for_size.default,
}


def may_open(gm):
    """Return whether the graph has open sizes, and all numbers follow from them.

    All but those that a loop computes, which are tensors.
    """
    traced = _traced_inputs(gm)
    if settings.dynamic == "off" or not any(map(_symbols_in, traced)):
        return False
    return not any(map(_checks_sizes, derived_sizes.nodes_of(gm))) and (
        derived_sizes.are_known(_told(gm, _symbols_of(traced)))
    )


def _checks_sizes(node):
    """Return whether the call raises for some sizes, and not for what a loop does."""
    if node.target not in _CHECKS or not isinstance(node.args[0], fx.Node):
        return False
    value = node.args[0].meta.get("val")
    return is_symbolic(value) and not free_unbacked_symbols(value)


def _symbols_of(traced):
    numbers = [number for value in traced for number in _symbols_in(value)]
    return {symbol for number in numbers for symbol in number.node.expr.free_symbols}


def _told(gm, symbols):
    """Return the expressions in a graph that inputs tell."""
    return [e for e in derived_sizes.expressions_in(gm) if e.free_symbols <= symbols]


def build(gm, args, ordinal, kept_from=None):
    """Return what gives a call for arguments of any sizes; see `host_calls.build`.

    None where each set of sizes needs a graph of its own. Raises a ``RuntimeError``
    if an op needs a value.
    """
    traced = _traced_inputs(gm)
    hints = _hints(traced, args)
    if hints is None:
        return None
    symbols = list(hints)
    if not _symbols_of(traced) <= hints.keys():
        return None
    derived = derived_sizes.DerivedSizes(symbols, _told(gm, hints.keys()))

    def pair(program, values):
        return program, derived.at([values[symbol] for symbol in symbols])

    traces = [pair(host_calls.trace(gm, args, ordinal, kept_from), hints)]
    for values in _trials(hints, _shape_environment(traced), derived):
        likes = [
            _like(value, arg, hints, values)
            for value, arg in zip(traced, args, strict=True)
        ]
        try:
            program = host_calls.trace(gm, likes, ordinal, kept_from)
        except (RuntimeError, IndexError, ValueError):
            return None  # other calls for other sizes
        traces.append(pair(program, values))
    if len(traces) < _LEAST_TRACES:
        return None
    call = startup.start().open_call(traces)
    return call and _OpenCall(call, derived, _places_of(symbols, traced))


class _OpenCall:
    """Calls for sizes that vary, and the numbers that they are derived from."""

    def __init__(self, call, derived, places):
        self.call = call
        self.derived = derived
        self.places = places

    def at(self, args):
        """Return the call for such arguments, or None."""
        if not self.derived:
            return self.call.at(args, [])
        values = []
        for i, dim in self.places:
            is_tensor = isinstance(args[i], torch.Tensor)
            values.append(args[i].shape[dim] if is_tensor else int(args[i]))
        return self.call.at(args, self.derived.at(values))


def _places_of(symbols, traced):
    """Return for each symbol an input, and a dimension, that it is the size of."""
    places = {}
    for i, value in enumerate(traced):
        is_tensor = isinstance(value, torch.Tensor)
        for dim, size in enumerate(value.shape if is_tensor else [value]):
            if is_symbolic(size) and size.node.expr in symbols:
                places.setdefault(size.node.expr, (i, dim))
    return [places[symbol] for symbol in symbols]


def _traced_inputs(gm):
    return [node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder")]


def _symbols_in(value):
    """Return the symbolic numbers of an input: itself, or its sizes and strides."""
    if isinstance(value, torch.Tensor):
        return [n for n in (*value.shape, *value.stride()) if is_symbolic(n)]
    return [value] if is_symbolic(value) else []


def _shape_environment(traced):
    return next(n for value in traced for n in _symbols_in(value)).node.shape_env


def _hints(traced, args):
    """Return the symbols' values for these arguments.

    None if the arguments do not tell them, or are not as they were traced.
    """
    rows = []
    for value, arg in zip(traced, args, strict=True):
        is_tensor = isinstance(value, torch.Tensor)
        pairs = (
            zip(value.shape, arg.shape, strict=True) if is_tensor else [(value, arg)]
        )
        rows.extend((size, known) for size, known in pairs if is_symbolic(size))
    if any(map(is_symbolic, (known for _, known in rows))):
        return None  # of a nested tensor's rows
    hints = {
        size.node.expr: int(known) for size, known in rows if size.node.expr.is_Symbol
    }
    for size, known in rows:
        is_told = size.node.expr.free_symbols <= hints.keys()
        if not is_told or _at(size, hints) != known:
            return None
    is_open = all(hint >= 2 or _is_carried(symbol) for symbol, hint in hints.items())
    return hints if is_open else None


def _is_carried(symbol):
    """Return whether a symbol is a number that a loop came to, and no size."""
    return symbol_is_type(symbol, SymT.UNBACKED_INT)


def _at(size, values):
    """Return a number for these values of the symbols."""
    return int(size.node.expr.xreplace(values)) if is_symbolic(size) else size


def _like(value, arg, hints, values):
    """Return an argument for other values of the symbols, without memory."""
    if not isinstance(value, torch.Tensor):
        return _at(value, values) if is_symbolic(value) else arg
    shape = [_at(size, values) for size in value.shape]
    if arg.stride() == tuple(_at(stride, hints) for stride in value.stride()):
        strides = [_at(stride, values) for stride in value.stride()]
        return torch.empty_strided(shape, strides, dtype=arg.dtype, device="meta")
    # Saved for backward, in an order of its own.
    order = sorted(range(arg.dim()), key=lambda d: -arg.stride(d))
    back = sorted(range(arg.dim()), key=lambda d: order[d])
    dense = torch.empty([shape[d] for d in order], dtype=arg.dtype, device="meta")
    return dense.permute(back)


def _trials(hints, environment, derived):
    """Return other values of the symbols that the guards allow, as different as can be.

    A guess that breaks a guard would do no harm but to find no formula.
    """
    draw = random.Random(0)
    trials = [hints]
    near = {s: (max(2, n // 2), n + 24) for s, n in hints.items()}
    least = {s: (2, max(4, n // 2)) for s, n in hints.items()}
    far = {s: (n + 1, n + 64) for s, n in hints.items()}
    for spans in (near, near, least, far):
        drawn = []
        for number in range(_DRAWS):
            step = 1 << (number // 16)  # a guard may ask for a multiple
            values = {
                symbol: hints[symbol]
                + (draw.randint(*span) - hints[symbol]) // step * step
                for symbol, span in spans.items()
            }
            if _is_new(values, trials) and _allows(environment, values):
                drawn.append(values)
                if not derived or len(drawn) == _CHOICES:
                    break
        if drawn:
            trials.append(derived.most_telling(trials, drawn))
    return trials[1:]


def _is_new(values, trials):
    """Return whether no two symbols are equal, and none is as before."""
    used = {(symbol, size) for trial in trials for symbol, size in trial.items()}
    return (
        len({*values.values()}) == len(values)
        and all(size >= 2 for size in values.values())
        and used.isdisjoint(values.items())
    )


def _allows(environment, values):
    for symbol, size in values.items():
        within = environment.var_to_range.get(symbol)
        if within is not None and not within.lower <= size <= within.upper:
            return False
    known = {symbol: sympy.Integer(size) for symbol, size in values.items()}
    return not any(
        condition.xreplace(known) == sympy.false
        for condition in derived_sizes.conditions_of(environment)
    )
