# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices of several drivers in one process: numbers, names, copies, training."""

import json

import pytest

BOTH = {"LTC_DEVICE": "cpu,emulator"}

TRAIN_AT_ONCE = """
import json
import torch
import torch_ltc
from torch import nn


def make(device, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)).to(device)
    return model, torch.optim.AdamW(model.parameters(), 1e-2)


def step(model, optimizer, device, x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    loss.backward()
    optimizer.step()
    return loss.detach()


def train(devices):
    pairs = [make(device, seed) for seed, device in enumerate(devices)]
    torch.manual_seed(7)
    losses = []
    for _ in range(12):
        x, y = torch.randn(8, 16), torch.randint(4, (8,))
        losses += [step(*pair, at, x, y) for pair, at in zip(pairs, devices)]
    state = [value.cpu() for model, _ in pairs for value in model.state_dict().values()]
    return [loss.cpu() for loss in losses], state


for mine, eager in zip(train(["lazy:0", "lazy:1"]), train(["cpu", "cpu"])):
    for one, other in zip(mine, eager, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
assert torch.lazy.memory_allocated(0) > 0 and torch.lazy.memory_allocated(1) >= 0
print(json.dumps(torch_ltc.metrics.snapshot()))
"""


def test_two_models_train_at_once_on_devices_of_two_drivers(run_python):
    done = run_python(TRAIN_AT_ONCE, **BOTH)
    metrics = json.loads(done.stdout.splitlines()[-1])
    assert metrics["execute.host_calls"] > 0  # of the emulator
    assert metrics["codegen.graphs"] > 0


NAMES = """
import torch

print(torch.lazy.device_count())
for i in range(torch.lazy.device_count()):
    about = torch.lazy.get_device_properties(i)
    print(torch.lazy.get_device_name(i), about.driver, about.properties["target"][:4])
print(torch.lazy.mem_get_info("lazy:2"), torch.lazy.mem_get_info(0)[1] > 1 << 28)
x = torch.ones(5, device="lazy:2")
torch.lazy.synchronize(2)
free, total = torch.lazy.mem_get_info(2)
print(total - free == torch.lazy.memory_reserved(2) > 0)
print(torch.lazy.get_device_properties(2).multi_processor_count)
"""


def test_devices_are_numbered_in_the_order_of_their_drivers(run_python):
    options = "emulator.memory_limit=1000000,emulator.delay_us=10"
    done = run_python(
        NAMES,
        LTC_DEVICE="null,emulator",
        LTC_DEVICE_OPTIONS=options,
        LTC_CPU_DEVICES="2",
    )
    assert done.stdout.splitlines() == [
        "4",
        "ltc null:0 null cpu:",
        "ltc null:1 null cpu:",
        "ltc emulator:0 emulator cpu:",
        "ltc emulator:1 emulator cpu:",
        "(1000000, 1000000) True",
        "True",
        "1",
    ]


COPIES = """
import torch
import torch_ltc

torch.manual_seed(0)
x = torch.randn(37, 5)
metrics = torch_ltc.metrics.snapshot


def copies():
    found = metrics()
    names = ("execute.device_copies", "execute.device_copies_by_host")
    return [found.get(name, 0) for name in names]


a = x.to("lazy:{first}") * 2
b = a.to("lazy:{second}")
assert b.device == torch.device("lazy:{second}")
c = torch.zeros(5, 37, device="lazy:{second}").t()
c.copy_(a + 1)
d = a.t().to("lazy:{second}", torch.float64)
empty = a[:0].to("lazy:{second}")
a.add_(100)  # what was copied stays
torch.lazy.mark_step(device=a.device)
assert torch.equal((b + 1).cpu(), x * 2 + 1)
assert torch.equal(c.cpu(), x * 2 + 1) and c.stride() == (1, 37)
assert torch.equal(d.cpu(), (x * 2).t().double())
assert empty.cpu().shape == (0, 5)
assert torch.equal(a.cpu(), x * 2 + 100)
assert torch.equal(b.to(a.device).cpu(), x * 2)
for _ in range(20):
    b = (b + 1).to(a.device).sub_(0.5).to("lazy:{second}")
torch.testing.assert_close(b.cpu(), x * 2 + 10)
grad = torch.ones(3, device=a.device, requires_grad=True)
(grad.to("lazy:{second}") * 3).sum().backward()
assert grad.grad.device == a.device and grad.grad.tolist() == [3, 3, 3]
print(*copies())
"""


@pytest.mark.parametrize(
    ("devices", "first", "second", "through_host"),
    [
        ("cpu", 0, 1, True),
        ("emulator", 0, 1, False),
        ("cpu,emulator", 0, 2, True),
        ("cpu,emulator", 3, 1, True),
    ],
)
def test_copies_between_devices(run_python, devices, first, second, through_host):
    done = run_python(
        COPIES.format(first=first, second=second),
        LTC_DEVICE=devices,
        LTC_CPU_DEVICES="2",
    )
    copies, by_host = map(int, done.stdout.split())
    assert copies >= 45
    assert by_host == (copies if through_host else 0)


