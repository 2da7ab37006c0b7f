# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calls of an FX graph, made on one lazy device."""

import functools
import operator
import os
import re
import sys
import types
import warnings

import torch
from torch import fx

from torch_ltc import errors
from torch_ltc.dynamo.control_flow import Body, bodies_of, stacked_turns, structured
from torch_ltc.dynamo.quantized_calls import as_aten
from torch_ltc.dynamo.traced_numbers import (
    Check,
    WithNumbers,
    checked,
    takes_numbers,
)

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


_TORCH = os.path.dirname(torch.__file__) + os.sep


def _place_in(stack_trace):
    """Return (file, line, function) of the innermost frame, or None.

    A frame of PyTorch's own modules counts where there is none of the user's.
    """
    places = _FRAME.findall(stack_trace or "")
    own = [place for place in places if not place[0].startswith(_TORCH)]
    return (own or places or [None])[-1]


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


def error_at(node, message, hint, kind="unsupported"):
    """Return the exception for a node that cannot be carried, with its line."""
    place = _place_in(node.meta.get("stack_trace")) or ("", 0, "")
    source = place[0], int(place[1]), place[2]
    text = message + (f"; met at {source[0]}:{source[1]}" if source[0] else "")
    return errors.make(
        kind,
        "record",
        str(node.target),
        source,
        message,
        hint,
        f"{text}\n  try          {hint}",
    )


def run(gm, device, args, keeping=()):
    """Make the graph's calls on one lazy device.

    Returns its outputs, and the values of the nodes in ``keeping``.
    """
    # Of the graph's meta, since a graph with open sizes is run for each set of them.
    calls = gm.meta.get("ltc_calls")
    if calls is None or calls.gm is not gm or calls.graph is not gm.graph:
        calls = gm.meta["ltc_calls"] = _Calls(gm)
    return calls.make(device, args, keeping)


class _Calls:
    """A graph's calls, ready to be made. Less work than fx.Interpreter's.

    None in a copy of the graph module: the copy has nodes of its own.
    """

    def __init__(self, gm):
        self.gm = gm
        self.graph = gm.graph
        self.placeholders = gm.graph.find_nodes(op="placeholder")
        self.attributes = gm.graph.find_nodes(op="get_attr")
        self.outputs = outputs_of(gm)
        last_user = {}
        for node in gm.graph.nodes:
            last_user.update(dict.fromkeys(node.all_input_nodes, node))
        dead = {}
        for node, user in last_user.items():
            dead.setdefault(user, []).append(node)
        self.steps = [
            (node, *_how(node), _names_device(node), dead.get(node, ()))
            for node in gm.graph.nodes
            if node.op == "call_function"
        ]

    def __deepcopy__(self, _):
        return None

    def __reduce__(self):
        return type(None), ()

    def make(self, device, args, keeping):
        """See run()."""
        kept = dict.fromkeys(keeping)
        values = dict(zip(self.placeholders, args, strict=True))
        for node in self.attributes:
            values[node] = self._attribute(node, device)
        kept.update((node, values[node]) for node in keeping if node in values)
        fetch = values.__getitem__
        checks = []
        for node, call, target, names_device, dead in self.steps:
            arguments, options = node.args, node.kwargs
            try:
                arguments = fx.map_arg(arguments, fetch)
                if options:
                    options = fx.map_arg(options, fetch)
                if names_device:
                    arguments, options = _moved(arguments, options, device)
                value = call(target, arguments, options)
            except Exception as error:
                # Of a body, the call that runs it.
                error.ltc_node = node
                raise
            values[node] = value
            if isinstance(value, Check):
                checks.append(value)
            if node in kept:
                kept[node] = value
            for operand in dead:
                del values[operand]
        outputs = fx.map_arg(self.outputs, fetch)
        if checks:
            outputs = checked(outputs, checks)
        # vmap() tells FX's lists from others.
        return [*outputs] if isinstance(outputs, list) else outputs, kept

    def _attribute(self, node, device):
        value = operator.attrgetter(node.target)(self.gm)
        if isinstance(value, fx.GraphModule):
            return Body(value, device, run)
        return value.to(device) if isinstance(value, torch.Tensor) else value


def _how(node):
    """Return what makes the node's call from its line, and what is called."""
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        target = structured(node)
    elif takes_numbers(node):
        target = WithNumbers(node)
    else:
        target = as_aten(target)
    return _call_at(node.meta.get("stack_trace")), target


def _names_device(node):
    arguments = (*node.args, *node.kwargs.values())
    return any(isinstance(argument, torch.device) for argument in arguments)


def _moved(arguments, options, device):
    def move(value):
        is_device = isinstance(value, torch.device) and value.type in OURS
        return device if is_device else value

    return [*map(move, arguments)], {name: move(v) for name, v in options.items()}


def _maker_of(node):
    """Return the call that the node is the result of, or one of the results."""
    if node.target is operator.getitem and node.args[0].op == "call_function":
        return node.args[0]
    return node


def is_view(node):
    """Return whether the node is a call, and its value in an operand's memory."""
    if node.op != "call_function":
        return False
    return getattr(_maker_of(node).target, "is_view", False)


def source_of(node):
    """Return the node whose memory the node's value is in: itself, if not a view.

    None but one whose elements are those of the value.
    """
    while node.op == "call_function":
        made = _maker_of(node)
        same = is_view(node) and made.target not in _OTHER_ELEMENTS
        if not (same or made.target is _aten.copy_.default):
            break
        node = made.args[0]
    return node


def outputs_of(gm):
    """Return what the graph returns: nodes and constants."""
    (output,) = gm.graph.find_nodes(op="output")
    return output.args[0]


def written_inputs(gm):
    """Return the inputs that the graph writes to."""
    copies = gm.graph.find_nodes(op="call_function", target=_aten.copy_.default)
    return {node.args[0] for node in copies}


def is_drawn(node):
    """Return whether the node's value is random, or part of one that is."""
    if node.target is operator.getitem:
        return is_drawn(node.args[0])
    is_loop = node.target is stacked_turns
    if is_loop or isinstance(node.target, torch._ops.HigherOrderOperator):
        return any(map(draws, bodies_of(node)))
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def draws(gm):
    """Return whether a graph's calls, or those of their bodies, are random."""
    return isinstance(gm, fx.GraphModule) and any(map(is_drawn, gm.graph.nodes))
