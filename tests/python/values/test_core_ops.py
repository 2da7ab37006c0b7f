# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Most of ATen's core ops are rows of the compiler, by name or by decomposition."""

import re

import parity
import pytest
import torch

# Core ops that PyTorch itself composes, or that functionalisation renames.
BY_OTHERS = {
    "aten::adaptive_avg_pool1d": lambda x: torch.adaptive_avg_pool1d(x, 2),
    "aten::atan2.out": lambda x: torch.atan2(x, x + 1, out=torch.empty_like(x)),
    "aten::avg_pool1d": lambda x: torch.avg_pool1d(x, 2),
    "aten::empty.memory_format": lambda x: torch.empty(3, device=x.device) + 1,
    "aten::empty_strided": lambda x: (
        torch.empty_strided((2, 3), (1, 2), device=x.device) + 1
    ),
    "aten::upsample_nearest2d.vec": lambda x: torch.nn.functional.interpolate(
        x[None], scale_factor=2.0
    ),
    "aten::var.dim": lambda x: torch.var(x, 1),
}


def core_ops():
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.removeprefix("aten::").partition(".")
        if name.startswith("aten::") and hasattr(torch.ops.aten, base):
            packet = getattr(torch.ops.aten, base)
            if (overload or "default") in packet.overloads():
                op = getattr(packet, overload or "default")
                if torch.Tag.core in op.tags:
                    yield name


@pytest.mark.parametrize("name", BY_OTHERS)
def test_op_is_made_of_rows(name):
    x = torch.arange(24.0).view(2, 3, 4)
    lazy = x.to("lazy")
    torch.lazy.mark_step(wait=True)
    y = BY_OTHERS[name](lazy)
    used = set(re.findall(r"(aten::[\w.]+)\(", torch.lazy.pending_graph()))
    assert used and used <= parity.listed_rows()
    if "empty" not in name:
        torch.testing.assert_close(y.cpu(), BY_OTHERS[name](x))


def test_most_core_ops_fuse():
    core = set(core_ops())
    rows = core & parity.listed_rows()
    assert BY_OTHERS.keys() <= core - rows
    assert len(core) == 193 and len(rows) + len(BY_OTHERS) >= 150
