# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph of ATen ops in pieces, between which values are read.

`x.item()` and `nonzero` need values before the graph can go on, and so does what raises
by value, as `linalg.inv` does. Collectives are called as in eager, once for each run,
since other ranks count the calls; so are ops that are registered to have effects, and
what resizes storages. What stands between them is compiled. Control flow with such ops
in a branch or a body is cut out in the same way, and its branches and bodies are
compiled by themselves.
"""

import operator

import torch
from torch import fx
from torch._higher_order_ops.effects import with_effects
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from torch_ltc.dynamo import stacked_loops
from torch_ltc.dynamo.control_flow import bodies_of, is_unrolled, structured
from torch_ltc.dynamo.fx_calls import is_view, outputs_of
from torch_ltc.dynamo.traced_numbers import COMPUTED, type_of

_higher_order = torch.ops.higher_order
# Their results have as many rows as a loop had turns.
_OF_ANY_SIZE = {
    getattr(_higher_order, name)
    for name in ("while_loop_stack_output",)
    if hasattr(_higher_order, name)
}
# Frees an argument's memory, or makes it anew, as FSDP2 does.
_RESIZES = "inductor.resize_storage_bytes_.default"
# Other ranks take part in their ops.
_COLLECTIVE = ("c10d", "_c10d_functional", "_c10d_functional_autograd")


def reads_values(node):
    """Return whether the node's call, or the sizes of its results, need values.

    Or whether it is better made apart from the graph, as if it did.
    """
    if node.op != "call_function":
        return False
    if "ltc_reads" in node.meta or node.meta.get("unbacked_bindings"):
        return True
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return not is_unrolled(node) and not _may_be_compiled(node)
    if getattr(node.target, "namespace", None) in _COLLECTIVE:
        return True
    if str(node.target) == _RESIZES:
        return True
    return torch.Tag.data_dependent_output in getattr(node.target, "tags", ())


def _may_be_compiled(node):
    """Return whether a call of a higher-order op may be part of a graph."""
    return (
        "ltc_reads" not in node.meta
        and node.target not in _OF_ANY_SIZE
        and node.target is not with_effects
        and not any(map(_needs_pieces, bodies_of(node)))
    )


def _needs_pieces(body):
    """Return whether a body cannot be a graph in another graph."""
    return isinstance(body, fx.GraphModule) and any(
        map(_needs_values, body.graph.nodes)
    )


def _needs_values(node):
    """Return whether a call in a body needs them, and not numbers alone."""
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return not _may_be_compiled(node)
    return node.target not in COMPUTED and reads_values(node)


def _gives_numbers(node):
    """Return whether only the numbers among the call's results need values.

    Then it is a program, and they are read behind it.
    """
    if not isinstance(node.target, torch._ops.HigherOrderOperator):
        return False
    results = node.meta.get("val")
    return _may_be_compiled(node) and not any(
        free_unbacked_symbols(result)
        for result in (results if isinstance(results, list | tuple) else [results])
        if isinstance(result, torch.Tensor)
    )


def mark_reads(gm, node):
    """Note that calls such as the node's read values; return whether it is the gm's."""
    if node is None or node.graph is not gm.graph or node.op != "call_function":
        return False
    for other in gm.graph.find_nodes(op="call_function", target=node.target):
        other.meta["ltc_reads"] = True
    return True


class Pieces:
    """A graph with nodes that read values.

    ``compiled`` makes a function of lists from a graph without such nodes.
    """

    def __init__(self, gm, compiled):
        self._boxed_call = True
        self.compiled = compiled
        self.gm = gm
        self.placeholders = gm.graph.find_nodes(op="placeholder")
        self.outputs = outputs_of(gm)
        parts = _groups(gm)
        are_read = [
            reads_values(group[0]) and not _gives_numbers(group[0]) for group in parts
        ]
        groups = [
            group if is_read else _with_what_is_made_anew(group)
            for group, is_read in zip(parts, are_read, strict=True)
        ]
        wanted = {node for group in groups for node in _inputs_of(group)}
        wanted.update(node for node in self.outputs if isinstance(node, fx.Node))
        steps = [
            self._read(group) if is_read else self._piece(group, wanted)
            for group, is_read in zip(groups, are_read, strict=True)
        ]
        self.steps = list(zip(steps, self._dead_after(groups), strict=True))

    def _dead_after(self, groups):
        """Return for each group the nodes whose values nothing reads behind it."""
        last = dict.fromkeys(self.placeholders, 0)
        for number, group in enumerate(groups):
            last.update(dict.fromkeys((*group, *_inputs_of(group)), number))
        for node in self.outputs:
            last.pop(node, None)
        dead = [[] for _ in groups]
        for node, number in last.items():
            dead[number].append(node)
        return dead

    def __call__(self, args):
        """Run the pieces in turn."""
        values = dict(zip(self.placeholders, args, strict=True))
        args.clear()  # _boxed_call: what nobody else holds may go
        for step, dead in self.steps:
            step(values)
            for node in dead:
                values.pop(node, None)
        return [values.get(node, node) for node in self.outputs]

    def _piece(self, group, wanted):
        """Return a step that calls what the group is compiled to."""
        graph = fx.Graph()
        copies = {}
        inputs = _inputs_of(group)
        for node in inputs:
            copies[node] = graph.placeholder(node.name)
            copies[node].meta = dict(node.meta)
        for node in group:
            copies[node] = graph.node_copy(node, copies.__getitem__)
            copies[node].meta.pop("unbacked_bindings", None)
        results = [node for node in group if node in wanted]
        graph.output(tuple(copies[node] for node in results))
        call = self.compiled(fx.GraphModule(self.gm, graph))

        def step(values):
            found = call([values[node] for node in inputs])
            for node, value in zip(results, found, strict=True):
                is_number = isinstance(value, torch.Tensor) and type_of(
                    node.meta.get("val")
                )
                values[node] = value.item() if is_number else value

        return step

    def _read(self, group):
        """Return a step that calls the first node, of which the others are parts."""
        first, parts = group[0], group[1:]
        call = self._caller(first)

        def step(values):
            with torch.no_grad():
                values[first] = call(values)
            for part in parts:
                values[part] = values[part.args[0]][part.args[1]]

        return step

    def _caller(self, first):
        """Return what makes the node's call of values by node."""
        if (
            first.target in _OF_ANY_SIZE
            and stacked_loops.takes(first)
            and not any(map(_needs_pieces, bodies_of(first)))
        ):
            return stacked_loops.StackedLoop(first, self.gm, self.compiled)
        bodies = {
            node: self._function(operator.attrgetter(node.target)(self.gm))
            for node in first.all_input_nodes
            if node.op == "get_attr"
        }
        target = first.target
        if isinstance(target, torch._ops.HigherOrderOperator):
            target = structured(first)

        def call(values):
            def value(node):
                return bodies[node] if node in bodies else values[node]

            args, kwargs = fx.map_arg((first.args, first.kwargs), value)
            return target(*args, **kwargs)

        return call

    def _function(self, body):
        if not isinstance(body, fx.GraphModule):
            return body
        graph = fx.Graph()
        results = graph.graph_copy(body.graph, {})
        is_one = isinstance(results, fx.Node)
        graph.output((results,) if is_one else tuple(results))
        call = self.compiled(fx.GraphModule(body, graph))

        def function(*operands):
            found = call(list(operands))
            return found[0] if is_one else tuple(found)

        return function


def _groups(gm):
    """Return the calls in groups: one that reads values, or all until the next one.

    Parts of a result are in the group of the whole.
    """
    groups, home = [], {}
    for node in gm.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is operator.getitem and node.args[0] in home:
            group = home[node.args[0]]
        elif reads_values(node) or not groups or reads_values(groups[-1][0]):
            group = []
            groups.append(group)
        else:
            group = groups[-1]
        group.append(node)
        home[node] = group
    return groups


def _with_what_is_made_anew(group):
    """Return a group with the views of other groups' values that it reads.

    So no piece has two inputs that share memory.
    """
    found = {}

    def add(node):
        for operand in node.all_input_nodes:
            if operand not in found and (operand.op == "get_attr" or is_view(operand)):
                add(operand)
        found[node] = None

    for node in group:
        add(node)
    return list(found)


def _inputs_of(group):
    """Return the nodes whose values come from outside, each once."""
    inside = set(group)
    operands = (operand for node in group for operand in node.all_input_nodes)
    return list(
        dict.fromkeys(
            node for node in operands if node not in inside and node.op != "get_attr"
        )
    )
