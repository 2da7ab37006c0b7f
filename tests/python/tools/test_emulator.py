# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device with its own memory and thread gives eager's values, and the same errors.

The driver `emulator` stands for an accelerator: launches are queued, the host copies
what it reads, and runs the library calls that the device leaves.
"""

import json
import os
from pathlib import Path

import pytest

TRAINING = """
import json
import torch
import torch_ltc
from torch import nn

NETWORKS = {
    "mlp": lambda: nn.Sequential(
        nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 10)
    ),
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 10)
    ),
}


def train(name, device):
    torch.manual_seed(0)
    network = NETWORKS[name]()
    shape = (64,) if name == "mlp" else (1, 8, 8)
    sizes = (16, 16, 24, 8)
    batches = [(torch.randn(n, *shape), torch.randint(10, (n,))) for n in sizes]
    network.to(device)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-2)
    losses = []
    for x, y in batches * 5:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    state = [value.cpu() for value in network.state_dict().values()]
    return [loss.cpu() for loss in losses], state


for name in NETWORKS:
    for mine, eager in zip(train(name, "lazy"), train(name, "cpu"), strict=True):
        for one, other in zip(mine, eager, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
print(json.dumps(torch_ltc.metrics.snapshot()))
"""

CONFIGURATIONS = {
    "host": {},
    "late": {"LTC_DEVICE_OPTIONS": "delay_us=500"},
    "own products": {"LTC_DEVICE_OPTIONS": "takes=aten::mm+aten::addmm"},
    "own library": {"LTC_DEVICE_OPTIONS": "takes=all,delay_us=200"},
    "all library calls": {"LTC_WITHOUT": "loops"},
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Let the runs compile each graph once: the emulator runs the CPU's code."""
    return {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def host_calls():
    """Keep how many calls the host did, by configuration."""
    return {}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_training_gives_eagers_values(run_python, cache, host_calls, name):
    done = run_python(TRAINING, LTC_DEVICE="emulator", **cache, **CONFIGURATIONS[name])
    metrics = json.loads(done.stdout.splitlines()[-1])
    if name == "own library":
        assert metrics.get("execute.host_calls", 0) == 0
        return
    assert metrics["execute.host_calls"] > 0
    assert metrics["execute.host_call_bytes"] > 0
    host_calls[name] = metrics["execute.host_calls"]
    if name == "own products" and "host" in host_calls:
        assert host_calls[name] < host_calls["host"] / 2


ERRORS = """
import torch

table = torch.arange(12.0).view(4, 3).to("lazy")
weight = torch.ones(3).to("lazy")
other = torch.zeros(2).to("lazy")
total = torch.zeros(3).to("lazy")
good = torch.tensor([0, 3]).to("lazy")
bad = torch.tensor([1, 4]).to("lazy")


def step(index):
    global total
    rows = table[index]  # LINE
    weight.mul_(2)
    total = total + rows.sum(0) * weight


def read(name, value):
    try:
        print(name, value.tolist())
    except Exception as error:
        print(name, type(error).__name__, error)


for index in (good, good, bad, good, good):
    step(index)
    torch.lazy.mark_step()
    other.add_(1)
    torch.lazy.mark_step()
read("total", total)
read("weight", weight)
read("other", other)
step(good)
read("total again", total)
read("weight again", weight)
try:
    torch.lazy.synchronize()
    print("synchronized")
except Exception as error:
    print("synchronize", type(error).__name__, error)
"""


def test_training_by_ptx_gives_eagers_values(run_python, cuda):
    done = run_python(TRAINING, **cuda, FAKE_CUDA="delay_us=20")
    metrics = json.loads(done.stdout.splitlines()[-1])
    assert metrics["execute.host_calls"] > 0


@pytest.mark.parametrize(
    ("without", "takes"), [("", ""), ("loops", ""), ("loops", ",takes=all")]
)
def test_errors_come_late_and_are_the_cpus(run_python, cache, without, takes):
    """The graphs behind one that failed run again, or fail for it, as on the CPU."""
    environment = cache | {"LTC_WITHOUT": without}
    wanted = run_python(ERRORS, LTC_DEVICE="cpu", **environment)
    late = "delay_us=2000" + takes
    found = run_python(
        ERRORS, LTC_DEVICE="emulator", LTC_DEVICE_OPTIONS=late, **environment
    )
    assert found.stdout == wanted.stdout
    assert "index 4 is out of bounds" in wanted.stdout
    assert "other [5.0, 5.0]" in found.stdout


def test_errors_of_ptx_are_the_cpus(run_python, cuda):
    wanted = run_python(ERRORS, LTC_DEVICE="cpu")
    found = run_python(ERRORS, **cuda, FAKE_CUDA="delay_us=500")
    assert found.stdout == wanted.stdout


OPINFO = '''
import parity
import torch
import torch_ltc

NAMES = """
    addmm bmm nn.functional.conv2d nn.functional.scaled_dot_product_attention sort
    topk median cumsum linalg.cholesky linalg.solve linalg.svd fft.rfft nonzero
    unique masked_select nn.functional.max_pool2d nn.functional.grid_sample
""".split()

for name in NAMES:
    for kind in ("forward", "backward"):
        for outcome in parity.check(parity.OPS[name], [(kind, torch.float32)], 1):
            assert not outcome.problem, (name, kind, outcome)
assert not torch_ltc.metrics.snapshot().get("execute.host_calls")
'''


@pytest.mark.slow
def test_calls_on_the_devices_queue_give_eagers_values(run_python, cache):
    """Library calls as an accelerator does them: late, in its memory, in its order."""
    folder = str(Path(__file__).parents[1])
    run_python(
        OPINFO,
        LTC_DEVICE="emulator",
        LTC_DEVICE_OPTIONS="takes=all,delay_us=100",
        LTC_WITHOUT="loops",
        PYTHONPATH=os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]),
        **cache,
    )


