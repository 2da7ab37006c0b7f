# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A user gets each warning of eager's kernels: as often, at the same line, nowhere
else. Each device has a process of its own, since some are given once in one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("warning_calls.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each call warned of three times, by device, and what stderr got."""
    script = tmp_path_factory.mktemp("warnings") / "program.py"
    script.write_text(PROGRAM)
    found = {}
    for device in ("cpu", "lazy"):
        done = subprocess.run(
            [sys.executable, str(script), device],
            env=os.environ | {"LTC_CACHE": "off"},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        found[device] = json.loads(done.stdout), done.stderr
    return found


def test_calls_warn_as_eager_warns(told):
    eager, lazy = told["cpu"][0], told["lazy"][0]
    assert {k: v for k, v in lazy.items() if v != eager[k]} == {
        k: v for k, v in eager.items() if v != lazy[k]
    }
    assert sum(map(bool, eager.values())) > 25


def test_nothing_is_printed_beside(told):
    assert told["lazy"][1] == told["cpu"][1] == ""
