# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports of lazy backends, removed where nothing needs them any more."""

import libcst as cst

from torch_ltc.migrate.lint import backend_of
from torch_ltc.migrate.statements import Statements, gone


def removed(module, names):
    """Remove them from a file, and variables of `names`; import torch if need be."""
    used = _Used()
    module.visit(used)
    remover = _Remover(used.names, names)
    without = module.visit(remover)
    if "torch" in used.names and not remover.has_torch:
        return module.visit(_Remover(used.names, names, torch=True))
    return without


class _Used(cst.CSTVisitor):
    """The names that something other than an import or an assignment has."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def visit_Import(self, node):
        return False

    visit_ImportFrom = visit_Import

    def visit_AssignTarget(self, node):
        return not isinstance(node.target, cst.Name)

    def visit_Attribute(self, node):
        node.value.visit(self)
        return False

    def visit_Arg(self, node):
        node.value.visit(self)
        return False

    def visit_Name(self, node):
        self.names.add(node.value)


class _Remover(Statements):
    def __init__(self, used, variables, torch=False):
        super().__init__()
        self.used = used
        self.variables = variables
        self.torch = torch  # whether to leave one import of it
        self.has_torch = False
        self.tries = 0

    def visit_Try(self, node):
        self.tries += 1

    def leave_Try(self, original, updated):
        self.tries -= 1
        return updated

    def leave_Import(self, original, updated):
        return self._import(updated, "")

    def leave_ImportFrom(self, original, updated):
        if isinstance(updated.names, cst.ImportStar) or updated.relative:
            return updated
        return self._import(updated, f"{_text(updated.module)}.")

    def _import(self, node, module):
        kept = []
        for alias in node.names:
            full = module + _text(alias.name)
            bound = _text(alias.asname.name) if alias.asname else full
            bound = bound.partition(".")[0] if not module else bound.rpartition(".")[2]
            is_ours = backend_of(full) or backend_of(module.rstrip("."))
            if is_ours and bound == "torch" and not module and not alias.asname:
                is_needed = False  # `import torch._lazy` binds torch
            else:
                is_needed = bound in self.used
                self.has_torch |= bound == "torch"
            if not is_ours or is_needed or self.tries:
                kept.append(alias)
        if len(kept) == len(node.names):
            return node
        if not kept and self.torch:
            self.torch = False
            return cst.Import([cst.ImportAlias(cst.Name("torch"))])
        if not kept:
            return gone()
        last = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return node.with_changes(names=[*kept[:-1], last])

    def leave_Assign(self, original, updated):
        targets = {_text(target.target) for target in updated.targets}
        is_alias = targets <= self.variables and not targets & self.used
        return gone() if is_alias else updated


def _text(node):
    return cst.Module([]).code_for_node(node)
