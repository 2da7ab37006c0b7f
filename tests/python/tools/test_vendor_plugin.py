# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of a vendor's device builds against the package's headers and trains."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch_ltc

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(torch_ltc.__file__).parent
SOURCES = sorted((ROOT / "examples/vendor_plugin").glob("*.c"))
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

pytestmark = pytest.mark.skipif(not COMPILER, reason="there is no C compiler")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    path = tmp_path_factory.mktemp("vendor") / "libltc_driver_board.so"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]
    flags += ["-Wno-unused-parameter"]
    include = f"-I{PACKAGE / 'include'}"
    command = [COMPILER, *flags, "-shared", "-fPIC", include, *SOURCES]
    subprocess.run([*command, "-lpthread", "-lm", "-o", path], check=True)
    needed = subprocess.run(
        ["readelf", "-d", path], capture_output=True, text=True
    ).stdout
    assert "libltc" not in needed.replace("libltc_driver_board", "")
    return path


TRAIN = """
import json
import sys

import torch
import torch_ltc

sys.path.append({examples!r})
import train_digits

losses = {{}}
for device in ("cpu", "lazy"):
    torch.manual_seed(0)
    model = train_digits.Mlp(width=64, dropout=0.0).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    data = train_digits.load_digits()
    images = torch.tensor(data.images, dtype=torch.float32) / 16
    labels = torch.tensor(data.target)
    losses[device] = []
    for start in range(0, 40 * 64, 64):
        at = torch.arange(start, start + 64) % len(images)
        x, y = images[at].to(device), labels[at].to(device)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses[device].append(loss.item())
print(json.dumps([losses, torch_ltc.metrics.snapshot()]))
"""


def test_it_is_a_device_of_few_lines():
    files = [*SOURCES, *SOURCES[0].parent.glob("*.h")]
    assert sum(path.read_text().count("\n") for path in files) <= 500


def test_it_trains_the_digits(run_python, plugin):
    code = TRAIN.format(examples=str(ROOT / "examples"))
    done = run_python(code, LTC_DEVICE=str(plugin))
    losses, metrics = json.loads(done.stdout.splitlines()[-1])
    assert losses["lazy"] == pytest.approx(losses["cpu"], rel=1e-3, abs=1e-4)
    assert losses["lazy"][-1] < 0.7 * losses["lazy"][0]
    # The loss, forwards and backwards; the device took all else, in parts.
    assert metrics["execute.host_calls"] <= 2 * metrics["execute.launches"]
    assert metrics["codegen.parts"] > 0
    assert metrics.get("codegen.parts_refused", 0) == 0
    assert metrics["execute.host_call_bytes"] > 0


def test_ops_that_it_takes_have_eagers_values(run_python, plugin):
    code = """
import torch
import torch_ltc

torch.manual_seed(0)
a, b, c, row = torch.randn(5, 7), torch.randn(7, 3), torch.randn(5, 3), torch.randn(3)
def adamw(*parameters):
    # After two steps, of several numbers of dimensions.
    parameters = [p.detach().clone().requires_grad_() for p in parameters]
    parameters.append(parameters[0].detach()[:, None].clone().requires_grad_())
    step = torch.optim.AdamW(parameters, 0.1)
    for _ in range(2):
        sum((p * p).sum() for p in parameters).backward()
        step.step()
    return torch.cat([p.detach().flatten() for p in parameters])


OPS = {
    "mm": lambda a, b, c, row: a @ b,
    "transposed": lambda a, b, c, row: b.t() @ a.t(),
    "addmm": lambda a, b, c, row: torch.addmm(row, a, b),
    "addmm of a matrix": lambda a, b, c, row: torch.addmm(c, a, b),
    "addmm with factors": lambda a, b, c, row: torch.addmm(c, a, b, beta=2, alpha=3),
    "relu": lambda a, b, c, row: (a - 0.5).relu(),
    "sum": lambda a, b, c, row: a.sum(0),
    "sum of rows": lambda a, b, c, row: a.sum(1),
    "view": lambda a, b, c, row: a.view(7, 5).t().contiguous(),
    "tanh": lambda a, b, c, row: (a / 3).tanh() - a.sqrt().neg(),
    "log_softmax": lambda a, b, c, row: a.log_softmax(1),
    "not a number": lambda a, b, c, row: (a / 0 - a / 0).relu() + a,
    "float64 is the host's": lambda a, b, c, row: a.double() @ b.double(),
    "empty": lambda a, b, c, row: a[:0] @ b,
    "host": lambda a, b, c, row: torch.cumsum(a, 1).softmax(0),
    "adamw": lambda a, b, c, row: adamw(b, c, row),
}
for name, op in OPS.items():
    mine = op(*(x.to("lazy") for x in (a, b, c, row))).cpu()
    torch.testing.assert_close(
        mine, op(a, b, c, row), equal_nan=True, msg=lambda m: f"{name}: {m}"
    )
"""
    run_python(code, LTC_DEVICE=str(plugin))


def test_a_part_that_it_refuses_is_the_hosts(run_python, plugin):
    code = """
import torch
import torch_ltc

x = torch.randn(3, 4, dtype=torch.bfloat16)
mine = (x.to("lazy") @ x.to("lazy").t()).cpu()
torch.testing.assert_close(mine, x @ x.t())
metrics = torch_ltc.metrics.snapshot()
assert metrics["codegen.parts_refused"] == 3, metrics  # also each call alone
assert metrics["execute.host_calls"] == 2, metrics
"""
    run_python(code, LTC_DEVICE=str(plugin))


def test_code_of_its_compiler_is_kept_on_disk(run_python, plugin, tmp_path):
    code = """
import torch
import torch_ltc

x = torch.arange(12.0).reshape(3, 4)
torch.testing.assert_close((x.to("lazy") @ x.to("lazy").t()).cpu(), x @ x.t())
metrics = torch_ltc.metrics.snapshot()
print(metrics.get("codegen.parts", 0), metrics.get("cache.hit.disk", 0))
"""
    found = [
        run_python(
            code, LTC_DEVICE=str(plugin), LTC_CACHE="rw", LTC_CACHE_DIR=str(tmp_path)
        ).stdout.split()
        for _ in range(2)
    ]
    assert found == [["1", "0"], ["0", "1"]]


def test_sizes_that_vary_are_compiled_each(run_python, plugin):
    code = """
import torch
import torch_ltc

weight = torch.randn(8, 8)
for rows in (3, 5, 9, 4, 17):
    x = torch.randn(rows, 8)
    mine = (x.to("lazy") @ weight.to("lazy")).relu().cpu()
    torch.testing.assert_close(mine, (x @ weight).relu())
"""
    run_python(code, LTC_DEVICE=str(plugin))


def test_it_passes_the_conformance_suites(plugin):
    tool = (PACKAGE / "lib").resolve().parent / "bin/ltc-conformance"
    if not tool.exists():
        pytest.skip("this build has no ltc-conformance")
    done = subprocess.run([tool, "--plugin", plugin], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
