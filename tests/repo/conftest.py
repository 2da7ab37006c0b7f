# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the repository's own tests share: its files, and one build of it."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def files():
    """Paths of all files that git tracks or would add, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [Path(line) for line in listed.splitlines() if (ROOT / line).is_file()]


@pytest.fixture(scope="session")
def build():
    """Look in LTC_TEST_BUILD, or in build/release."""
    folder = ROOT / os.environ.get("LTC_TEST_BUILD", "build/release")
    if not folder.is_dir():
        pytest.skip(f"{folder} is not built")
    return folder
