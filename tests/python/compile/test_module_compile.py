# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``module.compile(backend="ltc")``, of PyTorch's own modules too."""

import copy

import pytest
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x).relu()


@pytest.fixture(autouse=True)
def without_graphs():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def graphs():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


@pytest.mark.parametrize("device", ["cpu", "lazy"])
@pytest.mark.parametrize(
    "make", [Net, lambda: nn.Linear(3, 3), lambda: nn.Sequential(Net(), nn.Tanh())]
)
def test_it_is_one_graph_with_eagers_values(make, device):
    model = make()
    x = torch.randn(4, 3)
    wanted = model(x)
    twin = copy.deepcopy(model).to(device)
    twin.compile(backend="ltc")
    torch.testing.assert_close(twin(x.to(device)).cpu(), wanted)
    assert graphs() == 1
    assert twin.state_dict().keys() == model.state_dict().keys()
    assert copy.deepcopy(twin)._compiled_call_impl is None


def test_many_of_one_class_have_a_graph_each():
    for width in range(1, 12):
        model = nn.Sequential(nn.Linear(width, 2))
        model.compile(backend="ltc")
        model(torch.ones(2, width))
        assert graphs() == width


def test_other_backends_are_left():
    model = nn.Linear(3, 3)
    model.compile(backend="eager")
    model(torch.ones(3))
    assert graphs() == 0
