# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds what ties a script to a lazy device."""

import ast
import re
from typing import NamedTuple

from torch_ltc.migrate import reads, rules
from torch_ltc.migrate.names import Names, defaults_of, is_text

_DEVICE = re.compile(rf"({'|'.join(rules.DEVICES)})(:\d+)?")
_PREFIX = re.compile(rf"({'|'.join(rules.DEVICES)}):")
_IMPORTERS = ("importlib.import_module", "__import__")


class Finding(NamedTuple):
    """One place. `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    rule: rules.Rule
    text: str  # the source
    becomes: str  # what stands there afterwards, or what to decide
    function: str = ""  # the lazy backend's, where one is called: its last name
    in_forward: bool = False

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
        self.lines = re.split(r"\r\n|\r|\n", source)
        self.source = source
        self.path = path
        self.names = Names(tree)
        self.losses = reads.losses_of(tree, self.names)
        self.findings = []
        self.loops = []  # for each: whether a step ends in it
        self.function = None

    def add(self, node, name, becomes, function=""):
        text = ast.get_source_segment(self.source, node) or ""
        before = self.lines[node.lineno - 1].encode()[: node.col_offset].decode()
        self.findings.append(
            Finding(
                self.path,
                node.lineno,
                len(before) + 1,
                rules.RULES[name],
                " ".join(text.split())[:60],
                becomes,
                function,
                self.is_forward(),
            )
        )

    # Names.

    def visit_Import(self, node):
        for alias in node.names:
            self.note_module(node, alias.name)

    def visit_ImportFrom(self, node):
        self.note_module(node, node.module or "", [a.name for a in node.names])

    def note_module(self, node, module, names=()):
        for full in (module, *(f"{module}.{name}" for name in names)):
            known = backend_of(full)
            if known:
                return self.add(node, "lazy-import", rules.MODULES[known])

    def visit_Attribute(self, node):
        self.note_value(node)
        self.generic_visit(node)

    def visit_Name(self, node):
        self.note_value(node)

    def note_value(self, node):
        """Note a function that is given away; `m = torch.lazy` is one more import."""
        parent = self.names.parents[node]
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if is_called or isinstance(parent, ast.Attribute):
            return
        name = self.names.full(node)
        known = name and backend_of(name)
        if not known or not isinstance(node.ctx, ast.Load):
            return
        if isinstance(parent, ast.Assign) and parent.value is node:
            self.add(parent, "lazy-import", "nothing: its name is not needed")
        elif isinstance(node, ast.Name) and name in rules.MODULES:
            return  # getattr(xm, ...) and the like: what comes of it is looked at
        else:
            self.add(node, "unknown-api", rules.GIVEN)

    # What is found.

    def visit_Constant(self, node):
        match = is_text(node) and _DEVICE.fullmatch(node.value)
        if match and (match[2] or _is_device(node, self.names.parents)):
            self.add(node, "device", rules.DEVICE)

    def visit_JoinedStr(self, node):
        first = node.values[0] if node.values else None
        if first and is_text(first) and _PREFIX.fullmatch(first.value):
            self.add(node, "device", rules.DEVICE)
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self.visit(value)

    def visit_FormattedValue(self, node):
        self.note_read(node)
        self.generic_visit(node)

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Call(self, node):
        name = self.names.full(node.func)
        if name and backend_of(name):
            last = name.rpartition(".")[2]
            self.add(node, *rules.FUNCTIONS.get(last, rules.UNKNOWN), last)
        elif (name or ast.unparse(node.func)) in _IMPORTERS and node.args:
            if is_text(node.args[0]) and backend_of(node.args[0].value):
                self.add(node, "unknown-api", rules.GIVEN)
        else:
            self.note_read(node)
        self.note_devices(node)
        if self.is_forward() and reads.keeps(node):
            self.add(node, "side-effect", "a result of forward()")
        self.generic_visit(node)

    def note_devices(self, node):
        """Follow what stands where a device does to the line that names it."""
        places = [k.value for k in node.keywords if k.arg in rules.DEVICE_KEYWORDS]
        function = node.func
        called = getattr(function, "attr", getattr(function, "id", None))
        if called in rules.TAKE_DEVICES:
            places += node.args[:1]
        for place in places:
            for text in self.names.texts(place):
                in_joined = isinstance(self.names.parents[text], ast.JoinedStr)
                if _DEVICE.fullmatch(text.value) and not in_joined:
                    self.add(text, "device", rules.DEVICE)

    def note_read(self, node):
        if self.in_step() and reads.reads(node, self.names, self.losses):
            self.add(
                node,
                "sync-in-step",
                "a read after the step, or a graph break at this line",
            )

    def is_forward(self):
        return self.function is not None and self.function.name == "forward"

    def in_step(self):
        return any(self.loops) or self.is_forward()

    def visit_For(self, node):
        self.loops.append(reads.ends_step(node))
        self.generic_visit(node)
        self.loops.pop()

    visit_AsyncFor = visit_For

    def visit_While(self, node):
        self.note_test(node)
        self.visit_For(node)

    def visit_If(self, node):
        self.note_test(node)
        self.generic_visit(node)

    visit_IfExp = visit_Assert = visit_If

    def note_test(self, node):
        for part in ast.walk(node.test):
            if reads.decides(part, self.names, self.losses):
                return self.add(
                    node.test,
                    "branch-on-value",
                    "torch.where, torch.cond, or a graph break at this line",
                )

    def visit_FunctionDef(self, node):
        before, self.function = self.function, node
        loops, self.loops = self.loops, [reads.ends_step(node)]
        self.generic_visit(node)
        self.function, self.loops = before, loops

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node):
        if self.is_forward() and any(map(reads.is_own, node.targets)):
            self.add(
                node,
                "side-effect",
                "a result of forward(), or a buffer that is updated in place",
            )
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if self.is_forward() and reads.is_own(node.target):
            self.add(
                node, "side-effect", "a buffer that is updated in place, or a result"
            )
        self.generic_visit(node)


def backend_of(name):
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
            if name in ("default", "choices"):
                options = [a.value for a in parents[parent].args if is_text(a)]
                return any("dev" in option for option in options)
            return name in rules.DEVICE_KEYWORDS
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            names_device = any(
                "dev" in a.value.lower() for a in parent.args if is_text(a)
            )
            is_look_up = name in ("get", "getenv", "getattr", "setdefault", "pop")
            return name in rules.TAKE_DEVICES or (is_look_up and names_device)
        case ast.Compare(left=left, comparators=others):
            return any("device" in ast.unparse(side) for side in (left, *others))
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return "dev" in ast.unparse(target).lower()
        case ast.arguments():
            pairs = defaults_of(parent)
            return any("dev" in name for name, value in pairs if value is node)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return any(
                is_text(key) and "dev" in key.value.lower()
                for key, value in pairs
                if value is node
            )
    return False
