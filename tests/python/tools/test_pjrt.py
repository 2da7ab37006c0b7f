# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LTC_DEVICE=pjrt:PATH over the plugin of tests/fake_pjrt, and over a real one.

A real one is what LTC_TEST_PJRT names, or a package of REAL that is installed: 63 MB,
too much for every run of the tests.
"""

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest
import torch_ltc

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = Path(torch_ltc.__file__).parent / "lib"
FAKE = LIBRARIES.resolve().parent / "tests/fake_pjrt.so"
REAL = ("lammps_jax_pjrt_cpu", "fastatomstruct_xla_cpu")


@pytest.fixture
def fake():
    if not FAKE.exists():
        pytest.skip("this build has no tests/fake_pjrt.so")
    return {"LTC_DEVICE": f"pjrt:{FAKE}"}


@pytest.fixture
def real():
    if path := os.environ.get("LTC_TEST_PJRT"):
        return {"LTC_DEVICE": f"pjrt:{path}"}
    for name in REAL:
        if spec := importlib.util.find_spec(name):
            found = Path(spec.origin).parent.glob("*pjrt*.so")
            return {"LTC_DEVICE": f"pjrt:{next(found)}"}
    pytest.skip(f"no PJRT plugin: neither LTC_TEST_PJRT nor {' or '.join(REAL)}")


# Each program ends with a line of JSON: the metrics, and what the device counted.
BEGIN = """
import json
import torch
import torch_ltc

x, w = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(3, 2)
"""
END = """
about = torch.lazy.get_device_properties(torch.lazy.current_device())
print(json.dumps(torch_ltc.metrics.snapshot() | about.statistics))
"""


def counts(done):
    return json.loads(done.stdout.splitlines()[-1])


def test_weights_stay_on_the_plugin(run_python, fake):
    code = """
torch.lazy.set_device(1)
a, b = x.to("lazy"), w.to("lazy")
for _ in range(4):
    b.mul_(0.5).add_(b, alpha=2)
    torch.lazy.mark_step()
torch.lazy.synchronize()
before = torch.lazy.get_device_properties(1).statistics
assert before["launches"] == 4, before
assert before["downloaded_bytes"] == 0, before
# The scalars of a step, and w once.
assert 24 <= before["uploaded_bytes"] < 24 + 4 * 32, before
assert torch.equal((a @ b).cpu(), x @ (w * 1.5**4))
"""
    done = run_python(BEGIN + code + END, FAKE_PJRT_REPORT="1", **fake)
    found = counts(done)
    assert found["codegen.parts"] == 2
    assert found.get("execute.host_calls", 0) == 0
    assert found["downloaded_bytes"] == 16
    assert "fake_pjrt: 0 buffers are left" in done.stderr


def test_devices_are_numbered_through_with_others(run_python, fake):
    code = """
assert torch.lazy.device_count() == 3
names = [torch.lazy.get_device_properties(i).driver for i in range(3)]
assert names == ["cpu", "pjrt", "pjrt"], names
assert torch.lazy.get_device_name(2) == "fake"
sums = [(x.to(f"lazy:{i}") + x.to(f"lazy:{i}")).to("lazy:2") for i in range(3)]
for one in sums:
    assert torch.equal(one.cpu(), x + x)
assert torch.lazy.mem_get_info(1)[1] == 1000000
"""
    run_python(
        BEGIN + code,
        LTC_DEVICE="cpu," + fake["LTC_DEVICE"],
        LTC_DEVICE_OPTIONS="pjrt.memory_limit=1000000",
    )


OPTIONS = "label=two words&devices=1&visible=[3+4]&share=0.5&pinned=false"


def test_a_client_is_made_with_options(run_python, fake):
    code = """
import os

