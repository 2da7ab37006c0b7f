# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads that record, sync and read at the same time, on one device and on two."""

import pytest

# The threads are the first to touch the device, too.
PROGRAM = """
import sys, threading
import torch
import torch_ltc

ROUNDS, DEVICES = {rounds}, {devices}
wrong = []


def work(number):
    device = f"lazy:{{number % DEVICES}}"
    x = torch.full((16, 16), float(number), device=device)
    w = torch.ones(16, 16, device=device, requires_grad=True)
    total = torch.zeros((), device=device)
    for i in range(ROUNDS):
        value = number * (i + 1) + number
        y = (x * (i + 1)).relu() + number
        total += y[0, 0]
        mean = y.mean()
        if i % 7 == 0:
            torch.lazy.mark_step(device=number % DEVICES)
        if i % 3 == 0 and mean.item() != value:
            wrong.append((number, i, "mean", mean.item(), value))
        if i % 11 == 0:
            (w * y).sum().backward()
            if w.grad.cpu().unique().tolist() != [value]:
                wrong.append((number, i, "grad", w.grad[0, 0].item(), value))
            w.grad = None
        if i % 13 == 0:
            other = y.to(f"lazy:{{(number + 1) % DEVICES}}")
            if (other + 1)[3, 3].item() != value + 1:
                wrong.append((number, i, "moved", value + 1))
        if i % 17 == 0:
            try:
                torch.ones(3, device=device) + torch.ones(4, device=device)
                wrong.append((number, i, "no error"))
            except RuntimeError:
                pass
    expected = sum(number * (i + 1) + number for i in range(ROUNDS))
    if abs(total.item() - expected) > 1e-5 * expected:
        wrong.append((number, "total", total.item(), expected))
    finished.append(number)


finished = []
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(finished), wrong[:5])
"""


# Views of a written tensor take its new value when they are read, here by all
# threads at once; nonzero() cannot be recorded, and asks for data meanwhile.
READERS = """
import threading
import torch
import torch_ltc

THREADS, ROUNDS = 6, 40
wrong = []
base = torch.zeros(8, 4, device="lazy")
views = [base[i] for i in range(8)] + [base.t(), base.view(2, 16)]
start, done = threading.Barrier(THREADS + 1), threading.Barrier(THREADS + 1)


def read():
    for i in range(1, ROUNDS + 1):
        start.wait()
        sums = [(view.reshape(-1).sum() + view.dim()) for view in views]
        if base.nonzero().shape != (32, 2):
            wrong.append((i, "nonzero"))
        found = [s.item() for s in sums]
        if found != [4 * i + 1] * 8 + [32 * i + 2] * 2:
            wrong.append((i, found))
        done.wait()


threads = [threading.Thread(target=read) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for _ in range(ROUNDS):
    base.add_(1)
    start.wait()
    torch.lazy.mark_step()
    done.wait()
for thread in threads:
    thread.join()
print(wrong[:3])
"""


def test_threads_read_views_of_what_one_has_written(run_python):
    assert run_python(READERS).stdout == "[]\n"


# Results that nobody wants die while another thread's sync computes them.
DROPPERS = """
import sys, threading
import torch
import torch_ltc

sys.setswitchinterval(1e-5)
x = torch.ones(4, device="lazy")
torch.lazy.mark_step()


def drop():
    for _ in range(20000):
        x + 1


def sync():
    while dropping:
        torch.lazy.mark_step(wait=False)


dropping = True
droppers = [threading.Thread(target=drop) for _ in range(3)]
syncs = [threading.Thread(target=sync) for _ in range(2)]
for thread in droppers + syncs:
    thread.start()
for thread in droppers:
    thread.join()
dropping = False
for thread in syncs:
    thread.join()
print((x + 2).tolist())
"""


def test_results_die_while_another_thread_syncs(run_python):
    assert run_python(DROPPERS).stdout == "[3.0, 3.0, 3.0, 3.0]\n"


# PyTorch asks for an index's value with the GIL, without which a kernel that is
# written in Python does not run, and no other thread gets to the end of its sync.
INDEX = """
import faulthandler, threading
import torch
import torch_ltc

faulthandler.dump_traceback_later(60, exit=True)


@torch.library.custom_op("ltc_threads::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


x = torch.arange(64.0, device="lazy")
found = []


def read(number):
    for i in range(20):
        index = twice(torch.full((), number + i, device="lazy"))
        found.append((x[index] - 2 * (number + i)).item())


threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), set(found))
"""


def test_threads_wait_for_an_index_without_the_gil(run_python):
    assert run_python(INDEX).stdout == "80 {0.0}\n"


