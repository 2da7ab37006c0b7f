# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which modules of a script are to be compiled, and after which line.

``module.compile(backend="ltc")`` is torch.compile of the module's call: the object,
its parameters and the names in its ``state_dict()`` stay. It may stand anywhere
before the first call; here it stands after the module's last assignment or move.
"""

import ast
from typing import NamedTuple

from torch_ltc.migrate import reads
from torch_ltc.migrate.names import is_text

# Methods that a module has, and neither a tensor nor an optimizer.
_METHODS = ("parameters", "named_parameters", "modules", "children", "train", "eval")
# What takes a module and is it.
_WRAPPERS = ("DataParallel", "wrap_in_hpu_graph")
# Functions of other packages that make one.
_MAKERS = ("from_pretrained", "create_model", "get_model")


class Model(NamedTuple):
    """A module to compile. `line` and `column` are of the statement before."""

    text: str  # the variable, or the attribute of self
    line: int
    column: int


def models_of(tree, names):
    """Return the modules that are moved to a device and are part of no other."""
    finder = _Finder(tree, names)
    found = {}  # (scope, text): a model; moves of one that is made there are its own
    for node in ast.walk(tree):
        target = finder.made_in(node)
        if target is not None:
            text = ast.unparse(target)
            last = finder.last_statement(text, node)
            model = Model(text, last.lineno, last.col_offset + 1)
            found.setdefault((names.scope_of(node), text), model)
    return list(found.values())


class _Finder:
    def __init__(self, tree, names):
        self.tree = tree
        self.names = names
        self.functions = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
        }
        self.classes = self._module_classes()
        self.used = {}  # (scope's owner, text): methods called of it
        self.given = set()  # texts given to a module's constructor
        self.compiled = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._note(node)

    def _module_classes(self):
        """Return the names of this file's classes of modules."""
        found, before = set(), None
        while before != len(found):
            before = len(found)
            for node in ast.walk(self.tree):
                if isinstance(node, ast.ClassDef):
                    bases = {
                        ast.unparse(base).rpartition(".")[2] for base in node.bases
                    }
                    if bases & {"Module", "LightningModule", "Sequential", *found}:
                        found.add(node.name)
        return found

    def _note(self, call):
        if reads.method(call) in ("compile", *_METHODS):
            text = ast.unparse(call.func.value)
            self.used.setdefault(text, set()).add(call.func.attr)
        name = self.names.full(call.func) or ast.unparse(call.func)
        texts = {ast.unparse(argument) for argument in call.args}
        texts |= {ast.unparse(keyword.value) for keyword in call.keywords}
        if name == "torch.compile":
            self.compiled |= texts
        elif self._makes(call) and not name.endswith(_WRAPPERS):
            self.given |= texts

    def _makes(self, node):
        """Whether an expression is a module that is made here."""
        if not isinstance(node, ast.Call):
            return False
        if reads.method(node) in ("to", "train", "eval", "float", "double", "bfloat16"):
            return self._makes(node.func.value)
        name = self.names.full(node.func) or ast.unparse(node.func)
        if name.endswith("wrap_in_hpu_graph"):
            return True
        last = name.rpartition(".")[2]
        is_layer = name.startswith(("torch.nn.", "nn.")) and last[:1].isupper()
        is_other = name.startswith("torchvision.models.") or last in _MAKERS
        return is_layer or is_other or last in self.classes

    def made_in(self, node):
        """Return the variable of a statement that makes or moves a model, or None."""
        match node:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=target)) as value):
                if reads.method(value) != "to":
                    return None
            case _:
                return None
        is_variable = isinstance(target, ast.Name | ast.Attribute)
        return target if is_variable and self._is_model(target, value) else None

    def _is_model(self, target, value):
        text = ast.unparse(target)
        if text in self.given or text in self.compiled or self._is_layer(target):
            return False
        used = self.used.get(text, set())
        if "compile" in used or "torch.compile" in ast.unparse(value):
            return False
        if self._makes(value):
            moves = map(self._moves, [value, *self._uses(text)])
            return not _is_loss(value) and any(moves)
        if not used & set(_METHODS):
            return False
        called = getattr(value, "func", None)
        is_local = isinstance(called, ast.Name) and called.id in self.functions
        return is_local or (reads.method(value) == "to" and self._moves(value))

    def _is_layer(self, target):
        """Whether the target is an attribute of a module of this file."""
        node = target
        while node is not self.tree and isinstance(target, ast.Attribute):
            node = self.names.scope_of(node)
            if isinstance(node, ast.ClassDef) and node.name in self.classes:
                return True
        return False

    def _uses(self, text):
        for node in ast.walk(self.tree):
            if reads.method(node) == "to" and ast.unparse(node.func.value) == text:
                yield node

    def _moves(self, node):
        """Whether an expression puts a module on a device."""
        for part in ast.walk(node):
            if isinstance(part, ast.keyword) and part.arg == "device":
                return True
            if not isinstance(part, ast.Call):
                continue
            if ast.unparse(part.func).endswith("wrap_in_hpu_graph"):
                return True
            is_move = reads.method(part) == "to" and part.args
            if is_move and self._names_device(part.args[0]):
                return True
        return False

    def _names_device(self, node):
        is_named = "dev" in ast.unparse(node).lower()
        return is_named or is_text(node) or any(self.names.texts(node))

    def last_statement(self, text, made):
        """Return the last statement of the block that makes or moves the module."""
        block = self._block_of(made)
        last = made
        for statement in block[block.index(made) + 1 :]:
            if not isinstance(statement, ast.Assign | ast.Expr):
                continue
            is_move = (
                reads.method(statement.value) == "to"
                and ast.unparse(statement.value.func.value) == text
            )
            is_again = isinstance(statement, ast.Assign) and text in map(
                ast.unparse, statement.targets
            )
            if is_move or is_again:
                last = statement
        return last

    def _block_of(self, statement):
        parent = self.names.parents[statement]
        for name in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]


def _is_loss(value):
    called = value
    while isinstance(called, ast.Call):
        inner = called.func
        called = (
            inner.value
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Call)
            else inner
        )
    return ast.unparse(called).endswith("Loss")
