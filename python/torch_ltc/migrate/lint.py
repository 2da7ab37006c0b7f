# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds what ties a script to a lazy device."""

import ast
import re
from typing import NamedTuple

from torch_ltc.migrate import rules

_DEVICE = re.compile(rf"({'|'.join(rules.DEVICES)})(:\d+)?")


class Finding(NamedTuple):
    """One place. `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    rule: rules.Rule
    text: str  # the source
    becomes: str  # what stands there afterwards, or what to decide

    def __str__(self):
        place = f"{self.path}:{self.line}:{self.column}"
        return (
            f"{place}: {self.rule.code} {self.rule.doc}: {self.text} -> {self.becomes}"
        )


def lint(source, path="<string>"):
    """Return the findings of a file, in the order of their lines.

    Raises a ``SyntaxError`` for what is not Python.
    """
    tree = ast.parse(source, filename=path)
    linter = _Linter(tree, source, path)
    linter.visit(tree)
    return sorted(set(linter.findings), key=lambda f: (f.line, f.column, f.rule.code))


class _Linter(ast.NodeVisitor):
    def __init__(self, tree, source, path):
        self.source = source
        self.path = path
        self.parents = {
            child: parent
            for parent in ast.walk(tree)
            for child in ast.iter_child_nodes(parent)
        }
        self.findings = []
        self.aliases = {"torch": "torch"}
        self.loops = []  # for each: whether a step ends in it
        self.function = None

    def add(self, node, name, becomes):
        text = ast.get_source_segment(self.source, node) or ""
        self.findings.append(
            Finding(
                self.path,
                node.lineno,
                node.col_offset + 1,
                rules.RULES[name],
                " ".join(text.split())[:60],
                becomes,
            )
        )

    # Names.

    def visit_Import(self, node):
        for alias in node.names:
            self.aliases[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
            self.note_module(node, alias.name)

    def visit_ImportFrom(self, node):
        module = node.module or ""
        for alias in node.names:
            self.aliases[alias.asname or alias.name] = f"{module}.{alias.name}"
        self.note_module(node, module, [alias.name for alias in node.names])

    def note_module(self, node, module, names=()):
        for full in (module, *(f"{module}.{name}" for name in names)):
            known = _backend(full)
            if known:
                return self.add(node, "lazy-import", rules.MODULES[known])

    def dotted(self, node):
        """Return the full name of a function or module, or None."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(parts)])

    # What is found.

    def visit_Constant(self, node):
        match = isinstance(node.value, str) and _DEVICE.fullmatch(node.value)
        if match and (match[2] or _is_device(node, self.parents)):
            self.add(node, "device", rules.DEVICE)

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Call(self, node):
        name = self.dotted(node.func)
        if name and _backend(name):
            rule, becomes = rules.FUNCTIONS.get(
                name.rpartition(".")[2],
                ("unknown-api", "nothing that is known: look it up by hand"),
            )
            self.add(node, rule, becomes)
        elif self.in_step() and _reads(node):
            self.add(
                node,
                "sync-in-step",
                "a read after the step, or a graph break at this line",
            )
        self.generic_visit(node)

    def in_step(self):
        return any(self.loops) or (self.function and self.function.name == "forward")

    def visit_For(self, node):
        self.loops.append(_ends_step(node))
        self.generic_visit(node)
        self.loops.pop()

    def visit_While(self, node):
        self.note_test(node)
        self.visit_For(node)

    def visit_If(self, node):
        self.note_test(node)
        self.generic_visit(node)

    visit_IfExp = visit_Assert = visit_If

    def note_test(self, node):
        if any(map(_decides, ast.walk(node.test))):
            self.add(
                node.test,
                "branch-on-value",
                "torch.where, torch.cond, or a graph break at this line",
            )

    def visit_FunctionDef(self, node):
        before, self.function = self.function, node
        loops, self.loops = self.loops, []
        self.generic_visit(node)
        self.function, self.loops = before, loops

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node):
        if self.function and self.function.name == "forward":
            for target in node.targets:
                if _is_own(target):
                    self.add(
                        node,
                        "side-effect",
                        "a result of forward(), or a buffer that is updated in place",
                    )
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if self.function and self.function.name == "forward" and _is_own(node.target):
            self.add(
                node, "side-effect", "a buffer that is updated in place, or a result"
            )
        self.generic_visit(node)


def _backend(name):
    """Return the lazy backend's module that a full name belongs to, or None."""
    for module in rules.MODULES:
        if name == module or name.startswith(f"{module}."):
            return module
    return None


def _is_device(node, parents):
    """Whether a string stands where a device does; others may be a mode's name."""
    parent = parents[node]
    while isinstance(parent, (ast.IfExp, ast.Tuple, ast.List, ast.BoolOp)):
        node, parent = parent, parents[parent]
    match parent:
        case ast.keyword(arg=name):
            if name == "default":
                options = [a.value for a in parents[parent].args if _is_text(a)]
                return any("dev" in option for option in options)
            return name in ("device", "map_location", "device_type")
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in rules.TAKE_DEVICES
        case ast.Compare(left=left, comparators=others):
            return any("device" in ast.unparse(side) for side in (left, *others))
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return "dev" in ast.unparse(target).lower()
        case ast.arguments():
            return any("dev" in name for name in _names_of(node, parent))
    return False


def _names_of(default, arguments):
    """Return the names of the arguments that have this default."""
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    defaults = [None] * (len(names) - len(arguments.defaults)) + arguments.defaults
    names += [argument.arg for argument in arguments.kwonlyargs]
    pairs = zip(names, defaults + arguments.kw_defaults, strict=True)
    return [name for name, value in pairs if value is default]


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _method(node):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr
    return None


def _reads(node):
    return _method(node) in rules.READS and not node.args


def _decides(node):
    return _method(node) in (*rules.READS, *rules.REDUCTIONS)


def _ends_step(loop):
    """Whether the loop trains: its body goes backward, or ends a step."""
    return any(
        _method(node) in ("backward", "step", "mark_step", "optimizer_step")
        for node in ast.walk(loop)
    )


def _is_own(target):
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )
