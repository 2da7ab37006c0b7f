# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many threads a program's loops use."""

import pytest

# Long enough for more than one thread, run often enough to be judged so. A
# team's threads inherit their leader's name.
STEPS = """
import os, torch
if {threads}:
    torch.set_num_threads({threads})
x = torch.randn(2000, 2000).to("lazy")
for _ in range(6):
    x = torch.tanh(x).exp().sin()
    torch.lazy.mark_step()
    torch.lazy.synchronize()
tasks = [f"/proc/self/task/{{task}}/comm" for task in os.listdir("/proc/self/task")]
names = [open(task).read() for task in tasks]
print(names.count("ltc-queue\\n"), torch.get_num_threads())
"""


@pytest.mark.parametrize(
    ("by_environment", "by_call"), [(2, None), (1, 3)], ids=["environment", "call"]
)
def test_a_long_program_uses_as_many_threads_as_torch(
    by_environment, by_call, run_python
):
    """It is first measured on one thread; afterwards it has all of them."""
    program = STEPS.format(threads=by_call)
    done = run_python(program, OMP_NUM_THREADS=str(by_environment))
    found, wanted = done.stdout.split()
    assert found == wanted
