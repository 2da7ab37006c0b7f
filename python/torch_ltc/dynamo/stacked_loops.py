# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that keep the values of all turns: `while_loop` in training.

How many turns there are is known behind the loop. So it is a program that makes so
many at most, and writes what they carry into rows of that many. Where they are too
few, the program runs once more, from the last values on, with more of them.
"""

import operator

import torch
from torch import fx

from torch_ltc.dynamo.control_flow import stacked_turns
from torch_ltc.dynamo.traced_numbers import type_of

# In the first call; later ones begin with what the last one came to.
_FEW_TURNS = 32
_GROWTH = 4


def takes(node):
    """Return whether the loop carries tensors alone."""
    _, _, carried, *_ = node.args
    return all(
        isinstance(operand, fx.Node) and not type_of(operand.meta.get("val"))
        for operand in carried
    )


class StackedLoop:
    """A call of `while_loop_stack_output`, compiled.

    ``compiled`` makes a function of lists from a graph.
    """

    def __init__(self, node, gm, compiled):
        _, _, carried, *additional = node.args
        self.operands = [*carried, *(additional[0] if additional else ())]
        self.count = len(carried)
        self.turns = _FEW_TURNS
        self.call = compiled(_program(node, gm))

    def __call__(self, values):
        """Return what the call returns: the rows of each of what is carried."""
        operands = [values.get(operand, operand) for operand in self.operands]
        carried, rest = operands[: self.count], operands[self.count :]
        parts, turns = [], self.turns
        while True:
            goes_on, made, *results = self.call([turns, *carried, *rest])
            made = int(made)
            rows = results[self.count :]
            parts.append([whole.narrow(0, 0, made) for whole in rows])
            if not goes_on:
                break
            carried = results[: self.count]
            turns *= _GROWTH
        self.turns = max(self.turns, turns)
        if not made and len(parts) == 1:
            return tuple(value.unsqueeze(0).clone() for value in carried)
        if len(parts) == 1:
            return tuple(parts[0])
        return tuple(map(torch.cat, zip(*parts, strict=True)))


def _program(node, gm):
    """Return the graph of the loop, which takes the number of turns as well."""
    graph = fx.Graph()
    condition, body, carried, *additional = node.args

    def copy(operand, number):
        if not isinstance(operand, fx.Node):
            return operand
        copied = graph.placeholder(f"operand_{number}")
        copied.meta = dict(operand.meta)
        return copied

    turns = graph.placeholder("turns")
    turns.meta["val"] = _FEW_TURNS
    operands = [*carried, *(additional[0] if additional else ())]
    operands = [copy(operand, number) for number, operand in enumerate(operands)]
    bodies = [graph.get_attr(function.target) for function in (condition, body)]
    count = len(carried)
    call = graph.call_function(
        stacked_turns, (*bodies, operands[:count], operands[count:], turns)
    )
    call.meta["stack_trace"] = node.meta.get("stack_trace")
    results = range(2 + 2 * count)
    graph.output([graph.call_function(operator.getitem, (call, i)) for i in results])
    return fx.GraphModule(gm, graph)
