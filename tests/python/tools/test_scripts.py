# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training scripts of many kinds log on lazy what they log on eager CPU."""

import itertools

import pytest
import torch
import torch_ltc
from scripts import SCRIPTS
from torch.utils import _pytree as pytree


def logged(row, device, counts=None):
    """Return what the script logs; with `counts`, made to begin once it settled."""
    torch.manual_seed(0)
    logs = []
    for step, log in enumerate(itertools.islice(row.train(device), row.steps)):
        values = [torch.as_tensor(value) for value in pytree.tree_leaves(log)]
        logs.append([value.detach().cpu().clone() for value in values])
        if counts and step + 1 == row.settled:
            counts.restart()
    return logs


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if row.slow else [])
        for name, row in SCRIPTS.items()
    ],
)
def test_script_logs_what_eager_logs(name, counts):
    row = SCRIPTS[name]
    with torch_ltc.settings.scope(rng="eager"):
        expected, logs = logged(row, "cpu"), logged(row, "lazy", counts)
    torch.testing.assert_close(logs, expected, rtol=2e-5, atol=1e-6)
    assert counts["codegen.graphs"] == 0
    fallen = {name.removeprefix("record.fallback.") for name in counts.fallbacks()}
    assert fallen == row.fallbacks
