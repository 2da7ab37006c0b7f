# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/caching.md does what it says."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import torch_ltc
from torch_ltc.commands import cache_command

PAGE = Path(__file__).resolve().parents[3] / "docs" / "caching.md"
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Use a cache of its own, and files of its own."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cache"
    with torch_ltc.settings.scope(cache="rw", cache_dir=str(folder)):
        yield folder


def test_the_page_has_examples():
    assert [kind for kind, _ in BLOCKS].count("python") >= 4
    assert [kind for kind, _ in BLOCKS].count("sh") >= 2


def test_every_example_runs(directory, monkeypatch):
    for kind, code in BLOCKS:
        if kind == "python":
            exec(compile(code, str(PAGE), "exec"), {})
            continue
        for line in code.splitlines():
            monkeypatch.setattr(sys, "argv", shlex.split(line))
            assert sys.argv[0] == "ltc-cache"
            assert cache_command.main() == 0, line
    # What the bundle brought back.
    assert torch_ltc.cache.entries(directory)


def test_the_second_run_compiles_nothing(run_python, tmp_path):
    environment = {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(tmp_path / "cache")}
    _, code = BLOCKS[0]
    assert "from disk 0\n" in run_python(code, **environment).stdout
    assert "compiled 0\n" in run_python(code, **environment).stdout