def test_a_graph_that_finds_no_memory_waits_for_those_before_it(run_python):
    code = """
import torch
x = torch.ones(1 << 18).to("lazy")  # 1 MiB; queued results hold up to five of it
for i in range(40):
    x = x + 1
    torch.lazy.mark_step()
assert x[0].item() == 41
"""
    run_python(
        code,
        LTC_DEVICE="emulator",
        LTC_DEVICE_OPTIONS="delay_us=2000",
        LTC_MEMORY_LIMIT_BYTES=str(3 << 20),
    )


WRONG_OPTIONS = """
import torch
import torch_ltc

for options in ("delay=3", "delay_us=soon", "delay_us", "=3", ""):
    torch_ltc.settings.device_options = options
    try:
        print(torch.ones(3).to("lazy").tolist())
    except RuntimeError as error:
        print(str(error).splitlines()[0])
"""


def test_wrong_options_are_told_and_right_ones_go_on(run_python):
    lines = run_python(WRONG_OPTIONS, LTC_DEVICE="emulator").stdout.splitlines()
    for line, words in zip(
        lines,
        [
            "the emulator has no option delay: its options are memory_limit,",
            "delay_us is a number",
            "'delay_us' is no option of a device",
            "'=3' is no option of a device",
            "[1.0, 1.0, 1.0]",
        ],
        strict=True,
    ):
        assert words in line


SPANS = """
import torch
import torch_ltc

x = torch.randn(64, 64).to("lazy")
with torch_ltc.profile() as p:
    for _ in range(3):
        y = (x @ x).relu()
        torch.lazy.mark_step()
    total = y.sum().item()
ran = [run for run in p.runs if run.ended]
spans = [span for span in p.device_spans if span.name == "program"]
assert {span.device for span in spans} == {"emulator:0"}, spans
assert len(spans) >= len(ran) > 0, (spans, ran)
SLACK = 1_000_000  # between two looks at two clocks
for run in ran:
    inside = (run.begun - SLACK, run.ended + SLACK)
    assert any(inside[0] <= s.start <= s.end <= inside[1] for s in spans), (run, spans)
"""


def test_a_profile_has_what_the_device_did(run_python):
    options = {"LTC_DEVICE": "emulator", "LTC_DEVICE_OPTIONS": "takes=all"}
    run_python(SPANS, **options)