assert torch.lazy.device_count() == 1
assert torch.equal(x.to("lazy").mul(2).cpu(), x * 2)
# Other options make another client.
torch_ltc.settings.device = os.environ["LTC_DEVICE"].replace("devices=1", "label='1'")
assert torch.lazy.device_count() == 2
"""
    device = {"LTC_DEVICE": f"{fake['LTC_DEVICE']}?{OPTIONS}"}
    said = run_python(BEGIN + code, FAKE_PJRT_REPORT="1", **device).stderr
    first = "label='two words' devices=1 visible=2 from 3 share=0.5 pinned=no"
    then = "label='two words' label='1' visible=2 from 3 share=0.5 pinned=no"
    assert f"fake_pjrt: options {first} {then}\n" in said


BETWEEN = """
made = (x.to("lazy:0") @ w.to("lazy:0")).mul(2)
torch.lazy.synchronize()
before = [torch.lazy.get_device_properties(i).statistics for i in (0, 1)]
there = made.to("lazy:1")
again = there.to("lazy:0") + 1  # and back
assert torch.equal((there + there).cpu(), (x @ w) * 4)
assert torch.equal(again.cpu(), (x @ w) * 2 + 1)
assert torch.equal(made.cpu(), (x @ w) * 2)
# What has been read once goes by its bytes.
assert torch.equal(made.to("lazy:1").cpu(), (x @ w) * 2)
after = [torch.lazy.get_device_properties(i).statistics for i in (0, 1)]
copied = [b["copied_bytes"] - a["copied_bytes"] for a, b in zip(before, after)]
print(json.dumps(copied))
"""


@pytest.mark.parametrize(
    ("way", "copied"), [("board", [16, 16]), ("no way", [0, 0]), ("clients", [0, 0])]
)
def test_devices_of_a_client_copy_between_them(run_python, fake, way, copied):
    environment = dict(fake, FAKE_PJRT_REPORT="1")
    if way == "no way":
        environment["FAKE_PJRT_NO_COPY"] = "1"
    elif way == "clients":  # of one plugin
        one = fake["LTC_DEVICE"] + "?devices=1"
        environment["LTC_DEVICE"] = f"{one},{one}&label=other"
    done = run_python(BEGIN + BETWEEN, **environment)
    assert json.loads(done.stdout) == copied
    assert f"fake_pjrt: {2 if way == 'board' else 0} copies" in done.stderr
    assert "fake_pjrt: 0 buffers are left" in done.stderr


def test_each_size_is_compiled_and_few_are_kept(run_python, fake):
    code = """
def step(rows):
    a = torch.ones(rows, 3)
    assert torch.equal((a.to("lazy") @ w.to("lazy") + 1).cpu(), a @ w + 1)


for rows in (1, 2, 3, 4, 4, 3, 1):
    step(rows)
about = torch.lazy.get_device_properties(0).statistics
# Three are kept of each; 1 was let go of for 4, and runs again.
assert (about["compiles"], about["evictions"]) == (5, 2), about
"""
    done = run_python(
        BEGIN + code + END,
        LTC_DEVICE_OPTIONS="pjrt.executables=3",
        FAKE_PJRT_REPORT="1",
        **fake,
    )
    found = counts(done)
    assert found["codegen.parts"] == 4  # the host's compiles: each size once
    assert found.get("cache.dynamic_versions", 0) == 0
    assert re.search(r"fake_pjrt: 0 buffers are left, [0-3] executables", done.stderr)


LEFT = """
def step(x, w, change):
    y = x @ w
    z = change(y + y)
    return (z * y) @ y


CHANGES = {
    "nothing": lambda z: z,
    # The fake has no tanh, and takes what is around it.
    "no such op": lambda z: z.tanh(),
    # A call that checks its operands' values has no form.
    "a check": lambda z: z[torch.tensor([1, 0], device=z.device)],
}
calls = {}
for name, change in CHANGES.items():
    before = torch_ltc.metrics.snapshot().get("execute.host_calls", 0)
    mine = step(x.to("lazy"), w.to("lazy"), change).cpu()
    torch.testing.assert_close(mine, step(x, w, change))
    calls[name] = torch_ltc.metrics.snapshot().get("execute.host_calls", 0) - before
