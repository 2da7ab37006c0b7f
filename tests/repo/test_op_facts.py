# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about ops stand in one table, and each is asked for."""

import re

TABLES = ("include/ltc/op_facts.def", "include/ltc/argument_facts.def")
LIST = re.compile(r'(?:"(?:aten|ltc)::[\w.]+",\s*){2,}"(?:aten|ltc)::[\w.]+"')


def sources(root, files):
    """Yield the C++ files of the libraries, without the compiler's rows."""
    for path in files:
        is_row = path.is_relative_to("mlir_lowering/ops")
        if path.suffix == ".cpp" and path.parts[0] != "tests" and not is_row:
            yield path, (root / path).read_text(encoding="utf-8")


def test_every_fact_is_asked_for_and_true_of_an_op(root, files):
    table = (root / TABLES[0]).read_text(encoding="utf-8")
    asked = set()
    for _, text in sources(root, files):
        asked.update(re.findall(r"OpFact::(\w+)", text))
    rows = " ".join(re.findall(r'^LTC_OP\("[^"]+", (.*)\)$', table, re.MULTILINE))
    said = set(re.findall(r"\w+", rows))
    facts = re.findall(r'^LTC_FACT\((\w+), "', table, re.MULTILINE)
    assert len(facts) > 20
    assert not [fact for fact in facts if fact not in asked], "nobody asks for these"
    assert not [fact for fact in facts if fact not in said], "no op has these"


def test_no_other_file_lists_ops(root, files):
    lists = [
        f"{path}: {found[0]}"
        for path, text in sources(root, files)
        for found in [LIST.search(text)]
        if found
    ]
    assert not lists, f"what an op is like belongs in {TABLES[0]}: {lists}"
