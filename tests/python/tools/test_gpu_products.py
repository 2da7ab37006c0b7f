# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of 16-bit matrices are a GPU's own kernels where a recipe says so.

They go by tensor cores (mma.sync, ldmatrix, cp.async), which the emulator has as
functions. No case of these is a library call; what follows a product elementwise is
part of its kernel.
"""

import itertools
import subprocess
from pathlib import Path

import pytest
import torch_ltc
from test_gpu_kernels import find_ptxas

GPU = {"LTC_DEVICE": "emulator", "LTC_CACHE": "off", "LTC_DYNAMIC": "off"}
RACES = GPU | {"LTC_DEVICE_OPTIONS": "target=nvptx,races=report"}
ORDER = GPU | {"LTC_DEVICE_OPTIONS": "target=nvptx,thread_order=3"}


@pytest.fixture
def recipes(tmp_path):
    """Make every such product ours."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    for kind in ("nvptx", "nvptx_emulated"):
        recipe = folder / f"{kind}.recipe"
        recipe.write_text("[target]\nmatrix_work = 1000000000\n")
    return {"LTC_RECIPES": str(folder)}


START = """
import sys

import torch
import torch_ltc
from torch.nn import functional as F


def numbers(*shape):
    return torch.randn(*shape).to(DTYPE)


def check(cases):
    for name, (kernels, compute, tensors) in cases.items():
        before = torch_ltc.metrics.snapshot()
        found = compute(*(x.to("lazy") for x in tensors)).cpu()
        after = torch_ltc.metrics.snapshot()
        made = after["execute.kernels"] - before.get("execute.kernels", 0)
        assert made == kernels, (name, made)
        assert not after.get("execute.host_calls"), name
        exact = compute(*(x.double() for x in tensors))
        size = exact.abs().mean().item()
        torch.testing.assert_close(
            found.double(),
            exact,
            rtol=2e-2,
            atol=(1e-2 if DTYPE == torch.bfloat16 else 2e-3) * size,
            msg=lambda why: name + ": " + why,
        )
        wanted = compute(*tensors)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name


torch.manual_seed(0)
"""

PRODUCTS = """
check({
    "one tile": (1, torch.mm, [numbers(64, 32), numbers(32, 64)]),
    "edges": (1, torch.mm, [numbers(70, 88), numbers(88, 72)]),
    "edges that are not aligned": (1, torch.mm, [numbers(67, 41), numbers(41, 35)]),
    "left across": (1, lambda x, y: x.t() @ y, [numbers(72, 40), numbers(72, 80)]),
    "right across": (1, lambda x, y: x @ y.t(), [numbers(40, 72), numbers(80, 72)]),
    "both across": (
        1,
        lambda x, y: x.t() @ y.t(),
        [numbers(72, 40), numbers(80, 72)],
    ),
    "begins anywhere": (
        1,
        lambda x, y: x[1:, 3:] @ y[3:, 1:],
        [numbers(41, 43), numbers(43, 34)],
    ),
    "batch": (1, torch.bmm, [numbers(3, 33, 24), numbers(3, 24, 40)]),
    "few rows": (1, torch.mm, [numbers(5, 300), numbers(300, 40)]),
    "few rows by columns": (
        1,
        lambda x, y: x @ y.t(),
        [numbers(16, 136), numbers(72, 136)],
    ),
    "one row": (1, torch.mm, [numbers(1, 77), numbers(77, 33)]),
})
"""


@pytest.mark.parametrize(
    "dtype", ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)]
)
def test_values(run_python, recipes, dtype):
    code = START.replace("DTYPE", f"torch.{dtype}") + PRODUCTS.replace(
        "DTYPE", f"torch.{dtype}"
    )
    run_python(code, **ORDER, **recipes)


@pytest.mark.slow
def test_no_race(run_python, recipes):
    run_python(
        (START + PRODUCTS).replace("DTYPE", "torch.bfloat16"), **RACES, **recipes
    )


EPILOGUES = """
X, W, B, R = numbers(70, 40), numbers(72, 40), numbers(72), numbers(70, 72)
COLUMN = numbers(70, 1)
ROW = numbers(4, 136), numbers(72, 136), numbers(72)
check({
    "bias": (1, F.linear, [X, W, B]),
    "bias, GELU": (1, lambda *a: F.gelu(F.linear(*a)), [X, W, B]),
    "bias, ReLU, residual": (
        1,
        lambda x, w, b, r: F.linear(x, w, b).relu() + r,
        [X, W, B, R],
    ),
    "scaled": (
        1,
        lambda x, w, r, c: torch.addmm(r, x, w.t(), beta=2, alpha=0.5) * c,
        [X, W, R, COLUMN],
    ),
    "across": (1, lambda x, w, r: (x @ w.t()).t() + r.t(), [X, W, R]),
    "few rows": (1, lambda *a: F.silu(F.linear(*a)), list(ROW)),
    "what is before stays before": (2, lambda x, w: x.exp() @ w.t(), [X, W]),
    "a sum is another kernel": (2, lambda x, w: (x @ w.t()).sum(1), [X, W]),
    "two products": (3, lambda x, w: F.relu(x @ w.t()) + x @ (w * 1).t(), [X, W]),
})
"""


