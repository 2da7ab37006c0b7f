# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A crash on a thread of ours is reported as one on the user's, and ends with it."""

import os
import signal
import subprocess
import sys

import pytest

FAULTS = ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT", "SIGSYS"]
OTHERS = ["SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD"]

# Runs on the queue's thread and its helpers: too long to be borrowed.
WORK = """
import torch
x = torch.ones(2048, 2048, device="lazy")
for _ in range(3):
    x = x * 0.5 + x.sin()
    torch.lazy.mark_step()
torch.lazy.synchronize()
"""

THREADS = (
    WORK
    + """
import os
from pathlib import Path

for task in Path("/proc/self/task").iterdir():
    status = dict(
        line.split(":\\t", 1) for line in (task / "status").read_text().splitlines()
    )
    print(task.name, status["Name"].replace(" ", "_"), status["SigBlk"])
"""
)

# The code that was compiled can be run no more, and the next step is the same.
CRASH = """
import ctypes
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
closed = 0
for line in Path("/proc/self/maps").read_text().splitlines():
    place, access, _, device, *path = line.split()
    if access == "r-xp" and device == "00:00" and len(path) == 1:
        begin, end = (int(number, 16) for number in place.split("-"))
        size = ctypes.c_size_t(end - begin)
        assert libc.mprotect(ctypes.c_void_p(begin), size, 0) == 0
        closed += 1
print(closed, "closed", flush=True)
"""


def run(program, tmp_path, *options, **environment):
    script = tmp_path / "program.py"
    script.write_text(program)
    return subprocess.run(
        [sys.executable, *options, str(script)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def mask(names):
    return sum(1 << (getattr(signal, name) - 1) for name in names)


def test_our_threads_block_what_is_for_the_users_and_no_fault(tmp_path):
    done = run(THREADS, tmp_path, OMP_NUM_THREADS="2", LTC_LOG="info")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    blocked = {name: int(bits, 16) for _, name, bits in rows}
    assert "ltc-queue" in blocked
    for name, bits in blocked.items():
        assert not bits & mask(FAULTS), name
    assert blocked["ltc-queue"] & mask(OTHERS) == mask(OTHERS)


def test_a_crash_on_the_queues_thread_is_reported(tmp_path):
    done = run(
        WORK + CRASH + WORK.replace("import torch", ""), tmp_path, "-Xfaulthandler"
    )
    assert done.stdout.split() == ["1", "closed"], done.stdout + done.stderr
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr
    # The user's thread waits, and is not the one.
    assert "program.py" in done.stderr and "Current thread" not in done.stderr


@pytest.mark.parametrize("name", ["SIGBUS", "SIGABRT", "SIGTRAP"])
def test_every_fault_ends_the_process_from_the_queues_thread(tmp_path, name):
    number = getattr(signal, name)
    program = (
        WORK
        + f"""
import ctypes, os, time
from pathlib import Path
tasks = Path("/proc/self/task").iterdir()
(queue,) = [t.name for t in tasks if (t / "comm").read_text() == "ltc-queue\\n"]
tgkill = 234 if os.uname().machine == "x86_64" else 131
assert ctypes.CDLL(None).syscall(tgkill, os.getpid(), int(queue), {int(number)}) == 0
time.sleep(10)
print("it lives")
"""
    )
    done = run(program, tmp_path, "-Xfaulthandler")
    assert done.returncode == -number, done.stdout + done.stderr
    assert done.stdout == ""
    # Python has no handler of a debugger's.
    assert ("Fatal Python error" in done.stderr) == (name != "SIGTRAP")
