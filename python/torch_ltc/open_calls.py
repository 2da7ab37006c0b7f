# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled calls for sizes that Dynamo leaves open.

A graph whose sizes are all polynomials of its symbols is traced for the sizes of a
first call, and for a few others that Dynamo's guards allow. What these have in common
is compiled once, and serves calls of any size (`ltc_backend/graph/open_call.h`).
"""

import random

import sympy
import torch
from torch import fx

from torch_ltc import host_calls, settings, startup

# Formulas are found from the first half of the traces, and have to agree with the
# rest. With fewer of them a chance may be taken for a formula.
_LEAST_TRACES = 4
_DRAWS = 40


_aten = torch.ops.aten
# Calls that raise for some sizes, and have to be made for each.
_CHECKS = {
    _aten._assert_scalar.default,
    _aten.sym_constrain_range.default,
    _aten.sym_constrain_range_for_size.default,
}


def may_open(gm):
    """Return whether the graph has open sizes, and all that follow are polynomials.

    Of a size such as `max(n, 16)` the traces may show one side alone.
    """
    if settings.dynamic == "off" or not any(map(_symbols_in, _traced_inputs(gm))):
        return False
    return all(
        _is_for_all_sizes(node)
        for module in gm.modules()
        if isinstance(module, fx.GraphModule)
        for node in module.graph.nodes
    )


def _is_for_all_sizes(node):
    if node.target in _CHECKS:
        return False
    value = node.meta.get("val")
    numbers = []
    for part in value if isinstance(value, list | tuple) else [value]:
        if isinstance(part, torch.Tensor):
            # Strides follow: they are max(1, n) where eager's are n.
            numbers += [*part.shape, part.storage_offset()]
        else:
            numbers.append(part)
    return all(_is_polynomial(n.node.expr) for n in numbers if _is_symbolic(n))


def _is_polynomial(expr):
    if expr.is_Pow:
        base, exponent = expr.args
        return exponent.is_Integer and exponent > 0 and _is_polynomial(base)
    if expr.is_Add or expr.is_Mul:
        return all(map(_is_polynomial, expr.args))
    return expr.is_Symbol or expr.is_Integer


def build(gm, args, ordinal, kept_from=None):
    """Return what gives a call for arguments of any sizes; see `host_calls.build`.

    None where each set of sizes needs a graph of its own. Raises a ``RuntimeError``
    if an op needs a value.
    """
    traced = _traced_inputs(gm)
    hints = _hints(traced, args)
    if hints is None:
        return None
    traces = [host_calls.trace(gm, args, ordinal, kept_from)]
    for values in _trials(hints, _shape_environment(traced)):
        likes = [
            _like(value, arg, hints, values)
            for value, arg in zip(traced, args, strict=True)
        ]
        try:
            traces.append(host_calls.trace(gm, likes, ordinal, kept_from))
        except RuntimeError:
            return None  # other calls for other sizes
    if len(traces) < _LEAST_TRACES:
        return None
    return startup.start().open_call(traces)


def _traced_inputs(gm):
    return [node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder")]


def _is_symbolic(value):
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _symbols_in(value):
    """Return the symbolic numbers of an input: itself, or its sizes and strides."""
    if isinstance(value, torch.Tensor):
        return [n for n in (*value.shape, *value.stride()) if _is_symbolic(n)]
    return [value] if _is_symbolic(value) else []


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
        rows.extend((size, known) for size, known in pairs if _is_symbolic(size))
    hints = {
        size.node.expr: int(known) for size, known in rows if size.node.expr.is_Symbol
    }
    for size, known in rows:
        is_told = size.node.expr.free_symbols <= hints.keys()
        if not is_told or _at(size, hints) != known:
            return None
    return hints if all(hint >= 2 for hint in hints.values()) else None


def _at(size, values):
    """Return a number for these values of the symbols."""
    return int(size.node.expr.xreplace(values)) if _is_symbolic(size) else size


def _like(value, arg, hints, values):
    """Return an argument for other values of the symbols, without memory."""
    if not isinstance(value, torch.Tensor):
        return _at(value, values) if _is_symbolic(value) else arg
    shape = [_at(size, values) for size in value.shape]
    if arg.stride() == tuple(_at(stride, hints) for stride in value.stride()):
        strides = [_at(stride, values) for stride in value.stride()]
        return torch.empty_strided(shape, strides, dtype=arg.dtype, device="meta")
    # Saved for backward, in an order of its own.
    order = sorted(range(arg.dim()), key=lambda d: -arg.stride(d))
    back = sorted(range(arg.dim()), key=lambda d: order[d])
    dense = torch.empty([shape[d] for d in order], dtype=arg.dtype, device="meta")
    return dense.permute(back)


def _trials(hints, environment):
    """Return other values of the symbols that the guards allow, as different as can be.

    A guess that breaks a guard would do no harm but to find no formula.
    """
    draw = random.Random(0)
    trials = [hints]
    near = {s: (max(2, n // 2), n + 24) for s, n in hints.items()}
    least = {s: (2, max(4, n // 2)) for s, n in hints.items()}
    far = {s: (n + 1, n + 64) for s, n in hints.items()}
    for spans in (near, near, least, far):
        for number in range(_DRAWS):
            step = 1 << (number // 8)  # a guard may ask for a multiple
            values = {
                symbol: hints[symbol]
                + (draw.randint(*span) - hints[symbol]) // step * step
                for symbol, span in spans.items()
            }
            if _is_new(values, trials) and _allows(environment, values):
                trials.append(values)
                break
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
        guard.expr.xreplace(known) == sympy.false for guard in environment.guards
    )
