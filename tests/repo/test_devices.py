# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package's own tensors are where it says, whatever the default device."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python/torch_ltc"
MAKERS = {
    *("arange", "empty", "empty_strided", "eye", "full", "linspace", "ones", "rand"),
    *("randint", "randn", "randperm", "scalar_tensor", "tensor", "zeros"),
}


def _makers_without_device(tree):
    on_cpu = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        and any("torch.device" in ast.unparse(item) for item in node.items)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or node in on_cpu:
            continue
        module, _, name = ast.unparse(node.func).rpartition(".")
        named = {keyword.arg for keyword in node.keywords}
        if module == "torch" and name in MAKERS and not named & {"device", None}:
            yield node.lineno
        if module == "torch" and name == "Generator" and not node.args:
            yield node.lineno


def test_each_tensor_that_is_made_names_its_device():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in _makers_without_device(ast.parse(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text", ["torch.zeros(3)", "torch.Generator()", "f(torch.tensor(1, dtype=d))"]
)
def test_one_that_does_not_is_found(text):
    assert list(_makers_without_device(ast.parse(text))) == [1]
