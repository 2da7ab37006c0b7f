# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device in Rust passes the suites and trains; skipped where there is no rustc."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch_ltc

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(torch_ltc.__file__).parent
COMPILER = shutil.which("rustc")

pytestmark = pytest.mark.skipif(not COMPILER, reason="there is no rustc")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    path = tmp_path_factory.mktemp("rust") / "libltc_driver_rust.so"
    source = ROOT / "examples/rust_plugin/device.rs"
    flags = ["--edition", "2021", "--crate-type", "cdylib", "-O", "-D", "warnings"]
    command = [COMPILER, *flags, "-C", "panic=abort", source, "-o", path]
    subprocess.run(command, check=True)
    return path


@pytest.mark.slow
def test_it_passes_the_conformance_suites(plugin):
    tool = (PACKAGE / "lib").resolve().parent / "bin/ltc-conformance"
    if not tool.exists():
        pytest.skip("this build has no ltc-conformance")
    command = [tool, "--plugin", plugin]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


TRAIN = """
import json
import torch
import torch_ltc
from torch import nn


def train(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    losses = []
    for rows in (6, 6, 9, 6, 4, 9):
        x, y = torch.randn(rows, 8), torch.randint(3, (rows,))
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


print(json.dumps([train("lazy"), train("cpu"), torch_ltc.metrics.snapshot()]))
"""


def test_it_trains_while_the_host_computes(run_python, plugin):
    done = run_python(TRAIN, LTC_DEVICE=str(plugin))
    mine, eager, metrics = json.loads(done.stdout.splitlines()[-1])
    assert mine == pytest.approx(eager, rel=1e-4)
    assert metrics["execute.host_calls"] > 0
    assert metrics["execute.host_call_bytes"] > 0
