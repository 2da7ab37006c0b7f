# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ``PT_XLA_DEBUG=1`` prints for a program that uses this package.

The variables are torch_xla's: ``PT_XLA_DEBUG_LEVEL=1`` prints each compile with its
cause and line as the step ends; 2, which ``PT_XLA_DEBUG=1`` is too, also where the
program synced and which ops left their graphs, when it ends. The text goes to
standard error, or to the file ``PT_XLA_DEBUG_FILE``.
"""

import atexit
import os
import sys

from torch_ltc import autopsy, ledger
from torch_ltc.startup import is_started

_told = 0  # the number of the last compile


def level():
    """Return how much is asked for; 0: nothing."""
    number = os.environ.get("PT_XLA_DEBUG_LEVEL", "")
    if number.isdigit():
        return int(number)
    return 2 if os.environ.get("PT_XLA_DEBUG", "").lower() in ("1", "true") else 0


def begin():
    """Print at the program's end what is asked for by then."""
    if level():
        atexit.register(_end)


def note_step():
    """Print what was compiled since the last step."""
    global _told
    if not level() or not is_started():
        return
    for each in autopsy.explain():  # the last thousand
        if each.number > _told:
            _told = each.number
            _print(f"Compilation Analysis: {each}")


def _end():
    note_step()
    if level() < 2 or not is_started():
        return
    syncs = ledger.syncs()
    _print(f"Execution Analysis: {syncs}")
    ops = {}
    for row in syncs:
        if row.cause == "fallback":
            ops[row.detail] = ops.get(row.detail, 0) + row.count
    if ops:
        named = ", ".join(f"{op} ({count})" for op, count in ops.items())
        _print(f"Op(s) not lowered: {named}")


def _print(text):
    path = os.environ.get("PT_XLA_DEBUG_FILE")
    marked = "".join(f"pt-xla-profiler: {line}\n" for line in text.splitlines())
    if not path:
        sys.stderr.write(marked)
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(marked)
