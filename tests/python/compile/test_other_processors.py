# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what depends on the length of vectors, as without AVX-512."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "LTC_CPU_TARGET": "x86-64-v3"}
FILES = [
    "values/test_accuracy.py",
    "values/test_attention.py",
    "values/test_convolutions.py",
    "values/test_core_ops.py",
    "values/test_encoder.py",
    "train/test_generation.py",
    "values/test_recurrent_layers.py",
    "tools/test_scripts.py",
]


@pytest.mark.slow
@pytest.mark.skipif(
    "AVX512" not in torch.backends.cpu.get_cpu_capability(),
    reason="where there is none, all tests are without",
)
def test_without_avx512():
    here = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(here / name for name in FILES)],
        env=os.environ | AVX2,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
