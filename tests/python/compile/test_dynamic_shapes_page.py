# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/dynamic-shapes.md does what it says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "dynamic-shapes.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_runs(number, run_python):
    if "static_after" in EXAMPLES[number]:
        # What it compiles in the background would be counted by the next example.
        assert run_python(EXAMPLES[number]).returncode == 0
    else:
        exec(compile(EXAMPLES[number], str(PAGE), "exec"), {})
