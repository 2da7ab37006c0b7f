# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many threads a program's loops use."""

import pytest

# Long enough for more than one thread, run often enough to be judged so. A
# team's threads inherit their leader's name, and end when it is idle.
STEPS = """
import contextlib, os, time, torch
if {threads}:
    torch.set_num_threads({threads})

def queue_threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it ended
            names.append(open(f"/proc/self/task/{{task}}/comm").read())
    return names.count("ltc-queue\\n")

x = torch.randn(2000, 2000).to("lazy")
most = 0
for _ in range(20):
    x = torch.tanh(x).exp().sin()
    torch.lazy.mark_step()
    torch.lazy.synchronize()
    most = max(most, queue_threads())
deadline = time.monotonic() + 20
while queue_threads() > 1 and time.monotonic() < deadline:
    time.sleep(0.01)
print(most, queue_threads(), torch.get_num_threads())
"""


@pytest.mark.parametrize(
    ("by_environment", "by_call"), [(2, None), (1, 3)], ids=["environment", "call"]
)
def test_a_long_program_uses_as_many_threads_as_torch_until_it_is_done(
    by_environment, by_call, run_python
):
    """It is first measured on one thread; afterwards it has all of them. An
    idle queue keeps none: they would slow down all that eager PyTorch does.
    """
    program = STEPS.format(threads=by_call)
    done = run_python(program, OMP_NUM_THREADS=str(by_environment))
    most, at_rest, wanted = done.stdout.split()
    assert most == wanted
    assert at_rest == "1"
