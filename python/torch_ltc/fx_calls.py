# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calls of an FX graph, made on one lazy device."""

import functools
import operator
import re
import sys
import types
import warnings

import torch
from torch import fx
from torch._C import DispatchKey
from torch.utils import _pytree as pytree

OURS = ("cpu", "lazy")
_FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)')
_aten = torch.ops.aten
# Their results have other elements than their operands, though the same memory.
_OTHER_ELEMENTS = (
    _aten.view.dtype,
    _aten.view_as_real.default,
    _aten.view_as_complex.default,
    _aten._conj.default,
    _aten._neg_view.default,
)


def _call(function, args, kwargs):
    return function(*args, **kwargs)


@functools.lru_cache(maxsize=4096)
def _call_from(file, line, name):
    """Return a function that calls another one from that line of the user's.

    What is recorded has the line of the innermost frame that is not a library's.
    """
    place = {"co_filename": file, "co_firstlineno": int(line) - 1, "co_name": name}
    if sys.version_info >= (3, 11):
        place["co_qualname"] = name
    code = _call.__code__.replace(**place)
    return types.FunctionType(code, globals())


def _place_in(stack_trace):
    """Return (file, line, function) of the innermost frame, or None."""
    places = _FRAME.findall(stack_trace or "")
    return places[-1] if places else None


@functools.lru_cache(maxsize=4096)
def _call_at(stack_trace):
    place = _place_in(stack_trace)
    return _call_from(*place) if place else _call


def warn_at(error, message):
    """Warn at the user's line of the node whose call raised, and name its op."""
    node = getattr(error, "ltc_node", None)
    place = node and _place_in(node.meta.get("stack_trace"))
    if node:
        message += f" ({node.target})"
    if place:
        warnings.warn_explicit(message, UserWarning, place[0], int(place[1]))
    else:
        warnings.warn(message, stacklevel=3)


def _names_device(node):
    """Return whether a device is among the node's arguments; looks once."""
    if "ltc_device" not in node.meta:
        leaves = pytree.tree_leaves((node.args, node.kwargs))
        node.meta["ltc_device"] = any(isinstance(x, torch.device) for x in leaves)
    return node.meta["ltc_device"]


def run(gm, device, args, keeping=()):
    """Make the graph's calls on one lazy device.

    Returns its outputs, and the values of the nodes in ``keeping``.
    """
    calls = _OnDevice(gm, device, keeping)
    return calls.run(*args), calls.kept


class _OnDevice(fx.Interpreter):
    def __init__(self, gm, device, keeping):
        super().__init__(gm)
        self.device = device
        self.kept = dict.fromkeys(keeping)

    def fetch_args_kwargs_from_env(self, node):
        found = super().fetch_args_kwargs_from_env(node)
        return pytree.tree_map(self.move, found) if _names_device(node) else found

    def move(self, value):
        is_device = isinstance(value, torch.device) and value.type in OURS
        return self.device if is_device else value

    def call_function(self, target, args, kwargs):
        if isinstance(target, torch._ops.HigherOrderOperator):
            target = _STRUCTURED.get(target) or _on_tensors(target)
        return self.call(target, args, kwargs)

    def run_node(self, node):
        self.call = _call_at(node.meta.get("stack_trace"))
        try:
            value = super().run_node(node)
        except RuntimeError as error:
            error.ltc_node = getattr(error, "ltc_node", node)
            raise
        if node in self.kept:
            self.kept[node] = value
        return value

    def fetch_attr(self, target):
        value = super().fetch_attr(target)
        if isinstance(value, fx.GraphModule):
            return lambda *operands: run(value, self.device, operands)[0]
        return value.to(self.device) if isinstance(value, torch.Tensor) else value


def _on_tensors(target):
    """Return what a higher-order op does with tensors that have values."""
    return target.py_kernels.get(DispatchKey.CompositeExplicitAutograd, target)


def _cond(condition, then, otherwise, operands):
    return then(*operands) if condition.item() else otherwise(*operands)


def _while_loop(goes_on, body, carried, rest):
    while goes_on(*carried, *rest).item():
        carried = body(*carried, *rest)
    return carried


def _scan(combine, carried, columns, rest):
    rows = []
    for i in range(columns[0].shape[0]):
        results = combine(*carried, *(column[i] for column in columns), *rest)
        carried, row = results[: len(carried)], results[len(carried) :]
        rows.append(row)
    return (*carried, *map(torch.stack, zip(*rows, strict=True)))


def _invoke_subgraph(body, _identifier, *operands):
    return body(*operands)


_STRUCTURED = {
    torch.ops.higher_order.invoke_subgraph: _invoke_subgraph,
    torch.ops.higher_order.cond: _cond,
    torch.ops.higher_order.while_loop: _while_loop,
    torch.ops.higher_order.scan: _scan,
}


def source_of(node):
    """Return the node whose memory the node's value is in: itself, if not a view."""
    while node.op == "call_function":
        target, made = node.target, node
        if target is operator.getitem and node.args[0].op == "call_function":
            made = node.args[0]
            target = made.target
        is_view = getattr(target, "is_view", False) and target not in _OTHER_ELEMENTS
        if not (is_view or target is _aten.copy_.default):
            break
        node = made.args[0]
    return node


def outputs_of(gm):
    """Return what the graph returns: nodes and constants."""
    (output,) = gm.graph.find_nodes(op="output")
    return output.args[0]


def is_drawn(node):
    """Return whether the node's value is random, or part of one that is."""
    if node.target is operator.getitem:
        return is_drawn(node.args[0])
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
