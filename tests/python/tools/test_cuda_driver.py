# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The driver cuda, over the GPUs of tests/fake_cuda or over none at all.

FAKE_CUDA says what those are like. Values of kernels are in test_gpu_kernels.py,
training in test_emulator.py, the contract in tests/conformance.
"""

import ctypes

import pytest

ONE = """
import torch

try:
    print(torch.ones(3).to("lazy").tolist())
except RuntimeError as error:
    print(error)
"""


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="there is a driver of NVIDIA's here")
def test_without_a_driver_one_sentence_says_so(run_python):
    lines = run_python(ONE, LTC_DEVICE="cuda").stdout.splitlines()
    assert lines[0].startswith("there is no NVIDIA driver here: libcuda.so.1: ")
    assert lines[0].endswith("; LTC_DEVICE=cpu needs none")
    assert len(lines) == 2 and "device failed" in lines[1]


@pytest.mark.skipif(has_driver(), reason="there is a driver of NVIDIA's here")
def test_of_several_drivers_it_is_left_out_with_a_warning(run_python):
    done = run_python(ONE, LTC_DEVICE="cuda,cpu")
    assert done.stdout == "[1.0, 1.0, 1.0]\n"
    assert "LTC_DEVICE goes on without cuda: there is no NVIDIA driver" in done.stderr


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        ("version=11040", "the NVIDIA driver is too old: it serves CUDA 11.4, and"),
        ("init=803", "there are two versions of CUDA here: libcuda.so.1 is for 12.4,"),
        pytest.param(
            "devices=0",
            "the NVIDIA driver finds no GPU, and CUDA_VISIBLE_DEVICES is ''",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "capability=75",
            "the GPU Fake GPU has compute capability 7.5, and 8.0 or later",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence(run_python, fake_cuda, gpus, words):
    done = run_python(ONE, **fake_cuda, FAKE_CUDA=gpus, CUDA_VISIBLE_DEVICES="")
    assert done.stdout.startswith(words)
    assert len(done.stdout.splitlines()) == 2


ABOUT = """
import torch

print(torch.lazy.device_count(), torch.lazy.get_device_name(1))
about = torch.lazy.get_device_properties(0)
print(about.driver, about.properties["target"], about.properties["cuda_version"])
free, total = torch.lazy.mem_get_info(0)
x = torch.zeros(1 << 20).to("lazy")
torch.lazy.synchronize()
print(total, free - torch.lazy.mem_get_info(0)[0], torch.lazy.memory_allocated())
start, end = (torch.lazy.Event(enable_timing=True) for _ in range(2))
start.record()
for _ in range(3):
    x = x + 1
    torch.lazy.mark_step()
end.record()
end.synchronize()
print(0 < start.elapsed_time(end) < 60_000)
"""


@pytest.mark.parametrize(
    ("capability", "chip"), [(120, 90), pytest.param(86, 86, marks=pytest.mark.slow)]
)
def test_it_says_what_the_gpus_are(run_python, fake_cuda, capability, chip):
    gpus = f"memory=1000000000,capability={capability}"
    lines = run_python(ABOUT, **fake_cuda, FAKE_CUDA=gpus).stdout.splitlines()
    assert lines == [
        "2 Fake GPU",
        f"cuda nvptx:nvptx64-nvidia-cuda:sm_{chip}:+ptx80 12.4",
        f"1000000000 {4 << 20} {4 << 20}",
        "True",
    ]


SEVERAL = """
import torch
import torch_ltc

x = torch.arange(6.0).to("lazy:0")
y = (x * 2).to("lazy:1")
z = (y + 1).to("lazy:0")
print((z - x).tolist(), y.device)
metrics = torch_ltc.metrics.snapshot()
print(metrics["execute.device_copies"], metrics.get("execute.device_copies_by_host", 0))
"""


def test_several_gpus_copy_to_each_other(run_python, fake_cuda):
    done = run_python(SEVERAL, **fake_cuda, FAKE_CUDA="devices=2,delay_us=300")
    assert done.stdout.splitlines() == [
        "[1.0, 2.0, 3.0, 4.0, 5.0, 6.0] lazy:1",
        "2 0",
    ]


LITTLE_MEMORY = """
import torch

x = torch.ones(1 << 16).to("lazy")
try:
    print((x.repeat(100) + 1).sum().item())
except torch.OutOfMemoryError as error:
    print(str(error).splitlines()[0])
print((x.repeat(2) + 1).sum().item())
"""


@pytest.mark.parametrize(
    "limit",
    [
        {"LTC_MEMORY_LIMIT_BYTES": str(6 << 20)},
        pytest.param({}, marks=pytest.mark.slow),
    ],
)
def test_too_little_memory_is_pytorchs_error(run_python, fake_cuda, limit):
    gpus = f"memory={8 << 20}"
    done = run_python(LITTLE_MEMORY, **fake_cuda, **limit, FAKE_CUDA=gpus)
    first, second = done.stdout.splitlines()
    assert "out of memory: cannot allocate " in first
    assert " bytes on Fake GPU while " in first
    assert ("LTC_MEMORY_LIMIT_BYTES 6291456" in first) == bool(limit)
    assert second == str(float(4 << 16))


LOST = """
import torch

