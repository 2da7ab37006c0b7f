# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every OpInfo of PyTorch, in nine dtypes, gives on lazy what it gives on eager.

Rows of the compiler are tested on all samples in test_parity_ops.py; here are
the library calls, the ops that split the graph, and what a row's test leaves out.
"""

from typing import NamedTuple

import parity
import pytest
import torch
from sampling import sampled
from test_parity_ops import SLOW

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
)
SAMPLES = 6


class Split(NamedTuple):
    """One sample set in which an op splits the graph."""

    info: str
    kind: str = "forward"
    dtype: torch.dtype = torch.float32


# Ops whose result's shape depends on values.
SHAPED_BY_VALUES = {
    "aten::_to_sparse": Split("to_sparse"),
    "aten::_to_sparse.sparse_dim": Split("to_sparse"),
    "aten::_unique": Split("index_fill", "backward"),
    "aten::_unique2": Split("unique"),
    "aten::bincount": Split("bincount", dtype=torch.int64),
    "aten::index.Tensor": Split("__getitem__"),
    "aten::linalg_lstsq": Split("linalg.lstsq"),
    "aten::masked_select": Split("masked_select"),
    "aten::nonzero": Split("nonzero"),
    "aten::repeat_interleave.Tensor": Split("repeat_interleave"),
    "aten::unique_consecutive": Split("unique_consecutive"),
    "aten::unique_dim": Split("unique"),
}
# Those that OpInfo calls of sparse tensors, which the host has.
OF_SPARSE = {
    "aten::_sparse_mm_reduce_impl",
    "aten::_sparse_mm_reduce_impl_backward",
    "aten::_to_dense",
    "aten::mm",
    "aten::sparse_mask",
    "aten::sparse_sampled_addmm",
    "aten::sparse_sampled_addmm.out",
    "aten::zeros_like",
}
ROWS = set(parity.lowered())


def checks(name, dtype):
    """Return what test_parity_ops.py leaves to test."""
    kinds = parity.KINDS if dtype == torch.float32 else parity.KINDS[:3]
    every = [(kind, dtype) for kind in kinds]
    return [c for c in every if name not in ROWS or c not in SLOW]


@pytest.mark.parametrize("name", sampled(parity.OPS, one_in=16))
def test_op_gives_what_eager_gives(name):
    failed, split = [], set()
    for dtype in DTYPES:
        for outcome in parity.check(parity.OPS[name], checks(name, dtype), SAMPLES):
            split |= outcome.fallbacks
            if outcome.problem:
                failed.append(f"{outcome.sample}\n    {outcome.problem}")
    assert not failed, "\n".join(failed)
    assert split <= SHAPED_BY_VALUES.keys() | OF_SPARSE


@pytest.mark.parametrize("name", sampled(parity.OPS, one_in=8))
def test_op_takes_views_that_nobody_has_read(name):
    every = [(parity.VIEWED, dtype) for dtype in (torch.float32, torch.int64)]
    outcomes = parity.check(parity.OPS[name], every, limit=2)
    failed = [o for o in outcomes if o.problem]
    assert not failed, "\n".join(f"{o.sample}\n    {o.problem}" for o in failed)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(parity.OPS)[::20])
def test_op_gives_the_same_through_torch_compile(name):
    every = [("forward", torch.float32), ("backward", torch.float32)]
    outcomes = parity.check(parity.OPS[name], every, limit=1, door="dynamo")
    failed = [o for o in outcomes if o.problem]
    assert not failed, "\n".join(f"{o.sample}\n    {o.problem}" for o in failed)


@pytest.mark.parametrize("op", SHAPED_BY_VALUES)
def test_what_splits_the_graph_still_does(op):
    info, kind, dtype = SHAPED_BY_VALUES[op]
    outcomes = parity.check(parity.OPS[info], [(kind, dtype)])
    split = frozenset().union(*(outcome.fallbacks for outcome in outcomes))
    assert op in split, "take it out of the table"