print(json.dumps(calls))
"""


@pytest.mark.parametrize(
    ("environment", "host_calls"),
    [
        ({}, {"nothing": 0, "no such op": 1, "a check": 1}),
        (
            {"FAKE_PJRT_REFUSES": "stablehlo.multiply", "FAKE_PJRT_CODE": "13"},
            {"nothing": 1, "no such op": 2, "a check": 2},
        ),
        # It takes each call alone, but not all of them at once.
        ({"FAKE_PJRT_MOST_OPS": "3"}, {"nothing": 4, "no such op": 1, "a check": 1}),
    ],
)
def test_what_is_refused_is_the_hosts(run_python, fake, environment, host_calls):
    done = run_python(BEGIN + LEFT, **fake, **environment)
    assert json.loads(done.stdout) == host_calls


def test_an_index_out_of_range_is_raised(run_python, fake):
    code = """
w = w.to("lazy")
try:
    print((w + w)[torch.tensor([5], device="lazy")].cpu())
except IndexError as error:
    assert "index 5 is out of bounds" in str(error), error
    print("raised")
assert torch.equal((w + w).cpu(), 2 * torch.arange(6.0).reshape(3, 2))
"""
    assert run_python(BEGIN + code, **fake).stdout == "raised\n"


def test_errors_of_a_run_come_later(run_python, fake):
    code = """
a = x.to("lazy")
fine = a + a
torch.lazy.synchronize()
for _ in range(2):
    broken = a * a
    torch.lazy.mark_step()
    late = broken + 1  # skipped: it has no run
    for one in (broken, late):
        try:
            print(one.cpu())
        except torch_ltc.errors.OutOfMemoryError as error:
            print(str(error).splitlines()[0])
    assert torch.equal(fine.cpu(), x + x)
    assert torch.equal((a - fine).cpu(), -x)
"""
    # The first run is that of `fine`.
    failing = {"FAKE_PJRT_FAILS_RUN": "2", "FAKE_PJRT_FAILS_CALL": "4"}
    lines = run_python(BEGIN + code, **fake, **failing).stdout.splitlines()
    words = ["Event_Await failed: the run was to fail"] * 2
    words += ["LoadedExecutable_Execute failed: the call was to fail"] * 2
    for line, said in zip(lines, words, strict=True):
        assert f"PJRT's {said}" in line and "program.py" in line


def test_a_part_that_fails_loses_nothing(run_python, fake):
    code = """
w = w.to("lazy")
torch.lazy.synchronize()
before = w.cpu()
# The first run succeeds, the second fails; the third is skipped behind it.
for _ in range(3):
    w.mul_(0.5)
    half = w[torch.tensor([2, 1, 0], device="lazy")]  # the host, between two parts
    w.add_(half * half)
    torch.lazy.mark_step()
    if _ == 0:
        before = w.cpu()
try:
    w.cpu()
except torch_ltc.errors.OutOfMemoryError as error:
    said = str(error)
assert "aten::mul.Tensor(f32[3, 2]" in said and "program.py" in said, said
assert "lost" not in said, said
assert torch.equal(w.cpu(), before)
w.mul_(0.5)
assert torch.equal(w.cpu(), before * 0.5)
"""
    # Each step has two parts: its second one fails.
    run_python(BEGIN + code, FAKE_PJRT_FAILS_RUN="4", **fake)


def test_programs_are_kept_on_disk(run_python, fake, tmp_path):
    keeping = fake | {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(tmp_path / "cache")}
    code = """
