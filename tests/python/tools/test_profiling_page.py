# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/profiling.md does what it says: each example, each command."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "profiling.md"
EXAMPLE = ROOT / "examples" / "profile_step.py"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
TRAIN = """
import torch
def train():
    model = torch.nn.Linear(3, 2).to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(4):
        model(torch.ones(4, 3, device="lazy")).square().mean().backward()
        optimizer.step()
"""


def test_every_example_runs(run_python):
    examples = [code for kind, code in BLOCKS if kind == "python"]
    assert len(examples) >= 4
    code = TRAIN + "\n".join(examples)
    printed = run_python(f"import os, tempfile; os.chdir(tempfile.mkdtemp())\n{code}")
    assert "4 steps" in printed.stdout
    assert "ltc::run" in printed.stdout


@pytest.mark.slow
def test_every_command_runs(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN + "train()\n")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    commands = [
        line.partition("  #")[0].strip()
        for kind, code in BLOCKS
        if not kind
        for line in code.splitlines()
    ]
    assert len(commands) >= 5
    for command in commands:
        line = command.replace("python", shlex.quote(sys.executable), 1)
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    for directory in ("ltc_profile", "run"):
        assert (tmp_path / directory / "profile.html").exists()


def run_example(directory, steps):
    """Run the example; return what it printed."""
    words = [sys.executable, EXAMPLE, "--dir", directory, "--steps", str(steps)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_example_finds_its_two_troubles(tmp_path):
    printed = run_example(tmp_path, 24)
    assert "with troubles" in printed
    assert "24 steps" in printed
    found = json.loads((tmp_path / "profile.json").read_text())
    lines = EXAMPLE.read_text().splitlines()
    (read,) = [n for n, text in enumerate(lines, 1) if "loss.item()" in text]
    items = [row for row in found["ledger"] if row["cause"] == "item"]
    assert [(row["count"], row["place"]["line"]) for row in items] == [(24, read)]
    (moved,) = [n for n, text in enumerate(lines, 1) if "(model(x * mask.to(" in text]
    assert any(
        row["upload"] and row["repeated"] >= 20 and row["place"]["line"] == moved
        for row in found["transfers"]
    )
