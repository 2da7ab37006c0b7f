# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is quickly seen of each PyTorch that a build serves: tests/versions.sh.

A little of everything that depends on PyTorch's inside: two trainings, an op of each
kind, views and writes, autocast, a state that is saved, the line in an error.
"""

import io
import os

import parity
import pytest
import torch
import torch_ltc
from torch import nn
from torch_ltc import libraries

OPS = [
    "add",
    "softmax",
    "nn.functional.layer_norm",
    "nn.functional.conv2d",
    "nn.functional.avg_pool2d",
    "nn.functional.scaled_dot_product_attention",
    "matmul",
    "sum",
    "cumsum",
    "gather",
    "index_put",
    "linalg.solve",
    "sort",
    "unique",
    "fft.rfft",
]


def mlp():
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 4))


def cnn():
    return nn.Sequential(
        nn.Unflatten(1, (3, 2, 2)),
        nn.Conv2d(3, 8, 3, padding=1, bias=False),  # its gradient would be 0
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32, 4),
    )


def train(make, optimizer, device):
    """Return the losses of ten steps, and what the model and optimizer hold then."""
    torch.manual_seed(0)
    model = make()
    x, y = torch.randn(16, 12), torch.randint(4, (16,))
    model.to(device)
    steps = optimizer(model.parameters())
    losses = []
    for _ in range(10):
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    return losses, model, steps


def test_the_libraries_are_those_of_this_pytorch():
    wanted = os.environ.get("TEST_TORCH", torch.__version__.split("+")[0])
    assert torch.__version__.split("+")[0] == wanted
    folder = f"torch{'.'.join(wanted.split('.')[:2])}"
    torch.ones(1, device="lazy").cpu()
    assert f"/{folder}/" in torch_ltc._C.__file__
    with open("/proc/self/maps") as maps:
        loaded = {line.split()[-1] for line in maps if "libltc_backend" in line}
    assert [path for path in loaded if f"/{folder}/" in path] == list(loaded)


def test_a_start_warns_of_nothing(run_python):
    done = run_python("import torch; torch.ones(1, device='lazy').cpu()")
    lines = [line for line in done.stderr.splitlines() if "CUDA" not in line]
    assert not lines


@pytest.mark.parametrize("make", [mlp, cnn])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_training(make, optimizer, counts):
    expected, model, _ = train(make, optimizer, "cpu")
    counts.restart()
    found, trained, _ = train(make, optimizer, "lazy")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for name, value in model.state_dict().items():
        there = trained.state_dict()[name]
        torch.testing.assert_close(there.cpu(), value, rtol=1e-3, atol=1e-4)
    assert counts["codegen.graphs"] <= 4


@pytest.mark.parametrize("name", OPS)
def test_op(name):
    kinds = [
        (kind, dtype)
        for kind in ("forward", "backward")
        for dtype in (torch.float32, torch.int64)
    ]
    outcomes = parity.check(parity.OPS[name], kinds, limit=4)
    assert outcomes
    assert not [outcome for outcome in outcomes if outcome.problem]


def test_views_and_writes():
    def run(device):
        x = torch.arange(24.0, device=device).reshape(2, 3, 4).requires_grad_()
        y = x * 2
        view = y.transpose(0, 2)[1:, :, 0]
        view.add_(torch.arange(3.0, device=device))
        y[:, 1] = view.sum()
        y.flatten()[::5].mul_(3)
        y.sin().sum().backward()
        return y, x.grad

    for found, wanted in zip(run("lazy"), run("cpu"), strict=True):
        torch.testing.assert_close(found.cpu(), wanted)


def test_a_saved_state_goes_on_under_autocast():
    _, model, optimizer = train(mlp, torch.optim.AdamW, "lazy")
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, map_location="cpu")
    again = mlp()
    again.load_state_dict(state["model"])
    torch.optim.AdamW(again.parameters()).load_state_dict(state["optimizer"])
    x = torch.randn(3, 12)
    with torch.autocast("lazy", dtype=torch.bfloat16):
        found = model(x.to("lazy"))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        wanted = again(x)
    assert found.dtype == wanted.dtype == torch.bfloat16
    torch.testing.assert_close(found.cpu(), wanted)


def test_an_error_names_the_line(run_python):
    done = run_python(
        """
import torch
table = torch.ones(3, 2, device="lazy")
rows = torch.tensor([0, 7], device="lazy")
picked = table.index_select(0, rows)
print(picked.cpu())
""",
        returncode=1,
    )
    assert "program.py:5" in done.stderr
    assert "index_select" in done.stderr


def test_a_class_that_computes_when_it_is_made(run_python):
    """CPython 3.13 enters its __init__ by a frame whose code is read-only."""
    done = run_python("""
import torch

for _ in range(100):
    layer = torch.nn.Linear(2, 2, device="lazy")
print(layer.weight.shape)
""")
    assert done.stdout == "torch.Size([2, 2])\n"


def test_served_versions_are_in_order():
    versions = libraries.served()
    assert versions == sorted(versions, key=lambda v: tuple(map(int, v.split("."))))
    assert libraries.VERSION in versions
