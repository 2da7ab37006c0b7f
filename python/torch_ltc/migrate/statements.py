# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements that go away, while the comments before them stay."""

import libcst as cst

_GONE = "__gone__"


def gone():
    """Return the statement that takes the place of one that goes away."""
    return cst.Expr(cst.Name(_GONE))


def _is_gone(statement):
    return isinstance(statement, cst.Expr) and (
        isinstance(statement.value, cst.Name) and statement.value.value == _GONE
    )


class Statements(cst.CSTTransformer):
    """Base of transformers that return `gone()` for a small statement."""

    def leave_SimpleStatementLine(self, original, updated):
        """Shorten a line of several statements."""
        kept = [part for part in updated.body if not _is_gone(part)]
        if not kept or len(kept) == len(updated.body):
            return updated
        return updated.with_changes(body=_ended(kept))

    def leave_SimpleStatementSuite(self, original, updated):
        """Do the same behind a colon."""
        kept = [part for part in updated.body if not _is_gone(part)]
        if len(kept) == len(updated.body):
            return updated
        return updated.with_changes(body=_ended(kept or [cst.Pass()]))

    def leave_IndentedBlock(self, original, updated):
        """Drop the lines that are gone."""
        return _settled(updated)

    def leave_Module(self, original, updated):
        """Drop the lines that are gone."""
        return _settled(updated)


def _ended(body):
    last = body[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    return [*body[:-1], last]


def _settled(block):
    body, carried = [], []
    for statement in block.body:
        is_line = isinstance(statement, cst.SimpleStatementLine)
        if is_line and all(map(_is_gone, statement.body)):
            carried += statement.leading_lines
            continue
        if carried:
            statement = _below(carried, statement)
            carried = []
        body.append(statement)
    if len(body) == len(block.body):
        return block
    comments = [line for line in carried if line.comment]
    if isinstance(block, cst.IndentedBlock) and not body:
        line = cst.SimpleStatementLine([cst.Pass()], leading_lines=comments)
        return block.with_changes(body=[line])
    return block.with_changes(body=body, footer=[*comments, *block.footer])


def _below(carried, statement):
    """Put lines before a statement; empty ones only if it has none of its own."""
    own = statement.leading_lines
    if own:
        carried = [line for line in carried if line.comment]
    return statement.with_changes(leading_lines=[*carried, *own])
