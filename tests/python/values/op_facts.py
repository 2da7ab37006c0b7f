# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What include/ltc/op_facts.def and argument_facts.def say, for tests."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "include/ltc"
STRING = r'"([^"]*)"'


def entries(file, macro, *parts):
    """Return the arguments of each use of a macro in a table."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    return re.findall(rf"^{macro}\({', '.join(parts)}\)$", text, re.MULTILINE)


FACTS = dict(entries("op_facts.def", "LTC_FACT", r"(\w+)", STRING))
OPS = {
    ops: facts.split(" | ")
    for ops, facts in entries("op_facts.def", "LTC_OP", STRING, "([^)]*)")
}
INDEX_WORDS = dict(entries("op_facts.def", "LTC_INDEX_WORDS", STRING, STRING))
ATTRIBUTES = entries("argument_facts.def", "LTC_ATTRIBUTE", STRING, STRING)
INTEGERS = entries("argument_facts.def", "LTC_INTEGER", STRING, STRING, r"(\w+)")


def matches(ops, name):
    """Return whether a line for `ops` is for the op `name`, overload included."""
    if ops.endswith(".*"):
        return name.split(".")[0] == ops[:-2]
    if ops.endswith("*"):
        return name.startswith(ops[:-1])
    return name == ops


def named():
    """Return what the lines of all tables are for."""
    lines = [*OPS, *INDEX_WORDS]
    lines += [ops for ops, *_ in ATTRIBUTES + INTEGERS if ops != "*"]
    return sorted(set(lines))