# One thread writes, the long way, and two read. What they read may be torn, as
# in eager; it is there, and what was written stays. Nothing is computed before
# the end, so that the threads meet often.
READ_WHILE_WRITTEN = """
import faulthandler, sys, threading
import torch
import torch_ltc

faulthandler.enable()
sys.setswitchinterval(1e-5)
x = torch.zeros(8, 8, device="lazy")
y = torch.ones(8, 8, device="lazy")
view, alias = x[:, 2:], x.detach()
wrong, writing = [], True


def read():
    try:
        while writing:
            x + 1; view * 2; x.sum(); view + view; x * y; view.t() + 1; alias + 1
    except BaseException as error:
        wrong.append(repr(error))


readers = [threading.Thread(target=read) for _ in range(2)]
for reader in readers:
    reader.start()
for _ in range({rounds}):
    {writes}
    x.copy_(y)
x.view(-1)[:12].add_(y.view(-1)[:12])
writing = False
for reader in readers:
    reader.join()
expected = torch.ones(64)
expected[:12] = 2
expected = expected.view(8, 8)
for found, wanted in (x, expected), (alias, expected), (view, expected[:, 2:]):
    if not torch.equal(found.cpu(), wanted):
        wrong.append(found.tolist())
print(wrong[:3])
"""


@pytest.mark.parametrize(
    ("writes", "rounds"),
    [
        ("x[:, :3].add_(1); view.mul_(y[:, 2:]); alias.mul_(y)", 5000),
        ("x[1] = y[0]; torch.add(view, 1, out=view)", 5000),
        ("x.as_strided((8, 4), (8, 2)).add_(1)", 200),
    ],
)
def test_a_tensor_is_read_while_another_thread_writes_it(writes, rounds, run_python):
    program = READ_WHILE_WRITTEN.format(writes=writes, rounds=rounds)
    assert run_python(program).stdout == "[]\n"


# In eager, threads that fill different parts of one tensor have no race.
FILLERS = """
import sys, threading
import torch
import torch_ltc

sys.setswitchinterval(1e-5)
THREADS, ROWS = 4, 60
x = torch.zeros(THREADS * ROWS, 3, device="lazy")


def fill(number):
    for row in range(number, THREADS * ROWS, THREADS):
        {write}


threads = [threading.Thread(target=fill, args=(n,)) for n in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
lost = (x.cpu() != torch.arange(1.0, THREADS * ROWS + 1)[:, None]).sum().item()
print(lost)
"""


@pytest.mark.parametrize(
    "write", ["x[row] = row + 1", "x[row].add_(row + 1)", "x[row].fill_(row + 1)"]
)
def test_threads_fill_different_rows_of_one_tensor(write, run_python):
    assert run_python(FILLERS.format(write=write)).stdout == "0\n"


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("rounds", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_eight_threads_get_their_own_values(rounds, devices, run_python):
    program = PROGRAM.format(rounds=rounds, devices=devices)
    done = run_python(program, LTC_CPU_DEVICES=str(devices), timeout=300)
    assert done.stdout == "[0, 1, 2, 3, 4, 5, 6, 7] []\n", done.stderr


# A graph has what one thread recorded: it does not depend on how they took turns.
OWN_GRAPHS = """
import threading
import torch
import torch_ltc

x = torch.ones(8, 8, device="lazy") * 2


def train(steps):
    model = torch.nn.Linear(8, 8, device="lazy")
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        (model(x) - 1).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def together(count, steps):
    threads = [threading.Thread(target=train, args=(steps,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.lazy.synchronize()


together(1, 5)  # computes x, too
together(1, 5)
compiled = torch.lazy.metrics()["codegen.graphs"]
together(4, 50)
print(torch.lazy.metrics()["codegen.graphs"] - compiled)
"""


def test_threads_that_do_the_same_share_programs(run_python):
    assert run_python(OWN_GRAPHS).stdout == "0\n"


# What another thread is still recording may be an operand, and updated in place by
# both: what a sync leaves pending finds its operands computed, and not donated.
HANDOVER = """
import queue, threading
import torch
import torch_ltc

ROUNDS = 40
batches, wrong = queue.Queue(2), []
shared = torch.arange(4.0, device="lazy")
torch.lazy.synchronize()


def produce():
    running = torch.zeros(4, device="lazy")
    for i in range(ROUNDS):
        running.add_(1)
        half = running * 0.5
        batches.put((half + i, running + shared))
        expected = [(i + 1) / 2 * 3] * 4
        if i % 3 == 0 and (half * 3).tolist() != expected:
            wrong.append((i, "half"))
    if running.tolist() != [ROUNDS] * 4:
        wrong.append("running")


producer = threading.Thread(target=produce)
producer.start()
total = torch.zeros(4, device="lazy")
for i in range(ROUNDS):
    first, second = batches.get()
    total.add_(first)
    if i % 5 == 0:
        torch.lazy.mark_step()
    if second.tolist() != [i + 1 + n for n in range(4)]:
        wrong.append((i, "second", second.tolist()))
producer.join()
expected = sum((i + 1) / 2 + i for i in range(ROUNDS))
if total.tolist() != [expected] * 4:
    wrong.append(("total", total.tolist(), expected))
print(wrong[:3])
"""


def test_a_thread_uses_what_another_is_recording(run_python):
    assert run_python(HANDOVER).stdout == "[]\n"
