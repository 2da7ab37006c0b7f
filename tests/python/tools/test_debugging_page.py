# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/debugging.md does what it says, each command of it too."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

PAGE = Path(__file__).resolve().parents[3] / "docs" / "debugging.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)

# One process for all; each example has names of its own.
RUN = f"""
import re
blocks = re.findall(r"^```(\\w*)\\n(.*?)^```", open({str(PAGE)!r}).read(), re.S | re.M)
for kind, code in blocks:
    if kind == "python":
        exec(compile(code, "train.py", "exec"), {{}})
        print("ran")
"""

TRAIN = """
import torch
model = torch.nn.Linear(3, 2).to("lazy")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    model(torch.ones(4, 3, device="lazy")).square().mean().backward()
    optimizer.step()
print("trained", torch.lazy.metrics().get("execute.interpreted", 0))
"""


def test_every_example_runs(run_python):
    examples = [code for kind, code in BLOCKS if kind == "python"]
    assert len(examples) >= 4
    printed = run_python(RUN).stdout
    assert printed.count("ran\n") == len(examples)
    assert "a sync (item) where none may be" in printed
    assert "it made 1 NaN of 2 values" in printed


@pytest.mark.slow
def test_every_command_runs(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    torch.save({"x": torch.ones(3)}, tmp_path / "a.pt")
    torch.save({"x": torch.ones(3)}, tmp_path / "b.pt")
    commands = [code.strip() for kind, code in BLOCKS if not kind]
    assert len(commands) == 4
    said = {}
    for command in commands:
        line = command.replace("python", shlex.quote(sys.executable), 1)
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        # What the machine lacks is the doctor's to say, not this test's.
        assert done.returncode == 0 or "doctor" in command, done.stdout + done.stderr
        said[command] = done.stdout
    assert said["LTC_SYNC=1 python train.py"] != "trained 0\n"
    assert said["LTC_VERIFY=1 python train.py"] == "trained 0\n"


def test_the_table_of_tolerances_is_json():
    (table,) = [code for kind, code in BLOCKS if kind == "json"]
    assert json.loads(table)["float32"]["ulp"] == 4
