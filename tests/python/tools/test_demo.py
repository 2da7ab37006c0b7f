# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demo of the README, as a user runs it."""

import re
import subprocess
import sys
from pathlib import Path

import demo
import demo_stages
import pytest


@pytest.mark.slow
def test_the_demo_is_ok(tmp_path):
    program = [sys.executable, Path(demo.__file__), "--out", tmp_path]
    run = subprocess.run(program, capture_output=True, text=True)
    last = (run.stdout + run.stderr).splitlines()[-1]
    assert last.startswith("demo: ok "), last
    stem = demo_stages.largest_graph(tmp_path / "graphs")
    for suffix, title, pattern in demo_stages.STAGES:
        text = stem.with_name(stem.name + suffix).read_text(encoding="utf-8")
        assert re.search(pattern, text), title
