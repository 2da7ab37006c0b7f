# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a process, Ctrl-C, and children."""

import pytest

WORK = """
import torch
x = torch.full((1024, 1024), 1 / 1024, device="lazy")
for _ in range(4):
    x = x @ x
torch.lazy.mark_step()
"""


def test_exit_with_queued_work_returns_0(start_python):
    done = start_python(WORK)
    assert done.stderr == ""


def test_exit_with_recorded_work_returns_0(start_python):
    done = start_python(
        WORK + "y = x * 2\nz = torch.nn.Linear(3, 3).to('lazy')(y[:, :3])\n"
    )
    assert done.stderr == ""


def test_exit_handlers_may_still_compute(start_python):
    done = start_python(
        WORK
        + """
import atexit
atexit.register(lambda: print((x.sum() / 1024).round().item()))
"""
    )
    assert done.stdout == "1.0\n"


def test_exit_code_is_the_programs_own(start_python):
    start_python(WORK + "raise SystemExit(7)\n", returncode=7)


def test_an_error_that_nobody_saw_is_told_at_exit(start_python):
    done = start_python("""
import torch
table = torch.rand(4, 2, device="lazy")
rows = torch.nn.functional.embedding(torch.tensor([9], device="lazy"), table)
torch.lazy.mark_step()
""")
    assert "embedding" in done.stderr and "program.py:4" in done.stderr


def test_ctrl_c_while_waiting(start_python):
    done = start_python("""
import os, signal, threading, time, torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & ignores it
x = torch.full((1536, 1536), 1 / 1536, device="lazy")
torch.lazy.synchronize()
for _ in range(40):
    x = x @ x
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    torch.lazy.mark_step(wait=True)
    print("ran to the end", time.monotonic() - start)
except KeyboardInterrupt:
    print("interrupted")
print((torch.ones(2, device="lazy") + 1).tolist())
""")
    assert done.stdout.splitlines()[-1] == "[2.0, 2.0]"
    assert done.stdout.startswith("interrupted"), done.stdout


def test_a_forked_child_can_use_the_cpu_and_exit(start_python):
    done = start_python(
        WORK
        + """
import os
child = os.fork()
if child == 0:
    assert torch.lazy._is_in_bad_fork()
    torch.manual_seed(1)
    print(torch.ones(3).sum().item(), flush=True)
    try:
        torch.ones(2, device="lazy").add(1).cpu()
    except RuntimeError as error:
        print("fork" in str(error), flush=True)
    raise SystemExit(0)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), (x.sum() / 1024).round().item())
"""
    )
    assert done.stdout == "3.0\nTrue\n0 1.0\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_may_be_the_first_to_use_the_device(start_python, method):
    done = start_python(f"""
import multiprocessing, torch

def work():
    print((torch.ones(2, device="lazy") + 1).tolist(), flush=True)

if __name__ == "__main__":
    child = multiprocessing.get_context({method!r}).Process(target=work)
    child.start()
    child.join()
    print(child.exitcode)
""")
    assert done.stdout == "[2.0, 2.0]\n0\n"
