# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Higher-order ops: control flow as part of a graph, or call by call.

Where a graph is built, `cond` and `while_loop` are one call each, whose branches and
bodies are graphs of their own (`ltc_backend/record/ops/region_call.h`). `scan` and
`map` are loops through their rows, or have a copy of the body for each of a few.
"""

import functools
import operator

import torch
from torch._C import DispatchKey
from torch._higher_order_ops.base_hop import BaseHOP

from torch_ltc import startup
from torch_ltc.dynamo.traced_numbers import is_number, tensor_of

_higher_order = torch.ops.higher_order
# Loops through rows, whose first argument is the body, and the places of their columns.
_COLUMNS = {_higher_order.scan: 2, _higher_order.map_impl: 1}
# Calls of a loop that are part of the graph around it. So many are compiled in a
# second or two, as benchmarks/growth.py has it.
_MOST_UNROLLED = 1000
# How a graph refuses what it holds no control flow for (region_call.cpp).
REFUSED = "control flow is no part of a graph"


class Body:
    """A function of a higher-order op: calls to be made on one lazy device."""

    def __init__(self, gm, device, run):
        self.gm = gm
        self.device = device
        self.run = run

    def __call__(self, *operands):
        """Make the calls."""
        return self.on(self.device, operands)

    def on(self, device, operands):
        """Make the calls on another device."""
        return self.run(self.gm, device, operands)[0]


def structured(node):
    """Return what a call of a higher-order op does, in calls of ops and functions."""
    target = node.target
    if target in _COLUMNS and _rows_of(node) is None:
        return functools.partial(_STRUCTURED[target], is_open=True)
    if target in _STRUCTURED:
        return _STRUCTURED[target]
    return _body if isinstance(target, BaseHOP) else _call_by_call(target)


def _call_by_call(target):
    return target.py_kernels.get(DispatchKey.CompositeExplicitAutograd, target)


def bodies_of(node):
    """Return the graphs that a call of a higher-order op runs."""
    return [
        operator.attrgetter(operand.target)(node.graph.owning_module)
        for operand in node.all_input_nodes
        if operand.op == "get_attr"
    ]


def is_unrolled(node):
    """Return whether the call is a loop with a copy of the body for each row."""
    if node.target not in _COLUMNS:
        return False
    rows = _rows_of(node)
    return rows is not None and _is_short(rows, bodies_of(node)[0])


def _rows_of(node):
    """Return how many rows a loop goes through, or None if that is open."""
    column = node.args[_COLUMNS[node.target]][0].meta.get("val")
    rows = column.shape[0] if isinstance(column, torch.Tensor) else None
    return rows if isinstance(rows, int) else None


def _is_short(turns, gm):
    calls = sum(node.op == "call_function" for node in gm.graph.nodes)
    return turns * calls <= _MOST_UNROLLED


def _is_built(body):
    """Return whether the calls are part of a graph that is being built."""
    if not isinstance(body, Body):
        return False
    index = body.device.index
    return startup.start().home_of(index) != index


def _tensors(operands):
    return [operand for operand in operands if isinstance(operand, torch.Tensor)]


def _all_tensors(values, device):
    return [tensor_of(v, device) if is_number(v) else v for v in values]


def _trace(function, device, operands):
    """Return the graph of a function of a device and operands, and its results."""
    c = startup.start()
    builder = c.GraphBuilder(c.home_of(device.index))
    stand_ins = [
        builder.input(torch.empty_like(operand, device="meta"))
        if isinstance(operand, torch.Tensor)
        else operand
        for operand in operands
    ]
    results = function(builder.device, stand_ins)
    if isinstance(results, torch.Tensor) or is_number(results):
        results = [results]
    results = _all_tensors(results, builder.device)
    return builder.trace(results), results


def _cond(condition, then, otherwise, operands=()):
    if not isinstance(condition, torch.Tensor) or not _is_built(then):
        return then(*operands) if condition else otherwise(*operands)
    graphs = [_trace(body.on, body.device, operands)[0] for body in (then, otherwise)]
    return startup.start().record_cond(condition, _tensors(operands), *graphs)


def _while_loop(condition, body, carried, additional=(), *more):
    if not _is_built(body):
        by_turns = _call_by_call(_higher_order.while_loop)
        return by_turns(condition, body, tuple(carried), tuple(additional), *more)
    return _loop(condition.on, body.on, body.device, carried, additional)


def stacked_turns(condition, body, carried, additional, turns):
    """Make so many turns at most, and keep what each of them carries on.

    Returns whether the loop goes on, how many turns were made, the last values, and
    those of all turns.
    """
    make = _stacked_in_graph if _is_built(body) else _stacked_by_turns
    return make(condition, body, [*carried], [*additional], turns)


def _stacked_in_graph(condition, body, carried, additional, turns):
    count, device = len(carried), body.device
    index = torch.zeros(1, dtype=torch.int64, device=device)
    rows = [
        torch.zeros((turns, *value.shape), dtype=value.dtype, device=device)
        for value in carried
    ]

    def is_on(device, values):
        found = condition.on(device, values)
        found = found[0] if isinstance(found, list | tuple) else found
        return _all_tensors([found], device)[0].reshape(())

    def goes_on(device, values):
        now, more = values[1 : 1 + count], values[1 + 2 * count :]
        return [(values[0] < turns).reshape(()) & is_on(device, (*now, *more))]

    def turn(device, values):
        index, now, before = values[0], values[1 : 1 + count], values[1 + count :]
        results = body.on(device, (*now, *before[count:]))
        kept = [
            whole.index_copy(0, index, row.unsqueeze(0))
            for whole, row in zip(before, results, strict=False)
        ]
        return [index + 1, *results, *kept]

    found = _loop(goes_on, turn, device, (index, *carried, *rows), additional)
    last = is_on(device, (*found[1 : 1 + count], *additional))
    return [last, *found]


def _stacked_by_turns(condition, body, carried, additional, turns):
    rows = [[] for _ in carried]
    made = 0
    while (goes_on := bool(condition(*carried, *additional))) and made < turns:
        carried = [*body(*carried, *additional)]
        for row, value in zip(rows, carried, strict=True):
            row.append(value)
        made += 1
    empty = [value.new_empty((0, *value.shape)) for value in carried]
    whole = [
        torch.stack(row) if row else none for row, none in zip(rows, empty, strict=True)
    ]
    return [goes_on, made, *carried, *whole]


def _loop(condition, body, device, carried, additional):
    carried = _all_tensors(carried, device)
    operands = (*carried, *additional)
    graphs = [_trace(function, device, operands)[0] for function in (condition, body)]
    return startup.start().record_while_loop(carried, _tensors(additional), *graphs)


def _map(body, columns, rest, *, is_open=False):
    return _scan(body, (), columns, rest, is_open=is_open)


def _scan(body, carried, columns, rest=(), *, is_open=False):
    turns = columns[0].shape[0]
    if _is_built(body) and (is_open or not _is_short(turns, body.gm)):
        return _scan_by_loop(body, carried, columns, rest)
    rows = []
    for i in range(turns):
        results = body(*carried, *(column[i] for column in columns), *rest)
        carried, row = results[: len(carried)], results[len(carried) :]
        rows.append(row)
    return (*carried, *map(torch.stack, zip(*rows, strict=True)))


def _scan_by_loop(body, carried, columns, rest):
    turns, count, width = columns[0].shape[0], len(carried), len(columns)
    device = body.device
    first = (*carried, *(column[0] for column in columns), *rest)
    _, like = _trace(body.on, device, first)
    made = [
        torch.zeros((turns, *row.shape), dtype=row.dtype, device=device)
        for row in like[count:]
    ]
    index = torch.zeros(1, dtype=torch.int64, device=device)

    def goes_on(_, values):
        return [values[0] < turns]

    def turn(device, values):
        values = iter(values)

        def take(n):
            return [next(values) for _ in range(n)]

        (index,), before, made_before = take(1), take(count), take(len(made))
        rows = [column.index_select(0, index).squeeze(0) for column in take(width)]
        results = body.on(device, (*before, *rows, *values))
        made_now = [
            whole.index_copy(0, index, row.unsqueeze(0))
            for whole, row in zip(made_before, results[count:], strict=True)
        ]
        return [index + 1, *results[:count], *made_now]

    found = _loop(goes_on, turn, device, (index, *carried, *made), (*columns, *rest))
    return tuple(found[1:])


def _body(body, *operands, **_):
    """Make the calls of what only marks them, such as ``invoke_quant``."""
    return body(*operands)


def _invoke_subgraph(body, _identifier, *operands):
    return body(*operands)


_STRUCTURED = {
    _higher_order.cond: _cond,
    _higher_order.while_loop: _while_loop,
    _higher_order.scan: _scan,
    _higher_order.map_impl: _map,
    _higher_order.invoke_subgraph: _invoke_subgraph,
}
