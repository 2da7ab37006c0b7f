# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own tests of process groups fail on lazy where the table says so."""

import json
import subprocess
import sys

import pytest
import ranks


@pytest.mark.long
def test_pytorchs_own_tests(tmp_path):
    program = ranks.HERE.parents[1] / "pytorch" / "run_distributed.py"
    ended = subprocess.run(
        [sys.executable, program, "--results", tmp_path],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    passed = [name for name, (outcome, _) in found.items() if outcome == "passed"]
    assert len(found) > 250 and len(passed) > 100
