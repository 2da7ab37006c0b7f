# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The edits of one file: what the linter found, changed where it stands."""

import re

import libcst as cst
from libcst.metadata import PositionProvider

from torch_ltc.migrate.calls import CALLS, REMOVE
from torch_ltc.migrate.statements import Statements, gone

COMPILES = '.compile(backend="ltc")'
_QUOTES = re.compile(r"""['"]+""")


def edited(wrapper, findings, models, device):
    """Return the changed module, and for findings that stay the reason.

    `wrapper` is the file with its metadata. A module of `models` that cannot be
    compiled by a line behind its own is in the second as its text.
    """
    edits = _Edits(findings, models, device)
    module = wrapper.visit(edits)
    return module, edits.left, list(edits.models.values())


class _Edits(Statements):
    """Changes the places of findings; `left` has those that stay, with the reason."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, findings, models, device):
        super().__init__()
        self.device = device
        self.findings = {(f.line, f.column): f for f in findings}
        self.models = {(m.line, m.column): m.text for m in models}
        self.left = {}  # a finding: why
        self.statements = set()  # calls whose result nobody takes
        self.compared = set()
        self.removed = set()

    def found(self, node, *rules):
        """Return the finding at a node's place, if it is of such a rule."""
        start = self.get_metadata(PositionProvider, node).start
        finding = self.findings.get((start.line, start.column + 1))
        return finding if finding and finding.rule.name in rules else None

    def done(self, finding):
        """Take a finding off the list."""
        del self.findings[finding.line, finding.column]

    def leave(self, finding, why):
        """Note that a finding stays."""
        self.left[finding] = why
        self.done(finding)

    # Devices.

    def visit_Comparison(self, node):
        self.compared |= {
            node.left,
            *(target.comparator for target in node.comparisons),
        }

    def _text(self, original, updated):
        finding = self.found(original, "device")
        if not finding:
            return updated
        if original in self.compared:
            self.leave(finding, "what the comparison decides is decided by hand")
            return updated
        self.done(finding)
        is_plain = isinstance(original, cst.SimpleString)
        raw = original.value if is_plain else original.start
        quote = _QUOTES.search(raw)[0][0]
        return cst.SimpleString(f"{quote}{self.device}{quote}")

    def leave_SimpleString(self, original, updated):
        return self._text(original, updated)

    def leave_FormattedString(self, original, updated):
        return self._text(original, updated)

    def leave_List(self, original, updated):
        """Leave one of two equal choices."""
        if len(original.elements) == len(updated.elements):
            before = [e.value for e in original.elements]
            after = [e.value for e in updated.elements]
            kept, seen = [], set()
            for was, now, element in zip(before, after, updated.elements, strict=True):
                text = cst.Module([]).code_for_node(now)
                is_changed = not was.deep_equals(now)
                same = [cst.Module([]).code_for_node(other) for other in before]
                if not (is_changed and (text in seen or text in same)):
                    kept.append(element)
                seen.add(text)
            if len(kept) < len(updated.elements):
                last = kept[-1].with_changes(comma=updated.elements[-1].comma)
                return updated.with_changes(elements=[*kept[:-1], last])
        return updated

    # Calls.

    def visit_Expr(self, node):
        self.statements.add(node.value)

    def visit_WithItem(self, node):
        self.statements.add(node.item)

    def leave_Call(self, original, updated):
        finding = self.found(original, "step-boundary", "lazy-api", "device")
        if not finding or not finding.function:
            return updated
        becomes = CALLS[finding.function](updated, self.device)
        if becomes is REMOVE and original not in self.statements:
            becomes = "its result is used"
        if isinstance(becomes, str):
            self.leave(finding, becomes)
            return updated
        self.done(finding)
        if becomes is REMOVE:
            self.removed.add(original)
            return updated
        return becomes.with_changes(lpar=updated.lpar, rpar=updated.rpar)

    # Statements.

    def leave_Expr(self, original, updated):
        return gone() if original.value in self.removed else updated

    def leave_Assign(self, original, updated):
        """Drop `model = wrap(model)` once it wraps no more."""
        (first, *others) = updated.targets
        is_same = not others and first.target.deep_equals(updated.value)
        return gone() if is_same and original.value is not updated.value else updated

    def leave_With(self, original, updated):
        items = [
            item
            for was, item in zip(original.items, updated.items, strict=True)
            if was.item not in self.removed
        ]
        if len(items) == len(updated.items):
            return updated
        if items:
            last = items[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            return updated.with_changes(items=[*items[:-1], last])
        if not isinstance(updated.body, cst.IndentedBlock):
            return updated
        first, *rest = updated.body.body
        lines = [*updated.leading_lines, *first.leading_lines]
        return cst.FlattenSentinel([first.with_changes(leading_lines=lines), *rest])

    def leave_SimpleStatementLine(self, original, updated):
        updated = super().leave_SimpleStatementLine(original, updated)
        start = self.get_metadata(PositionProvider, original).start
        model = self.models.pop((start.line, start.column + 1), None)
        if model is None:
            return updated
        added = cst.parse_statement(f"{model}{COMPILES}")
        return cst.FlattenSentinel([updated, added])
