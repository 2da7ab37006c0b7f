# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/caching.md does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "caching.md"
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text(), re.DOTALL)
COMMAND = 'ltc-cache() { "$PYTHON" -m torch_ltc cache "$@"; }\nset -e\n'


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a block in a directory that all of them share; return what it prints."""
    folder = tmp_path_factory.mktemp("caching")

    def run(kind, code):
        script = COMMAND + code if kind == "sh" else code
        command = ["bash", "-c"] if kind == "sh" else [sys.executable, "-c"]
        environment = {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(folder / "cache")}
        done = subprocess.run(
            [*command, script],
            cwd=folder,
            env=os.environ | environment | {"PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert not done.stderr
        return done.stdout

    return run


def test_the_page_has_examples():
    assert [kind for kind, _ in BLOCKS].count("python") >= 3
    assert [kind for kind, _ in BLOCKS].count("sh") >= 2


def test_every_example_runs(run):
    for kind, code in BLOCKS:
        run(kind, code)


def test_the_second_run_compiles_nothing(run):
    run(*BLOCKS[0])
    assert "compiled 0\n" in run(*BLOCKS[0])
