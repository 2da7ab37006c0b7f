# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of the package stand in a line: no two import each other.

Imports inside functions count, and those by name: ``import_module("torch_ltc.x")``
and the patches' ``"module:function"``. The package itself is the door that Python
opens for each of them, so a module depends on it only if it takes a name from it.
"""

import ast
import graphlib
import re

import pytest

PACKAGE = "torch_ltc"
COMPILED = "torch_ltc._C"  # imports none of them
BY_NAME = re.compile(rf"{PACKAGE}\.([\w.]+)|([\w.]+):\w+")


def modules_in(folder):
    """Map the package's module names to their syntax trees."""
    modules = {}
    for path in folder.rglob("*.py"):
        name = ".".join((PACKAGE, *path.relative_to(folder).with_suffix("").parts))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules[name.removesuffix(".__init__")] = tree
    return modules


def imported(tree, modules):
    """Return which of the modules a syntax tree imports anywhere."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            known = modules.keys() | {COMPILED}
            found |= {name if name in known else node.module for name in names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = BY_NAME.fullmatch(node.value)
            found |= {f"{PACKAGE}.{match[1] or match[2]}"} if match else set()
    return found & modules.keys()


def cycle_of(modules):
    """Return a circle of imports, or None."""
    graph = {name: imported(tree, modules) for name, tree in modules.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]


def test_no_modules_import_each_other(root):
    modules = modules_in(root / "python" / PACKAGE)
    assert f"{PACKAGE}.startup" in imported(modules[f"{PACKAGE}.lazy.device"], modules)
    assert cycle_of(modules) is None


@pytest.mark.parametrize(
    "back",
    [
        "import torch_ltc.a",
        "from torch_ltc import a",
        "from torch_ltc.a import name",
        "def f():\n    from torch_ltc import a",
        "importlib.import_module('torch_ltc.a')",
        "Patch('torch', 'norm', 'a:wrapper', 'why')",
    ],
)
def test_a_circle_would_be_found(back):
    sources = {"torch_ltc.a": "from torch_ltc import b", "torch_ltc.b": back}
    modules = {name: ast.parse(source) for name, source in sources.items()}
    assert set(cycle_of(modules)) == {"torch_ltc.a", "torch_ltc.b"}
