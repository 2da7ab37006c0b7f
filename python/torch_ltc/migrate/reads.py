# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which expressions read a tensor's value, and which loops train."""

import ast
import re

from torch_ltc.migrate import rules
from torch_ltc.migrate.names import is_text

# Objects whose step() ends a step of training: not a schedule's, nor a game's.
_OPTIMIZER = re.compile(r"opt|scaler|accel|adam|sgd", re.IGNORECASE)
_CONVERSIONS = ("float", "int", "bool", "print", "str")
_KEEPS = ("append", "extend", "add", "insert", "setdefault")


def method(node):
    """Return the name of the method that a node calls, or None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr
    return None


def is_of_torch(node, names):
    """Whether what an expression begins with may be a tensor: not numpy's, say."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=inner):
                node = inner
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case _:
                return True
    full = names.full(node)
    return full is None or full.partition(".")[0] == "torch"


def losses_of(tree, names):
    """Return (scope, name) of variables that are tensors: backward() begins there."""
    return {
        (names.scope_of(node), node.func.value.id)
        for node in ast.walk(tree)
        if method(node) == "backward" and isinstance(node.func.value, ast.Name)
    }


def is_loss(node, names, losses):
    """Whether a node is a variable of `losses`."""
    return isinstance(node, ast.Name) and (names.scope_of(node), node.id) in losses


def reads(node, names, losses):
    """Whether a node reads a value, which waits for the device."""
    if isinstance(node, ast.FormattedValue):
        return is_loss(node.value, names, losses)
    name = method(node)
    if name in rules.READS and not node.args:
        return is_of_torch(node, names)
    if name == "to":
        return bool(node.args) and is_text(node.args[0]) and node.args[0].value == "cpu"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        is_conversion = node.func.id in _CONVERSIONS
        return is_conversion and any(is_loss(a, names, losses) for a in node.args)
    return False


def decides(node, names, losses):
    """Whether a node in a condition reads a value."""
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        is_same = all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        return not is_same and any(is_loss(side, names, losses) for side in sides)
    if reads(node, names, losses):
        return True
    return method(node) in rules.REDUCTIONS and is_of_torch(node, names)


def ends_step(node):
    """Whether a loop or a function trains: goes backward, or ends a step.

    Loops inside count for themselves: what stands around them is between steps.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.For | ast.AsyncFor | ast.While | ast.FunctionDef):
            continue
        name = method(child)
        if name in ("backward", "mark_step", "optimizer_step"):
            return True
        if name == "step" and _OPTIMIZER.search(ast.unparse(child.func.value)):
            return True
        if ends_step(child):
            return True
    return False


def is_own(target):
    """Whether a target is an attribute of ``self``."""
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


def keeps(node):
    """Whether a node adds to a list or the like of ``self``."""
    return method(node) in _KEEPS and is_own(node.func.value)
