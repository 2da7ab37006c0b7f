# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of ATen ops as calls on CPU tensors, which are not copied.

What is done with each argument and result is decided here, once for each set of
sizes; `ltc_backend/graph/built/compiled_call.h` does it.
"""

import torch
from torch import fx

from torch_ltc import startup
from torch_ltc.dynamo.fx_calls import outputs_of, run, source_of


def takes(gm, args, ordinal):
    """Return whether all the graph's tensors are the host's, and the device is.

    And no size of a nested tensor is an argument, which is no number.
    """
    if any(isinstance(arg, torch.SymInt) for arg in args):
        return False
    nodes = [node for node in outputs_of(gm) if isinstance(node, fx.Node)]
    values = [*args, *(node.meta.get("val") for node in nodes)]
    return startup.start().is_host(ordinal) and all(
        value.device.type == "cpu"
        for value in values
        if isinstance(value, torch.Tensor)
    )


def build(gm, args, ordinal, kept_from=None):
    """Return what runs the graph on such arguments, or returns None for others.

    Outputs from the number ``kept_from`` on are seen by no program, and have any
    strides. Raises a ``RuntimeError`` if an op needs a value.
    """
    builder = startup.start().GraphBuilder(ordinal, in_place=True)
    arguments, results = _record(builder, gm, args, kept_from)
    graph = builder.finish(results.values)
    return startup.start().CompiledCall((graph, arguments, results.rows))


def trace(gm, args, ordinal, kept_from=None):
    """Return the same program uncompiled: graph, arguments, results."""
    builder = startup.start().GraphBuilder(ordinal, in_place=True)
    arguments, results = _record(builder, gm, args, kept_from)
    return builder.trace(results.values), arguments, results.rows


def _record(builder, gm, args, kept_from):
    """Make the graph's calls; return rows of its arguments, and its results."""
    placeholders = gm.graph.find_nodes(op="placeholder")
    arguments, stand_ins = [], []
    inputs = 0
    for node, arg in zip(placeholders, args, strict=True):
        if isinstance(arg, torch.Tensor):
            stand_in, copied = _stand_in(builder, arg, node.meta.get("val"))
            arguments.append((arg, inputs, copied))
            inputs += 1
        else:
            stand_in = arg
            arguments.append((arg, None, False))
        stand_ins.append(stand_in)
    given = outputs_of(gm)
    sources = {node: source_of(node) for node in given if isinstance(node, fx.Node)}
    values, kept = run(gm, builder.device, stand_ins, keeping=sources.values())
    results = _Results(placeholders, args)
    for i, (node, value) in enumerate(zip(given, values, strict=True)):
        if isinstance(value, torch.Tensor):
            source = sources[node]
            visible = kept_from is None or i < kept_from
            results.add(node, value, source, kept[source], visible)
        else:
            results.rows.append(("number", value))
    return arguments, results


class _Results:
    """What the graph computes, and where the call's results are in that."""

    def __init__(self, placeholders, args):
        self.arguments = dict(zip(placeholders, args, strict=True))
        self.places = {node: i for i, node in enumerate(placeholders)}
        self.values = []
        self.rows = []
        self.numbers = {}

    def add(self, node, value, source, whole, visible):
        """Add a result, which is of the memory of ``source``, whose value is given."""
        place = self.places.get(source)
        if place is None:
            like = self._layout(source, whole) if visible else whole
            if self._shows_memory(value, whole, like, visible):
                self._add_view(
                    "result",
                    self._memory_of(source, whole, like),
                    value,
                    whole.storage_offset(),
                )
            elif visible and like is not None and node is source:
                number = self._memory_of(source, whole, like)
                self.rows.append(("result", number, *_geometry(like), 0))
            else:
                self.add_own(value)
        elif node is source or node.target is torch.ops.aten.copy_.default:
            self.rows.append(("argument", place))
        elif whole.stride() == self.arguments[source].stride():
            self._add_view("view", place, value, whole.storage_offset())
        else:
            self.add_own(value)

    def _layout(self, source, whole):
        """Return a tensor laid as eager lays the value, or None if it overlaps."""
        traced = source.meta.get("val")
        if isinstance(traced, torch.Tensor) and not _has_symbols(traced):
            whole = torch.empty_strided(traced.shape, traced.stride(), device="meta")
        is_tensor = isinstance(whole, torch.Tensor)
        return whole if is_tensor and not _overlaps(whole) else None

    def _shows_memory(self, value, whole, like, visible):
        """Return whether the result is to have all that it is a view of."""
        if like is None or not isinstance(whole, torch.Tensor):
            return False
        if visible:  # as in eager, strides and all
            return whole.stride() == like.stride()
        return whole.is_contiguous() and value.numel() >= whole.numel()

    def _memory_of(self, node, value, like):
        """Return the number of the node's value, as memory laid as `like` is."""
        key = node, like.stride()
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(_memory(value, like))
        return self.numbers[key]

    def _add_view(self, kind, number, value, start=0):
        offset = value.storage_offset() - start
        self.rows.append((kind, number, *_geometry(value), offset))

    def add_own(self, value):
        strides = torch.empty(value.shape, device="meta").stride()
        self.rows.append(("result", len(self.values), tuple(value.shape), strides, 0))
        self.values.append(value)


def _order(tensor):
    """Return the dimensions in the order of memory, or None if that has gaps."""
    order = sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d))
    return order if tensor.permute(order).is_contiguous() else None


def _geometry(tensor):
    return tuple(tensor.shape), tensor.stride()


def _has_symbols(tensor):
    return not all(isinstance(n, int) for n in (*tensor.shape, *tensor.stride()))


def _overlaps(tensor):
    """Return whether elements may share a place."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def _memory(value, like):
    """Return the value's elements in the order of a memory laid as `like` is."""
    if value.is_contiguous() and like.is_contiguous():
        return value
    order = _order(like)
    if order is not None:
        return value.permute(order)
    shape, strides = _geometry(like)
    reach = 1 + sum((n - 1) * by for n, by in zip(shape, strides, strict=True))
    return value.new_zeros(reach).as_strided_scatter(value, shape, strides, 0)


def _stand_in(builder, arg, traced):
    """Return a tensor of the builder's for an argument, and whether that is copied."""
    like = torch.empty_strided(arg.shape, arg.stride(), dtype=arg.dtype, device="meta")
    if arg.is_conj() or arg.is_neg():
        return builder.input(like), True
    if like.is_contiguous():
        return builder.input(_laid(like, traced)), False
    repeated = [d for d in range(like.dim()) if like.stride(d) == 0]
    once = like
    for d in repeated:
        once = once.narrow(d, 0, min(1, like.shape[d]))
    order = _order(once)
    if order is None:
        return builder.input(like), True
    memory = builder.input(torch.empty_like(once.permute(order)))
    back = sorted(range(like.dim()), key=lambda d: order[d])
    return memory.permute(back).expand(arg.shape), False


def _laid(like, traced):
    """Return `like` with strides in the order that the graph was traced with.

    Values that are only saved for backward have any, and views of them count on it.
    """
    if not isinstance(traced, torch.Tensor) or traced.dim() != like.dim():
        return like
    hints = [_hint(stride) for stride in traced.stride()]
    order = sorted(range(like.dim()), key=lambda d: -hints[d])
    if order == list(range(like.dim())) or 0 in hints:
        return like
    back = sorted(range(like.dim()), key=lambda d: order[d])
    return torch.empty_like(
        like.permute(order), memory_format=torch.contiguous_format
    ).permute(back)


def _hint(size):
    return size if isinstance(size, int) else size.node.hint or 1
