# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demo's networks train on other devices, which do all that they can themselves."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch_ltc

ROOT = Path(__file__).resolve().parents[3]
VENDOR = ROOT / "examples/vendor_plugin"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

TRAIN = """
import json
import sys

import torch
import torch_ltc

sys.path.append({examples!r})
import train_digits
import train_text

torch.manual_seed(0)
images, labels = torch.rand(8, 32, 8, 8), torch.randint(10, (8, 32))
letters = torch.randint(30, (8, 4, 17))
shape = train_text.Shape(30, context=16, width=32, heads=2, layers=1, dropout=0.0)
NETWORKS = {{
    "mlp": (lambda: train_digits.Mlp(width=32, dropout=0.0), "sgd", images, labels),
    "cnn": (lambda: train_digits.Cnn(channels=4, dropout=0.0), "adamw", images, labels),
    "gpt": (
        lambda: train_text.Gpt(shape), "adamw", letters[:, :, :-1], letters[:, :, 1:]
    ),
}}
make, optimizer, inputs, targets = NETWORKS[{name!r}]


def train(device):
    torch.manual_seed(1)
    model = make()
    if {name!r} == "cnn":
        inputs_of = lambda x: x[:, None]
    else:
        inputs_of = lambda x: x
    model.to(device)
    step = train_digits.make_optimizer(optimizer, model.parameters())
    losses = []
    for x, y in zip(inputs, targets, strict=True):
        step.zero_grad()
        out = model(inputs_of(x).to(device))
        loss = torch.nn.functional.cross_entropy(
            out.flatten(0, -2), y.flatten().to(device)
        )
        loss.backward()
        step.step()
        losses.append(loss.item())
    return losses


# Losses alone: AdamW makes whole steps of gradients that are nothing but rounding,
# as of a bias before a normalisation.
losses, wanted = train("lazy"), train("cpu")
print(json.dumps([losses, wanted, torch_ltc.metrics.snapshot()]))
"""


def train(run_python, name, **environment):
    code = TRAIN.format(examples=str(ROOT / "examples"), name=name)
    done = run_python(code, **environment)
    losses, wanted, metrics = json.loads(done.stdout.splitlines()[-1])
    assert losses == pytest.approx(wanted, rel=1e-3, abs=1e-4)
    prefix = "execute.host_calls."
    on_host = {key[len(prefix) :] for key in metrics if key.startswith(prefix)}
    return on_host, metrics


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    if not COMPILER:
        pytest.skip("there is no C compiler")
    path = tmp_path_factory.mktemp("board") / "libltc_driver_board.so"
    include = Path(torch_ltc.__file__).parent / "include"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", f"-I{include}"]
    command = [COMPILER, *flags, *VENDOR.glob("*.c"), "-lpthread", "-lm", "-o", path]
    subprocess.run(command, check=True)
    return path


# Of a step's calls the board's compiler has no ops for these, or they have integers.
LEFT = {
    "mlp": {"nll_loss_forward", "nll_loss_backward"},
    "cnn": {
        "add.Tensor",  # counts of batches
        "convolution",
        "convolution_backward",
        "max_pool2d_with_indices",
        "max_pool2d_with_indices_backward",
        "nll_loss_backward",
        "nll_loss_forward",
    },
    "gpt": {
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "arange",
        "cat",
        "embedding",
        "embedding_dense_backward",
        "nll_loss_backward",
        "nll_loss_forward",
        "slice_copy.Tensor",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "cnn", "gpt"])
def test_the_board_leaves_only_what_it_cannot_do(run_python, board, name):
    on_host, metrics = train(run_python, name, LTC_DEVICE=str(board))
    assert metrics["codegen.parts"] > 0
    assert on_host == {f"aten::{op}" for op in LEFT[name]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "cnn", "gpt"])
def test_an_emulator_that_takes_all_leaves_nothing(run_python, name):
    environment = {"LTC_DEVICE": "emulator", "LTC_DEVICE_OPTIONS": "takes=all"}
    on_host, metrics = train(run_python, name, **environment)
    assert not on_host
    assert metrics.get("execute.host_calls", 0) == 0
    assert metrics["execute.launches"] > 0
