# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own tests of process groups fail on lazy where the table says so."""

import json
import subprocess
import sys

import pytest
import ranks

# Parts of the names of those that want eight ranks.
EIGHT = (
    "barrier_failure_order",
    "barrier_group",
    "barrier_timeout_group",
    "barrier_wait_all_ranks",
    "broadcast_group",
    "coalesced_group",
    "gather_group",
    "reduce_group",
    "scatter_group",
    "split_group",
    "to_all_group",
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "names", "least", "least_passed"),
    [(4, (), 250, 100), (8, EIGHT, 25, 22)],
    ids=["four ranks", "eight ranks"],
)
def test_pytorchs_own_tests(count, names, least, least_passed, tmp_path):
    program = ranks.HERE.parents[1] / "pytorch" / "run_distributed.py"
    ended = subprocess.run(
        [sys.executable, program, "--results", tmp_path, "--ranks", str(count), *names],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    passed = [name for name, (outcome, _) in found.items() if outcome == "passed"]
    assert len(found) > least and len(passed) > least_passed
