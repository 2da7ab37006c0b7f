# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes a file from the lazy device to torch.compile, as far as that is safe.

Needs LibCST, which keeps formatting and comments.
"""

import ast
from typing import NamedTuple

import libcst as cst

from torch_ltc.migrate import reads
from torch_ltc.migrate.edits import COMPILES, edited
from torch_ltc.migrate.imports import removed
from torch_ltc.migrate.lint import Finding, lint
from torch_ltc.migrate.models import models_of
from torch_ltc.migrate.names import Names
from torch_ltc.migrate.rules import RULES

__all__ = ["COMPILES", "Rewritten", "rewrite"]

_TIES = ("device", "step-boundary", "lazy-api", "lazy-import", "unknown-api")


class Rewritten(NamedTuple):
    """A file's new text, and what is left: findings in it, `becomes` says why.

    `uncompiled` is left unless another file makes the module that this one trains.
    """

    text: str
    left: list
    uncompiled: tuple = ()


def rewrite(source, path="<string>", device="cpu"):
    """Return a `Rewritten`. The same text comes back where nothing is to be done.

    Raises a ``SyntaxError`` for what is not Python.
    """
    done = _rewrite_once(source, path, device)
    while done.text != source:  # what goes may have been the last use of an import
        again = _rewrite_once(done.text, path, device)
        if again.text == done.text:
            break
        source, done = done.text, again
    return done


def _rewrite_once(source, path, device):
    findings = [f for f in lint(source, path) if f.rule.name in _TIES]
    if not findings:
        return Rewritten(source, [])
    tree = ast.parse(source, filename=path)
    names = Names(tree)
    models = models_of(tree, names)
    try:
        wrapper = cst.MetadataWrapper(cst.parse_module(source))
    except cst.ParserSyntaxError as error:
        raise SyntaxError(f"LibCST: {error.message}") from error
    module, stay, unplaced = edited(wrapper, findings, models, device)
    text = removed(module, _aliases(tree, findings)).code
    left = _left(text, path, stay)
    if unplaced:
        left += _uncompiled(text, path, unplaced)
    return Rewritten(text, left, () if models else _uncompiled(text, path, ()))


def _aliases(tree, findings):
    """Return the variables that stand for a lazy backend's module or function."""
    places = {(f.line, f.column) for f in findings if f.rule.name == "lazy-import"}
    return {
        ast.unparse(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and (node.lineno, node.col_offset + 1) in places
        for target in node.targets
    }


def _left(text, path, stay):
    """Return what still ties the new text, and what breaks graphs in its models."""
    reasons = {f.function or f.text: why for f, why in stay.items()}
    return [
        finding._replace(
            becomes=reasons.get(finding.function or finding.text, finding.becomes)
        )
        for finding in lint(text, path)
        if finding.rule.name in _TIES or finding.in_forward
    ]


def _uncompiled(text, path, unplaced):
    """Return a finding if the text trains, and nothing in it is compiled."""
    tree = ast.parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not unplaced and any(reads.method(call) == "compile" for call in calls):
        return []
    what = f"{' and '.join(unplaced)} cannot be compiled by a line of its own"
    if not unplaced:
        what = "no module is known that is made or moved here"
    why = f"{what}: torch.compile(..., backend='ltc'), by hand"
    return [
        Finding(path, call.lineno, 1, RULES["unknown-api"], "backward()", why)
        for call in calls
        if reads.method(call) == "backward"
    ][:1]