a = x.to("lazy")
assert torch.equal((a + a * a).cpu(), x + x * x)
"""
    assert counts(run_python(BEGIN + code + END, **keeping))["codegen.parts"] == 1
    again = counts(run_python(BEGIN + code + END, **keeping))
    assert again.get("codegen.parts", 0) == 0
    assert again["launches"] == 1


BAD = [
    ("", {}, "the driver pjrt needs a plugin: LTC_DEVICE=pjrt:/path/to/plugin.so"),
    (":/not/there.so", {}, "cannot use the PJRT plugin /not/there.so: "),
    (f":{LIBRARIES}/libltc_driver_null.so", {}, "it has no symbol GetPjrtApi"),
    (f":{FAKE}", {"FAKE_PJRT_MAJOR": "1"}, "it has PJRT 1, and the driver knows PJRT"),
    (f":{FAKE}?devices", {}, "'devices' is no option of a PJRT client"),
    (f":{FAKE}?visible=[1+x]", {}, "'visible=[1+x]' is no option of a PJRT client"),
    (f":{FAKE}?size=3", {}, "the fake has no such option"),
    (f":{FAKE}?devices=inf", {}, "an option has another type"),
    (f":{FAKE}", {"FAKE_PJRT_NO_CLIENT": "1"}, "no board is plugged in"),
]


def test_a_plugin_that_cannot_be_used_is_named(run_python, fake):
    code = """
import os

for path, environment, _ in {bad!r}:
    os.environ |= environment
    torch_ltc.settings.device = "pjrt" + path
    try:
        print(x.to("lazy").cpu())
    except RuntimeError as error:
        print(str(error).splitlines()[0])
    for name in environment:
        del os.environ[name]
assert torch.equal(x.to("lazy").cpu(), x)  # it retries
"""
    done = run_python(BEGIN + code.format(bad=BAD))
    for line, (*_, words) in zip(done.stdout.splitlines(), BAD, strict=True):
        assert words in line


TRAIN = """
import sys

sys.path.append({examples!r})
import train_digits

torch.set_num_threads(1)


def train(make, device):
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = torch.optim.{optimizer}
    data = train_digits.load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(data.target)
    losses = []
    for start in range(0, 40 * 64, 64):
        at = torch.arange(start, start + 64) % len(images)
        x, y = images[at].to(device), labels[at].to(device)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


MODELS = {{
    "mlp": lambda: train_digits.Mlp(width=64, dropout=0.0),
    "cnn": lambda: train_digits.Cnn(channels=4, dropout=0.0),
}}
make = MODELS[{model!r}]
losses = [train(make, device) for device in ("cpu", "lazy:{device}")]
torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-4)
assert losses[1][-1] < 0.9 * losses[1][0]
torch.lazy.set_device({device})
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "optimizer", "device"),
    [
        ("mlp", "SGD(model.parameters(), 0.05, momentum=0.9)", 0),
        ("cnn", "AdamW(model.parameters(), 0.01)", 1),
    ],
)
def test_a_real_plugin_trains_the_digits(run_python, real, model, optimizer, device):
    examples = str(ROOT / "examples")
    train = TRAIN.format(
        examples=examples, optimizer=optimizer, model=model, device=device
    )
    code = BEGIN + train + END
    found = counts(run_python(code, **real))
    # Of a step, the loss forwards and backwards is the host's: it checks labels.
    assert found["execute.host_calls"] == 2 * found["execute.launches"]
    assert found.get("codegen.parts_refused", 0) == 0


@pytest.mark.slow
def test_devices_of_a_real_plugin_copy_between_them(run_python, real):
    real = {"LTC_DEVICE": real["LTC_DEVICE"] + "?cpu_device_count=2"}
    code = "assert torch.lazy.device_count() == 2\n" + BETWEEN
    assert json.loads(run_python(BEGIN + code, **real).stdout) == [16, 16]


@pytest.mark.slow
def test_an_error_of_a_real_plugin_comes_later(run_python, real):
    code = """
a, b = torch.rand(3000000, 2, device="lazy"), torch.rand(2, 3000000, device="lazy")
torch.lazy.synchronize()
huge = (a @ b).tanh().cumsum(0).sum()
torch.lazy.mark_step()
try:
    print(huge.item())
except torch_ltc.errors.OutOfMemoryError as error:
    assert "Out of memory allocating" in str(error), error
assert torch.equal((x.to("lazy") @ w.to("lazy")).cpu(), x @ w)
"""
    run_python(BEGIN + code, **real)
