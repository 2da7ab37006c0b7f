# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for a GPU give eager's values, where there is no GPU.

The emulator runs the LLVM IR that becomes PTX with a fiber for each thread of a
block, in the order of their numbers and in another. The driver cuda gives PTX to
tests/fake_cuda, which interprets it. ptxas, if there is one, takes the PTX of the
same kernels.
"""

import importlib.util
import pathlib
import shutil
import subprocess

import pytest
import torch_ltc

OPS = """
import torch
import torch_ltc
from torch.nn import functional as F

torch.manual_seed(0)
ROWS = torch.randn(37, 1000)
OTHER = torch.randn(37, 1000)
NARROW = torch.randn(300, 6)
INTEGERS = torch.randint(100, (40, 33))
IMAGE = torch.randn(2, 3, 16, 16)
ODD = torch.randn(33, 1029)

CASES = {
    "pointwise": lambda on: torch.where(
        on(ROWS) > 0, torch.tanh(on(ROWS) * 2) + on(OTHER), on(OTHER).exp()
    ),
    "pointwise, odd": lambda on: on(ROWS[:7, :13]).relu() + 1,
    "pointwise, f64": lambda on: on(ROWS.double()).exp() + on(OTHER.double()).erf(),
    "pointwise, f16": lambda on: on(ROWS.half()) * 2 + on(OTHER.half()),
    "integers": lambda on: on(INTEGERS) // 3 + on(INTEGERS) % 7,
    "broadcast": lambda on: on(ROWS) * on(OTHER[0]) + on(OTHER[:, :1]),
    "softmax": lambda on: on(ROWS).softmax(1),
    "softmax of columns": lambda on: on(ROWS).softmax(0),
    "softmax, bf16": lambda on: on(ROWS.bfloat16()).softmax(1),
    "softmax of short rows": lambda on: on(NARROW).softmax(1),
    "layer norm": lambda on: F.layer_norm(on(ROWS), (1000,), on(OTHER[0])),
    "variance": lambda on: on(ROWS).var(1),
    "sum": lambda on: on(ROWS).sum(),
    "sums of rows": lambda on: on(ROWS).sum(1),
    "sums of columns": lambda on: on(ROWS).sum(0),
    "sum in parts": lambda on: on(torch.randn(600, 257)).sum(0),
    "maxima": lambda on: on(ROWS).amax(1) + on(ROWS).amin(),
    "index of the maximum": lambda on: on(ROWS).argmax(1),
    "index of the first of equals": lambda on: on(INTEGERS // 50).argmax(1),
    "all": lambda on: (on(ROWS) > -9).all(1),
    "sum of integers": lambda on: on(INTEGERS).sum(1),
    "maximum with NaN": lambda on: (on(ROWS) / on(ROWS * 0)).amax(1),
    "transpose": lambda on: on(ROWS).t() + 1,
    "rows by index": lambda on: on(ROWS)[on(INTEGERS[0]) % 37] * 2,
    "concatenation": lambda on: torch.cat([on(ROWS), on(OTHER)], 1) * 2,
    "pooling": lambda on: F.avg_pool2d(on(IMAGE), 3, padding=1),
    "transpose of a part": lambda on: on(ROWS)[1:35, 3:37].t() * on(OTHER)[:34, :34],
    "transposes": lambda on: on(IMAGE).mT + on(IMAGE.flip(1)).mT,
    "softmax of rows that begin anywhere": lambda on: on(ODD).log_softmax(1),
    "index of the maximum of such rows": lambda on: on(ODD).argmax(1),
    "columns of odd rows": lambda on: on(ODD).sum(0) + on(ODD).amax(0),
    "columns of bf16": lambda on: on(torch.randn(130, 256).bfloat16()).float().sum(0),
    "long rows": lambda on: on(torch.randn(3, 6000)).softmax(1),
    "short rows": lambda on: torch.cat(
        [on(ROWS[:, :n]).softmax(1).flatten() for n in (1, 3, 33, 96, 511)]
    ),
    "norms of short rows": lambda on: F.layer_norm(
        on(ROWS.view(-1, 40)), (40,), on(OTHER[0, :40]), on(OTHER[1, :40])
    ),
    "loss of 20,001 classes": lambda on: F.cross_entropy(
        on(torch.randn(2, 20001).bfloat16()).float(), on(INTEGERS[0, :2])
    ),
    "cross entropy": lambda on: F.cross_entropy(on(ROWS), on(INTEGERS[0].new_ones(37))),
}

for name, case in CASES.items():
    torch.manual_seed(1)
    wanted = case(lambda tensor: tensor)
    torch.manual_seed(1)
    found = case(lambda tensor: tensor.to("lazy")).cpu()
    short = wanted.dtype in (torch.bfloat16, torch.float16)
    torch.testing.assert_close(
        found,
        wanted,
        rtol=2e-2 if short else 2e-5,
        atol=1e-3 if short else 2e-5,
        equal_nan=True,
        msg=lambda why, name=name: name + ": " + why,
    )
metrics = torch_ltc.metrics.snapshot()
assert metrics["execute.kernels"] > len(CASES) * 3 / 4
assert not metrics.get("codegen.fallback")
"""


@pytest.mark.parametrize(
    "order", ["permuted", pytest.param("as numbered", marks=pytest.mark.slow)]
)
def test_values_are_eagers(run_python, emulated_gpu, order):
    if order == "permuted":
        emulated_gpu["LTC_DEVICE_OPTIONS"] = "target=nvptx,thread_order=5"
    run_python(OPS, **emulated_gpu, LTC_CACHE="off")


def test_values_of_ptx_are_eagers(run_python, cuda):
    run_python(OPS, **cuda, LTC_CACHE="off")


TRAINING = """
import torch
import torch_ltc
from torch.nn import functional as F

torch.manual_seed(0)
LABELS = torch.randint(1021, (40,))
CASES = {  # what they compute, the tensors that have gradients
    "softmax": (lambda x: x.softmax(1) * x, [(40, 512)]),
    "softmax, bf16": (lambda x: x.softmax(1) * x, [(40, 512)]),
    "layer norm": (
        lambda *a: F.layer_norm(a[0], (384,), *a[1:]),
        [(40, 384), 384, 384],
    ),
    "rms norm": (lambda *a: F.rms_norm(a[0], (384,), a[1]), [(40, 384), 384]),
    "cross entropy": (lambda x: F.cross_entropy(x, LABELS.to(x.device)), [(40, 1021)]),
    "cross entropy of 20,001 classes, bf16": (
        lambda x: F.cross_entropy(x.float(), LABELS[:2].to(x.device)),
        [(2, 20001)],
    ),
    "cross entropy without some": (
        lambda x: F.cross_entropy(
            x, LABELS.to(x.device), x.detach()[0].exp(), ignore_index=int(LABELS[3])
        ),
        [(40, 1021)],
    ),
    "layer norm of short rows": (
        lambda *a: F.layer_norm(a[0], (48,), *a[1:]),
        [(130, 48), 48, 48],
    ),
    "batch norm, ReLU, residual": (
        lambda *a: (F.batch_norm(a[0], None, None, *a[2:], True) + a[1]).relu(),
        [(8, 5, 6, 6), (8, 5, 6, 6), 5, 5],
    ),
    "bias, GELU": (lambda *a: F.gelu(a[0] + a[1]), [(70, 96), 96]),
}


def both_ways(compute, tensors, device):
    leaves = [x.detach().to(device).requires_grad_() for x in tensors]
    y = compute(*leaves)
    (y.float() ** 2).sum().backward()
    return [x.cpu() for x in (y.detach(), *(leaf.grad for leaf in leaves))]


for name, (compute, shapes) in CASES.items():
    short = "bf16" in name
    dtype = torch.bfloat16 if short else torch.float32
    tensors = [torch.randn(shape).to(dtype) for shape in shapes]
    all_found = both_ways(compute, tensors, "lazy")
    all_wanted = both_ways(compute, tensors, "cpu")
    for found, wanted in zip(all_found, all_wanted, strict=True):
        torch.testing.assert_close(
            found,
            wanted,
            rtol=3e-2 if short else 1e-4,
            atol=1e-2 if short else 1e-4,
            msg=lambda why, name=name: name + ": " + why,
        )
assert not torch_ltc.metrics.snapshot().get("codegen.fallback")
"""


def test_gradients_are_eagers(run_python, emulated_gpu):
    run_python(TRAINING, **emulated_gpu, LTC_CACHE="off")


OPTIMIZER = """
import torch
import torch_ltc

torch.manual_seed(0)
shapes = [(40, 30), (64,), (40, 30), (7,), (64,), (40, 30), (40, 30), ()]
start = [torch.randn(shape) for shape in shapes]
gradients = [[torch.randn(shape) for shape in shapes] for _ in range(2)]


def train(device):
    parameters = [torch.nn.Parameter(x.clone().to(device)) for x in start]
    optimizer = torch.optim.AdamW(parameters, lr=0.1)
    for step in gradients:
        for parameter, gradient in zip(parameters, step, strict=True):
            parameter.grad = gradient.to(device)
        optimizer.step()
    return [parameter.detach().cpu() for parameter in parameters]


wanted = train("cpu")
before = torch_ltc.metrics.snapshot().get("execute.kernels", 0)
torch.testing.assert_close(train("lazy"), wanted)
launched = torch_ltc.metrics.snapshot()["execute.kernels"] - before
print(launched)
"""


def test_parameters_share_a_launch(run_python, gpu):
    launched = int(run_python(OPTIMIZER, **gpu, LTC_CACHE="off").stdout)
    # A step: what all need, seven of three shapes, the one without dimensions.
    assert launched == 2 * 3


LONG_ROWS = """
import torch
import torch_ltc

torch.manual_seed(0)
ODD = torch.randn(5, 33001)
ODD[1, ::2] = -torch.inf
ODD[1, :9000] = -torch.inf  # all that some threads see
ODD[2] = -torch.inf
ODD[3, 7] = torch.nan
ODD[4, 30000] = torch.inf
RISING = (torch.arange(33792.0) / 256).expand(2, -1)  # each is a new maximum
CASES = {
    "log softmax": lambda on: on(ODD).log_softmax(1),
    "softmax of what rises": lambda on: on(RISING).softmax(1),
    "log softmax, scaled": lambda on: (on(RISING) * -0.5).log_softmax(1),
    "log softmax, f64": lambda on: on(ODD[:2, :16501].double()).log_softmax(1),
    "log softmax of bf16": lambda on: (
        on(torch.cat([ODD, ODD], 1)[:2].bfloat16()).float().log_softmax(1)
    ),
}
for name, case in CASES.items():
    torch.testing.assert_close(
        case(lambda tensor: tensor.to("lazy")).cpu(),
        case(lambda tensor: tensor),
        rtol=1e-5,
        atol=1e-8,
        equal_nan=True,
        msg=lambda why, name=name: name + ": " + why,
    )
assert not torch_ltc.metrics.snapshot().get("codegen.fallback")
"""


@pytest.mark.slow
def test_rows_longer_than_registers(run_python, gpu, tmp_path):
    """Few rows are whole, not in parts, as many would be."""
    for kind in ("nvptx", "nvptx_emulated"):
        (tmp_path / f"{kind}.recipe").write_text("[target]\nenough_parts = 1\n")
    run_python(LONG_ROWS, **gpu, LTC_CACHE="off", LTC_RECIPES=str(tmp_path))


LONG_LIST = """
import torch
import torch_ltc

torch.manual_seed(0)
start = [torch.randn(3 if i % 3 else 5) for i in range(126)]
gradients = [torch.randn_like(x) for x in start]


def train(device):
    parameters = [torch.nn.Parameter(x.clone().to(device)) for x in start]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.to(device)
    torch.optim.AdamW(parameters, lr=0.1).step()
    return [parameter.detach().cpu() for parameter in parameters]


wanted = train("cpu")
before = torch_ltc.metrics.snapshot().get("execute.kernels", 0)
torch.testing.assert_close(train("lazy"), wanted)
print(torch_ltc.metrics.snapshot()["execute.kernels"] - before)
"""


@pytest.mark.slow
def test_words_in_common_are_passed_once(run_python, gpu):
    """Of a tensor's 13 words nine are all tensors' or another word's."""
    launched = int(run_python(LONG_LIST, **gpu, LTC_CACHE="off").stdout)
    assert launched == 1 + 1  # what all need, the list


DROPOUT = """
import torch
from torch.nn import functional as F

x = torch.ones(50, 70)
kept = []
for device in ("lazy:0", "lazy:1"):
    torch.lazy.manual_seed(3)
    y = F.dropout(x.to(device) * 2, 0.3)
    kept.append(y.cpu())
torch.testing.assert_close(kept[0], kept[1], rtol=0, atol=0)
assert 0.6 < (kept[0] != 0).float().mean() < 0.8
"""


def test_masks_of_dropout_are_the_cpus(run_python):
    devices = {
        "LTC_DEVICE": "cpu,emulator",
        "LTC_DEVICE_OPTIONS": "emulator.target=nvptx",
    }
    run_python(DROPOUT, **devices, LTC_CACHE="off")


OPEN_SIZES = """
import torch
from torch.nn import functional as F

for rows, columns in ((8, 33), (9, 40), (5, 1027), (70, 64), (1, 1)):
    x = torch.randn(rows, columns)
    for compute in (
        lambda x: x.softmax(1) * 2,
        lambda x: x.sum(0) + x.exp().sum(),
        lambda x: torch.tanh(x) + 1,
    ):
        torch.testing.assert_close(compute(x.to("lazy")).cpu(), compute(x))
"""


def test_open_sizes_share_kernels(run_python, gpu):
    run_python(OPEN_SIZES, **gpu, LTC_CACHE="off")


WITHOUT_CODE = """
import torch
import torch_ltc

x = torch.linspace(0, 1e6, 1000, dtype=torch.float64)
torch.testing.assert_close((x.to("lazy") * 2).sin().cpu(), (x * 2).sin())
assert torch_ltc.metrics.snapshot()["codegen.fallback"] == 1
"""


def test_functions_without_code_are_library_calls(run_python, gpu):
    """Sines of large angles in f64 are the C library's, which a GPU has not."""
    err = run_python(WITHOUT_CODE, **gpu, LTC_CACHE="off").stderr
    assert "there is no code for a GPU for the function sin" in err


ERROR = """
import torch

table = torch.ones(4, 3).to("lazy")
weight = torch.ones(3).to("lazy")
rows = table[torch.tensor([1, 4]).to("lazy")]  # LINE
weight.add_(rows.sum(0))
try:
    weight.cpu()
except IndexError as error:
    print(error)
print((table + 1).sum().item())
print(weight.tolist())
"""


def test_index_out_of_range_names_op_and_line(run_python, gpu):
    out = run_python(ERROR, **gpu, LTC_CACHE="off").stdout
    assert "index 4 is out of bounds for dimension 0 with size 4" in out
    assert "program.py:6" in out
    assert "24.0\n[1.0, 1.0, 1.0]" in out


DIVISION = """
import torch

try:
    (torch.arange(8).to("lazy") // torch.arange(8).to("lazy")).cpu()
except RuntimeError as error:
    print(type(error).__name__, str(error).splitlines()[0])
print((torch.arange(8).to("lazy") // 3).tolist())
"""


def test_division_by_zero_is_no_index(run_python, gpu):
    lines = run_python(DIVISION, **gpu, LTC_CACHE="off").stdout.splitlines()
    assert "ZeroDivisionError" in lines[0] and not lines[0].startswith("IndexError")
    assert lines[1] == "[0, 0, 0, 1, 1, 1, 2, 2]"


UNKNOWN = """
import torch
torch.ones(2).to("lazy").cpu()
"""


def test_another_target_is_refused(run_python):
    device = {"LTC_DEVICE": "emulator", "LTC_DEVICE_OPTIONS": "target=tpu"}
    err = run_python(UNKNOWN, **device, returncode=1).stderr
    assert "the emulator's target is cpu or nvptx, not tpu" in err


def find_ptxas():
    """Return the assembler of nvidia-cuda-nvcc-cu12, or of a CUDA toolkit."""
    package = importlib.util.find_spec("nvidia")
    for folder in package.submodule_search_locations if package else ():
        if found := list(pathlib.Path(folder).glob("*/bin/ptxas")):
            return str(found[0])
    return shutil.which("ptxas")


def ptx_of(graph, machine):
    """Return what the kernels of a dumped graph become, or why they do not."""
    ltc_opt = pathlib.Path(torch_ltc.__file__).parents[2] / "bin/ltc-opt"
    options = [f"--cpu={machine}:+ptx80", "--stop-after=codegen", "--print-code"]
    done = subprocess.run(
        [ltc_opt, graph, "--target=nvptx", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not find_ptxas(), reason="needs ptxas: nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize("machine", ["sm_80", "sm_90"])
def test_ptxas_takes_the_kernels(run_python, tmp_path, machine):
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    run_python(OPS, LTC_DUMP=str(dumps), LTC_CACHE="off")
    assembled = 0
    for graph in sorted(dumps.glob("*.ltc")):
        text = ptx_of(graph, machine)
        if "larger than the memory that its threads share" in text:
            continue  # rows of open length, which are compiled for each length
        assert ".entry" in text, text
        ptx = tmp_path / "kernels.ptx"
        ptx.write_text(text)
        done = subprocess.run(
            [find_ptxas(), f"-arch={machine}", ptx, "-o", tmp_path / "kernels.cubin"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, graph.read_text() + done.stderr
        assembled += 1
    assert assembled > 20