def test_a_copy_does_not_wait(run_python):
    code = """
import time
import torch

x = torch.ones(4).to("lazy:0")
start = time.perf_counter()
y = (x + 1).to("lazy:1")
passed = time.perf_counter() - start
z = (y * 2).cpu()
assert z.tolist() == [4, 4, 4, 4]
begin = time.perf_counter()
y = (x + 1).to("lazy:1") * 2
queued = time.perf_counter() - begin
y.cpu()
assert queued < (time.perf_counter() - begin) / 2, queued
"""
    run_python(
        code,
        LTC_DEVICE="emulator",
        LTC_CPU_DEVICES="2",
        LTC_DEVICE_OPTIONS="delay_us=200000",
    )


def test_a_failure_goes_with_the_copy(run_python):
    code = """
import torch
import torch_ltc

x = torch.arange(4.0).to("lazy:0")
y = x[torch.tensor([1, 9]).to("lazy:0")].to("lazy:1") + 1
try:
    y.cpu()
    print("nothing was raised")
except IndexError as error:
    print("index" in str(error), "program.py" in str(error))
print((x.to("lazy:1") + 1).tolist())
"""
    out = run_python(code, **BOTH).stdout.splitlines()
    assert out == ["True True", "[1.0, 2.0, 3.0, 4.0]"]


def test_graphs_never_mix_devices(run_python):
    code = """
import torch

x, y = torch.ones(2, device="lazy:0"), torch.ones(2, device="lazy:1")
joined, added = lambda a, b: torch.cat([a, b]), lambda a, b: a.add_(b)
for op in (torch.add, torch.dot, joined, added):
    try:
        op(x, y)
        print("nothing was raised")
    except RuntimeError as error:
        print(str(error).splitlines()[0])
print((x + y.to("lazy:0")).tolist())
"""
    *errors, last = run_python(code, **BOTH).stdout.splitlines()
    assert len(errors) == 4 and last == "[2.0, 2.0]"
    for error in errors:
        assert "Expected all tensors to be on the same device" in error
        assert "lazy:0" in error and "lazy:1" in error


def test_events_are_timed_by_each_device(run_python):
    code = """
import torch

def timed(device):
    start, end = (torch.lazy.Event(enable_timing=True) for _ in range(2))
    stream = torch.lazy.Stream(device)
    x = torch.ones(4, device=device)
    start.record(stream)
    y = (x + 1).sum()
    end.record(stream)
    assert not end.query() or device == "lazy:0"
    end.synchronize()
    return start, end

host, late = timed("lazy:0"), timed("lazy:1")
assert host[0].elapsed_time(host[1]) >= 0
# Each piece of work begins 500 ms later.
assert 400 < late[0].elapsed_time(late[1]) < 50000, late[0].elapsed_time(late[1])
assert host[0].elapsed_time(late[1]) > 0
torch.lazy.current_stream("lazy:0").wait_stream(torch.lazy.current_stream("lazy:1"))
"""
    run_python(code, LTC_DEVICE_OPTIONS="emulator.delay_us=500000", **BOTH)


def test_torch_xlas_names_of_devices_are_their_drivers(run_python):
    code = """
import torch_ltc.compat.xla_model as xm

devices = xm.get_xla_supported_devices()
print(xm.xla_device_hw(devices[1]), xm.xla_real_devices(devices))
"""
    out = run_python(code, **BOTH).stdout
    assert out == "EMULATOR ['CPU:0', 'EMULATOR:0']\n"


def test_a_copy_between_devices_is_no_sync(run_python):
    code = """
import torch
import torch_ltc

x = torch.ones(4).to("lazy:0")
with torch_ltc.no_sync():
    y = (x + 1).to("lazy:1")
print((y * 2).tolist())
rows = [row for row in torch_ltc.syncs() if row.cause == "device_copy"]
print([(row.count, row.graphs, row.place.line) for row in rows])
"""
    out = run_python(code, **BOTH).stdout.splitlines()
    assert out == ["[4.0, 4.0, 4.0, 4.0]", "[(1, 1, 7)]"]


def test_a_driver_that_cannot_be_used_is_left_out(run_python, tmp_path):
    code = """
import torch

print(torch.lazy.device_count(), torch.lazy.get_device_name(1))
print((torch.ones(2, device="lazy:1") + 1).tolist())
"""
    done = run_python(code, LTC_DEVICE="cpu, nosuch ,emulator")
    assert done.stdout.splitlines() == ["2 ltc emulator:0", "[2.0, 2.0]"]
    told = [line for line in done.stderr.splitlines() if "nosuch" in line]
    assert len(told) == 1 and "LTC_DEVICE goes on without nosuch" in told[0]
    done = run_python(
        "import torch; torch.ones(1).to('lazy')",
        returncode=1,
        LTC_DEVICE="nosuch,neither",
    )
    assert "cannot use the driver" in done.stderr and "nosuch" in done.stderr


def test_a_model_in_two_parts(run_python):
    code = """
import torch
from torch import nn

def run(devices):
    torch.manual_seed(0)
    first, second = nn.Linear(8, 16).to(devices[0]), nn.Linear(16, 4).to(devices[1])
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
    losses = []
    for _ in range(6):
        x = torch.randn(5, 8)
        hidden = first(x.to(devices[0])).relu()
        loss = second(hidden.to(devices[1])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack([loss.cpu() for loss in losses])

torch.testing.assert_close(run(["lazy:0", "lazy:1"]), run(["cpu", "cpu"]))
"""
    run_python(code, **BOTH)
