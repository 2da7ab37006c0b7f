# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ends like any command of a shell."""

import os
import subprocess
import sys

import pytest

COMMANDS = {
    "doctor": ["doctor"],
    "migrate": ["migrate", "lint", "script.py"],
    "profile": ["profile", "--dir", "run", "script.py"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_has_gone_is_no_error(command, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch\n(torch.ones(3, device='lazy') + 1).sum().item()\n")
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "torch_ltc", *COMMANDS[command]],
        cwd=tmp_path,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert "Pipe" not in ended.stderr, ended.stderr
    assert ended.returncode == 141
