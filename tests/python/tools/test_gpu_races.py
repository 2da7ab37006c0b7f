# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for a GPU have no race, no missing barrier and no access out of bounds.

The emulator looks at each byte that a thread reaches: two threads of a block with no
barrier between them, two blocks, and what lies beyond the arguments of a kernel
(runtime/drivers/emulator/access_check.h). A finding is an error of the launch.
"""

import os
from pathlib import Path

import pytest

SAMPLE = """
import torch
import torch_ltc
from torch.nn import functional as F


def results(on):
    torch.manual_seed(0)
    x, odd = on(torch.randn(9, 256)), on(torch.randn(5, 131))
    places = on(torch.randint(9, (20,)))
    return [
        F.layer_norm(x.softmax(1), (256,)),
        odd.log_softmax(1),
        x.sum(0) + x.amax(0),
        x.t() + 1,
        odd.argmax(1),
        x.index_add(0, places, x[places]),
    ]


for found, wanted in zip(results(lambda t: t.to("lazy")), results(lambda t: t)):
    torch.testing.assert_close(found.cpu(), wanted, rtol=1e-4, atol=1e-4)
metrics = torch_ltc.metrics.snapshot()
assert metrics["execute.kernels"] >= 6 and not metrics.get("execute.host_calls")
"""


def test_kinds_of_kernels(run_python, emulated_gpu):
    run_python(SAMPLE, **emulated_gpu, LTC_CACHE="off")


SEARCH = """
import parity
import torch

for name in {names}:
    for outcome in parity.check(parity.OPS[name], [("{kind}", torch.{dtype})], 1):
        assert not outcome.problem, (name, outcome)
"""
SCATTERS = {"index_add", "index_copy", "index_put", "scatter", "scatter_add"}
CHECKS = ["forward float32", "backward float32", "forward bfloat16", "forward int64"]


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("check", CHECKS)
def test_all_kernels(run_python, emulated_gpu, check, part):
    """The first sample of each op with a row, and of those that scatter."""
    import parity

    names = sorted((SCATTERS | set(parity.lowered())) - parity.UNINITIALISED)
    kind, dtype = check.split()
    code = SEARCH.format(names=names[part::8], kind=kind, dtype=dtype)
    folder = str(Path(__file__).parents[1])
    path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    run_python(code, timeout=1200, **emulated_gpu, LTC_CACHE="off", PYTHONPATH=path)
