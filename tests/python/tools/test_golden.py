# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole programs give what tests/golden keeps of them, on each target."""

import json
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path.append(str(GOLDEN))

import make  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize("target", make.TARGETS)
def test_outputs_are_those_that_are_kept(target, tmp_path):
    wanted = GOLDEN / f"{target}.safetensors"
    if not make.is_here(target):
        pytest.skip(f"this processor runs no code for {target}")
    if not wanted.exists():
        pytest.skip(f"no file for {target} yet: python tests/golden/make.py {target}")
    found = tmp_path / "found.safetensors"
    make.run(target, "lazy", found)
    done = make.compare(found, wanted, target)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_value_that_differs_is_told(tmp_path):
    wanted = GOLDEN / "cpu-avx2.safetensors"
    assert make.compare(wanted, wanted, "cpu-avx2").returncode == 0
    changed = load_file(wanted)
    changed["cnn.losses"] *= 1.001
    found = tmp_path / "changed.safetensors"
    save_file(changed, found)
    done = make.compare(found, wanted, "cpu-avx2")
    assert done.returncode == 1
    assert done.stdout.startswith("cnn.losses: 3 of 3 elements differ")


def test_each_target_has_tolerances_and_a_small_file():
    for target in make.TARGETS:
        table = json.loads((GOLDEN / f"{target}.json").read_text())
        assert {"float64", "float32", "bfloat16", "float16"} < set(table)
        kept = GOLDEN / f"{target}.safetensors"
        # Its file needs a processor that few have.
        assert kept.exists() or target == "cpu-avx512"
        assert not kept.exists() or kept.stat().st_size < 1 << 15
    assert {file.stem for file in GOLDEN.glob("*.json")} == set(make.TARGETS)
