# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the names of a script stand for, as far as its text tells.

A name has the values of all assignments to it in its scope, whichever runs: what
may be a lazy device is one to look at. Attributes, such as ``self.device``, and the
options of argparse have the values that any line gives them.
"""

import ast

# Assignments followed from a name to its value; more make a circle or a puzzle.
_LONGEST_WAY = 12
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)


class Names:
    """The bindings of one file."""

    def __init__(self, tree):
        self.parents = {
            child: parent
            for parent in ast.walk(tree)
            for child in ast.iter_child_nodes(parent)
        }
        self.tree = tree
        self.imports = {}  # (scope, name): a full name
        self.values = {}  # (scope, name), or the text of an attribute: nodes
        self.options = {}  # an option of argparse: nodes of its defaults
        for node in ast.walk(tree):
            self._bind(node)

    def scope_of(self, node):
        """Return the function, class or module that a node stands in."""
        node = self.parents.get(node, self.tree)
        while not isinstance(node, _SCOPES):
            node = self.parents[node]
        return node

    def _bind(self, node):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    self._import(
                        node, alias.asname or top, alias.name if alias.asname else top
                    )
            case ast.ImportFrom(names=names):
                for alias in names:
                    full = f"{node.module or ''}.{alias.name}"
                    self._import(node, alias.asname or alias.name, full)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case (
                ast.AnnAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                self._assign(target, value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                for name, default in defaults_of(node.args):
                    if default is not None:
                        self.values.setdefault((node, name), []).append(default)
            case ast.Call(func=ast.Attribute(attr="add_argument")):
                self._add_option(node)

    def _import(self, node, name, full):
        self.imports.setdefault((self.scope_of(node), name), full)

    def _assign(self, target, value):
        if value is None:
            return
        if isinstance(target, ast.Tuple | ast.List):
            if isinstance(value, ast.Tuple | ast.List):
                for one, its in zip(target.elts, value.elts, strict=False):
                    self._assign(one, its)
            return
        key = (
            (self.scope_of(target), target.id)
            if isinstance(target, ast.Name)
            else ast.unparse(target)
        )
        self.values.setdefault(key, []).append(value)

    def _add_option(self, call):
        words = [a.value.lstrip("-") for a in call.args if is_text(a)]
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if "dest" in given and is_text(given["dest"]):
            words = [given["dest"].value]
        if "default" in given:
            for word in words:
                option = word.replace("-", "_")
                self.options.setdefault(option, []).append(given["default"])

    def bound(self, node):
        """Return the nodes of what is assigned to a name or an attribute."""
        if isinstance(node, ast.Name):
            return self.values.get((self._scope(node, self.values), node.id), [])
        found = self.values.get(ast.unparse(node), [])
        if isinstance(node, ast.Attribute) and not found:
            found = self.options.get(node.attr, [])
        return found

    def _scope(self, name, bindings):
        """Return the innermost scope around that binds the name, or None."""
        scope = self.scope_of(name)
        while (scope, name.id) not in bindings:
            if scope is self.tree:
                return None
            scope = self.scope_of(scope)
        return scope

    def full(self, node, way=_LONGEST_WAY):
        """Return the full name of a function or module, or None."""
        if way == 0:
            return None
        match node:
            case ast.Name(id=name):
                imported = self.imports.get((self._scope(node, self.imports), name))
                if imported:
                    return imported
                found = (self.full(value, way - 1) for value in self.bound(node))
                known = next(filter(None, found), None)
                # A fragment, or a file that is run with torch's names.
                return known or ("torch" if name == "torch" else None)
            case ast.Attribute(value=value, attr=attr):
                base = self.full(value, way - 1)
                if base:
                    return f"{base}.{attr}"
                found = (self.full(value, way - 1) for value in self.bound(node))
                return next(filter(None, found), None)
            case ast.Call(
                func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr))]
            ):
                base = self.full(value, way - 1)
                return base and f"{base}.{attr}"
        return None

    def texts(self, node, way=_LONGEST_WAY):
        """Yield the constant texts that an expression may have as its value."""
        match node:
            case ast.Constant(value=str()):
                yield node
            case ast.IfExp(body=body, orelse=other):
                yield from self.texts(body, way)
                yield from self.texts(other, way)
            case ast.BoolOp(values=values) | ast.JoinedStr(values=values):
                for value in values:
                    yield from self.texts(value, way)
            case ast.Name() | ast.Attribute() | ast.Subscript() if way:
                for value in self.bound(node):
                    yield from self.texts(value, way - 1)


def defaults_of(arguments):
    """Yield the names of a function's arguments with their defaults, or None."""
    placed = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(placed) - len(arguments.defaults))
    names = [argument.arg for argument in (*placed, *arguments.kwonlyargs)]
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]
    yield from zip(names, defaults, strict=True)


def is_text(node):
    """Whether a node is a constant text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