@pytest.mark.slow
@pytest.mark.parametrize("device", [RACES, ORDER], ids=["races", "order"])
def test_what_follows_is_in_the_kernel(run_python, recipes, device):
    code = (START + EPILOGUES).replace("DTYPE", "torch.bfloat16")
    run_python(code, **device, **recipes)


PTX = """
check({
    "both across, with edges": (
        1,
        lambda x, y: (x.t() @ y.t()).relu(),
        [numbers(40, 24), numbers(72, 40)],
    ),
    "not aligned": (1, torch.mm, [numbers(19, 21), numbers(21, 17)]),
    "few rows": (1, F.linear, [numbers(5, 136), numbers(24, 136), numbers(24)]),
})
"""


@pytest.mark.slow
def test_values_of_ptx(run_python, recipes, cuda):
    code = (START + PTX).replace("DTYPE", "torch.bfloat16")
    run_python(code, **cuda, LTC_CACHE="off", LTC_DYNAMIC="off", **recipes)


TRAINING = """
def train(device):
    torch.manual_seed(0)
    first = torch.nn.Linear(40, 72, dtype=torch.bfloat16)
    second = torch.nn.Linear(72, 24, dtype=torch.bfloat16)
    x = torch.randn(5, 14, 40).to(torch.bfloat16).to(device)
    model = torch.nn.Sequential(first, torch.nn.GELU(), second).to(device)
    loss = model(x).float().pow(2).mean()
    loss.backward()
    return [loss.detach().cpu(), *(p.grad.cpu() for p in model.parameters())]


for found, wanted in zip(train("lazy"), train("cpu"), strict=True):
    scale = wanted.float().abs().mean().item()
    torch.testing.assert_close(found, wanted, rtol=4e-2, atol=4e-2 * scale)
assert not torch_ltc.metrics.snapshot().get("execute.host_calls")
"""


@pytest.mark.slow
def test_gradients(run_python, recipes):
    run_python(START.replace("DTYPE", "torch.bfloat16") + TRAINING, **ORDER, **recipes)


def test_without_a_recipe_they_are_library_calls(run_python):
    code = """
import torch
import torch_ltc

x = torch.randn(64, 64, dtype=torch.bfloat16)
torch.testing.assert_close((x.to("lazy") @ x.to("lazy")).cpu(), x @ x)
assert torch_ltc.metrics.snapshot()["execute.host_calls"] == 1
"""
    run_python(code, **ORDER)


@pytest.mark.long
@pytest.mark.skipif(not find_ptxas(), reason="needs ptxas: nvidia-cuda-nvcc-cu12")
def test_ptxas_takes_the_kernels(run_python, recipes, tmp_path):
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    for code in (PRODUCTS, EPILOGUES):
        for dtype in ("torch.bfloat16", "torch.float16"):
            whole = (START + code).replace("DTYPE", dtype)
            run_python(whole, **ORDER, **recipes, LTC_DUMP=str(dumps))
    graphs = sorted(dumps.glob("*.ltc"))
    assert len(graphs) > 30
    for graph, machine in itertools.product(graphs, ["sm_80", "sm_90"]):
        ltc_opt = Path(torch_ltc.__file__).parents[2] / "bin/ltc-opt"
        options = [f"--cpu={machine}:+ptx80", "--stop-after=codegen", "--print-code"]
        options += ["--target=nvptx", f"--recipes={recipes['LTC_RECIPES']}"]
        text = subprocess.run(
            [ltc_opt, graph, *options], capture_output=True, text=True, check=True
        ).stdout
        asked = graph.read_text()
        if "f16[1, 77]" not in asked:  # a product of one row is a sum
            assert "mma.sync" in text and "ldmatrix" in text, asked
        ptx, cubin = tmp_path / "kernels.ptx", tmp_path / "kernels.cubin"
        for part in text.split("\n.version")[1:]:
            ptx.write_text(".version" + part)
            subprocess.run(
                [find_ptxas(), f"-arch={machine}", ptx, "-o", cubin], check=True
            )
