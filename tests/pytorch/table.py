# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of PyTorch's tests that are expected to fail, and what a run says of it.

A line that is not indented is a reason, the indented ones below are patterns of
test ids. A reason that begins with "Too slow" has its tests left out of the run.
"""

import dataclasses
import fnmatch
from pathlib import Path

TABLE = Path(__file__).with_name("expected_failures.txt")
LEFT_OUT = "Too slow"


@dataclasses.dataclass
class Entry:
    pattern: str
    reason: str

    @property
    def left_out(self):
        return self.reason.startswith(LEFT_OUT)

    def matches(self, test):
        return fnmatch.fnmatchcase(test, self.pattern)


def parse(text):
    """Return the entries of a table, in its order."""
    entries, reason = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            reason = line.strip()
        elif reason is None:
            raise ValueError(f"line {number}: {line.strip()} has no reason above it")
        else:
            entries.append(Entry(line.strip(), reason))
    return entries


def read():
    """Return the entries of the project's own table."""
    return parse(TABLE.read_text(encoding="utf-8"))


def reason_for(test, entries):
    """Return why a test is expected to fail, or None."""
    return next((e.reason for e in entries if e.matches(test)), None)


@dataclasses.dataclass
class Verdict:
    unexpected: list  # rows of tests that failed and have no entry
    passing: list  # entries of which tests were run and none failed


def judge(rows, entries):
    """Compare what a run recorded with the table."""
    failed = [row for row in rows if row["outcome"] == "failed"]
    unexpected = [row for row in failed if reason_for(row["id"], entries) is None]
    passing = []
    for entry in entries:
        outcomes = {r["outcome"] for r in rows if entry.matches(r["id"])}
        if "passed" in outcomes and "failed" not in outcomes:
            passing.append(entry)
    return Verdict(unexpected, passing)
