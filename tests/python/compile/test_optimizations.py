# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each optimization can be left out, which changes the code and no value."""

import re
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch import nn

TABLE = Path(__file__).resolve().parents[3] / "include/ltc/optimizations.def"
NAMES = re.findall(r"^LTC_OPTIMIZATION\((\w+)", TABLE.read_text(), re.MULTILINE)


def gradients(device, width):
    """Run a small network forward and backward; the width makes graphs differ."""
    torch.manual_seed(0)
    layers = [nn.Linear(8, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, 3)]
    model = nn.Sequential(*layers).to(device)
    x = torch.randn(16, 8, generator=torch.Generator().manual_seed(1)).to(device)
    (model(x).softmax(-1)[:, 0] * model(2 * x).sum(-1)).sum().backward()
    torch.lazy.synchronize()
    return [p.grad.cpu() for p in model.parameters()]


def kernels_of(width, without):
    before = torch.lazy.metrics().get("execute.kernels", 0)
    with torch_ltc.settings.scope(without=without, cache="off"):
        found = gradients("lazy", width)
    return found, torch.lazy.metrics()["execute.kernels"] - before


@pytest.mark.parametrize("place, without", list(enumerate([*NAMES, ",".join(NAMES)])))
def test_values_do_not_depend_on_it(place, without):
    found, _ = kernels_of(32 + place, without)
    torch.testing.assert_close(found, gradients("cpu", 32 + place))


def trained(device, optimizer):
    torch.manual_seed(0)
    model = nn.Linear(5, 3).to(device)
    optimizer = optimizer(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.linspace(-1, 1, 10).view(2, 5).to(device)).square().sum().backward()
        optimizer.step()
    return [p.detach().cpu() for p in model.parameters()]


@pytest.mark.parametrize(
    "optimizer",
    [
        torch.optim.AdamW,
        lambda p: torch.optim.Adam(p, amsgrad=True, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    ],
)
def test_without_loops_a_step_is_one_call_of_the_library(optimizer):
    with torch_ltc.settings.scope(without="loops"):
        found = trained("lazy", optimizer)
    torch.testing.assert_close(found, trained("cpu", optimizer))


@pytest.mark.parametrize("place, without", list(enumerate(["group", "fuse,group"])))
def test_more_kernels_without(place, without):
    _, fewer = kernels_of(64 + place, "")
    _, more = kernels_of(80 + place, without)
    assert more > fewer


def test_an_unknown_one_is_refused_and_the_known_are_listed():
    with pytest.raises(torch_ltc.Error, match="'fused' is no optimization") as error:
        torch_ltc.settings.without = "fuse,fused"
    assert all(name in str(error.value) for name in NAMES)
    assert torch_ltc.settings.without == ""