x = torch.ones(4).to("lazy")
for i in range(2):
    try:
        print((x + i).tolist())
    except RuntimeError as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""


def test_a_lost_gpu_says_what_is_left_to_do(run_python, fake_cuda):
    done = run_python(LOST, **fake_cuda, FAKE_CUDA="lose_at=1")
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("DeviceError")
        assert "an illegal memory access was encountered" in line
        assert "the process can use this GPU no more and is to be started" in line


OPTION = """
import torch
import torch_ltc

torch_ltc.settings.device_options = "delay_us=3"
try:
    torch.ones(3).to("lazy")
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""


def test_it_has_one_option(run_python, fake_cuda):
    assert run_python(OPTION, **fake_cuda).stdout == (
        "the driver cuda has no option delay_us: its option is memory_limit, in bytes\n"
    )


GRAPHS = """
import torch
import torch_ltc


def counts():
    torch.lazy.synchronize()
    every = torch.lazy.get_device_properties().statistics
    names = ("graphs", "queued_unlike", "queued_refused", "split_checks")
    return [every[name] for name in names]


def step(x, y, index):
    x.mul_(1.5).add_(y.softmax(0))
    return torch.cat([x[index], y.flip(0)]).softmax(0).sum() * (x.max() - y.mean())


def run(device, indices):
    torch.manual_seed(0)
    x, y = torch.randn(40).to(device), torch.randn(40).to(device)
    results = []
    for index in indices:
        try:
            results.append(step(x, y, torch.tensor(index).to(device)).item())
        except (IndexError, RuntimeError):
            results.append(None)
            x, y = x.detach().clone(), y.detach().clone()
        y = y * 0.5
    return torch.tensor([r for r in results if r is not None]), x.cpu()


before = counts()
indices = [[0, i, 39] for i in range(7)]
with torch_ltc.profile() as profile:
    results = run("lazy", indices)
for found, wanted in zip(results, run("cpu", indices), strict=True):
    torch.testing.assert_close(found, wanted)
told = [after - was for was, after in zip(before, counts())]
(row,) = profile.step_graphs
print(*told)
print(row.launched, *[row.queued.get(name, 0) for name in ("unlike", "refused")],
      row.split.get("checks", 0))
print(str(row) in str(profile), str(torch_ltc.explain().step_graphs[0]).split("\\n"))
bad = [[0, 1, 2]] * 5 + [[0, 40, 1]] + [[0, 1, 2]] * 3
found, x = run("lazy", bad)
print(len(found), x.isfinite().all().item())
"""


@pytest.mark.parametrize("graphs", [1, 0])
def test_steps_that_repeat_themselves_are_one_cuda_graph(run_python, fake_cuda, graphs):
    """Checks are read behind it; a failed one fails what needs it."""
    gpus = f"graphs={graphs},delay_us=100"
    counted, profiled, told, failed = run_python(
        GRAPHS, **fake_cuda, FAKE_CUDA=gpus
    ).stdout.splitlines()
    launched, unlike, refused, split = map(int, counted.split())
    assert profiled == counted
    assert told.startswith("True ['lazy:0 launched ")
    assert failed == "5 True"  # as on the CPU: what follows is the failed step's
    if graphs:
        assert "times one by one: the two runs before did other steps" in told
        assert unlike > 0 and not split and not refused
        assert launched >= 4
    else:
        assert "one by one: the driver has no graphs, or refused this one" in told
        assert not launched and refused > 0


BAD_BATCH = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(5, 8), nn.Flatten(), nn.Linear(24, 1)).to("lazy")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)


def step(words):
    words = torch.tensor(words).to("lazy")
    loss = model(words).square().mean()  # LINE
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def state():
    moments = (v for s in optimizer.state.values() for v in s.values())
    return [v.detach().cpu() for v in [*model.parameters(), *moments]]


good = [[0, 1, 2], [3, 4, 0]]
for _ in range(4):
    step(good)
before = state()
try:
    step([[0, 1, 2], [3, 5, 0]]).item()
except IndexError as error:
    print(error)
print(all(torch.equal(was, now) for was, now in zip(before, state(), strict=True)))
print(step(good).item() < before[0].abs().sum().item())
"""


def test_a_bad_index_leaves_a_model_as_it_was(run_python, gpu):
    """The report names op, shapes and line; the next step goes on."""
    done = run_python(BAD_BATCH, **gpu)
    *lines, same, goes_on = done.stdout.splitlines()
    text = "\n".join(lines)
    assert "5 is out of bounds for a dimension of size 5" in text
    assert "aten::embedding" in text and "f32[5, 8]" in text
    line = 1 + BAD_BATCH.splitlines().index(
        next(row for row in BAD_BATCH.splitlines() if row.endswith("# LINE"))
    )
    assert f"program.py:{line}" in text
    assert (same, goes_on) == ("True", "True")
