# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/recompiles.md does what it says."""

import re
from pathlib import Path

import torch_ltc

PAGE = Path(__file__).resolve().parents[3] / "docs" / "recompiles.md"
TEXT = PAGE.read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)

# One fresh process for all: nothing is compiled yet when the first one runs.
RUN = f"""
import re
blocks = re.findall(r"^```(\\w*)\\n(.*?)^```", open({str(PAGE)!r}).read(), re.S | re.M)
for kind, code in blocks:
    if kind == "python":
        exec(compile(code, "train.py", "exec"), {{}})
        print("ran")
"""


def without_times(text):
    return re.sub(r"[\d.]+ s\b", "… s", text)


def test_every_example_runs_and_prints_what_the_page_shows(run_python):
    examples = [text for kind, text in BLOCKS if kind == "python"]
    outputs = [text for kind, text in BLOCKS if not kind]
    assert len(examples) >= 4
    printed = run_python(RUN).stdout
    assert printed.count("ran\n") == len(examples)
    assert without_times(printed).startswith(without_times(outputs[0]) + "ran\n")


def test_every_cause_is_in_the_table():
    listed = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert tuple(listed) == torch_ltc.autopsy.CAUSES
