# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which globals a frozen step goes by."""

import sys

import pytest
import torch
import torch_ltc
from torch import nn


def batches(count):
    return [torch.randn(3, 4).to("lazy") for _ in range(count)]


def test_an_attribute_is_no_global_of_that_name(monkeypatch):
    """A script keeps what a step returns as `loss`, and its model has a `loss`."""

    class Model(nn.Linear):
        def forward(self, x):
            self.loss = None
            return super().forward(x)

    model = Model(4, 2).to("lazy")

    @torch_ltc.freeze(strict=True)
    def step(x):
        return model(x).sum().detach()

    for x in batches(5):
        monkeypatch.setitem(globals(), "loss", step(x))
    assert step.is_frozen


def by_globals(x):
    return x * globals()["factor"]


def by_module(x):
    return x * sys.modules[__name__].factor


@pytest.mark.parametrize("step", [by_globals, by_module])
def test_a_global_that_is_looked_up_by_its_name_counts(step, monkeypatch):
    frozen = torch_ltc.freeze(step, strict=True)
    for factor in (2, 2, 2, 3):
        monkeypatch.setitem(globals(), "factor", torch.tensor(factor).to("lazy"))
        for x in batches(3):
            assert torch.equal(frozen(x).cpu(), step(x).cpu())
