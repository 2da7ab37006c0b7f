# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/migration.md: its commands, run again.

`LTC_UPDATE_DOCS=1 pytest -m "slow or not slow"` with this file's name renews it.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from torch_ltc import __main__ as program
from torch_ltc.migrate import rewriting

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "migration.md"
BLOCK = re.compile(r"```\n\$ (.*)\n((?:.*\n)*?)```")
COMMANDS = [match[1] for match in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
# They run nothing, and so need no process.
READS = re.compile(r"python -m torch_ltc (migrate (?:lint|rewrite) .*)")


ROWS = "first |last |losses |parameters |their |graphs |a step|peak "


def masked(text):
    """Without what differs from run to run: times, memory, a loss's last digits."""
    found = []
    for line in text.splitlines():
        if re.match(
            r"first |last |losses |parameters |their |graphs |a step|peak ", line
        ):
            line = re.sub(r"\b\d[\d.e+-]*", "#", line)
        found.append(re.sub(r"\d+\.\d+", "#", " ".join(line.split())))
    return found


def output(command, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    if read := READS.fullmatch(command):
        monkeypatch.setattr(sys, "argv", ["torch_ltc", *shlex.split(read[1])])
        program.main()
        return capsys.readouterr().out
    done = subprocess.run(
        command.replace("python", shlex.quote(sys.executable), 1),
        shell=True,
        env={k: v for k, v in os.environ.items() if k != "LTC_UPDATE_DOCS"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout.replace(f"{ROOT}{os.sep}", "")


def mark(command):
    return () if READS.fullmatch(command) else pytest.mark.slow


@pytest.mark.parametrize("command", [pytest.param(c, marks=mark(c)) for c in COMMANDS])
def test_a_command_of_the_page(command, capsys, monkeypatch):
    said = output(command, capsys, monkeypatch)
    page = PAGE.read_text(encoding="utf-8")
    (shown,) = [m for m in BLOCK.finditer(page) if m[1] == command]
    if os.environ.get("LTC_UPDATE_DOCS"):
        page = page[: shown.start(2)] + said + page[shown.end(2) :]
        PAGE.write_text(page, encoding="utf-8")
    else:
        assert masked(shown[2]) == masked(said)


def test_after_is_what_rewrite_makes_of_before():
    folder = ROOT / "examples" / "migrate"
    found = rewriting.rewrite((folder / "before.py").read_text(encoding="utf-8"))
    assert found.text == (folder / "after.py").read_text(encoding="utf-8")
    assert not found.left
