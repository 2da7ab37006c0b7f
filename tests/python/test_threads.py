# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many threads a program's loops use."""

import os
import subprocess
import sys

import pytest

# Long enough for more than one thread, run often enough to be judged so.
STEPS = """
import os, sys, torch
if len(sys.argv) > 1:
    torch.set_num_threads(int(sys.argv[1]))
x = torch.randn(2000, 2000).to("lazy")
for _ in range(6):
    x = torch.tanh(x).exp().sin()
    torch.lazy.mark_step()
    torch.lazy.synchronize()
tasks = [f"/proc/self/task/{task}/comm" for task in os.listdir("/proc/self/task")]
names = [open(task).read() for task in tasks]
# A team's threads inherit their leader's name.
print(names.count("ltc-queue\\n"), torch.get_num_threads())
"""


@pytest.mark.parametrize(
    ("environment", "arguments"),
    [({"OMP_NUM_THREADS": "2"}, []), ({"OMP_NUM_THREADS": "1"}, ["3"])],
    ids=["by environment", "by call"],
)
def test_a_long_program_uses_as_many_threads_as_torch(environment, arguments):
    """It is first measured on one thread; afterwards it has all of them."""
    done = subprocess.run(
        [sys.executable, "-c", STEPS, *arguments],
        env=os.environ | {"LTC_CACHE": "off"} | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found, wanted = done.stdout.split()
    assert found == wanted
