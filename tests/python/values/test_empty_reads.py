# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices into tensors without elements are looked at where eager looks at them."""

import itertools

import pytest
import torch
import torch.nn.functional as F

SIZES = [(3, 0), (0, 3), (0,), (2, 0, 3)]
INDICES = [[7], [-1], [0, 9], [0], []]


def source(size, dim, count):
    return [count if i == dim else n for i, n in enumerate(size)]


# Of zeros x, a dimension, a vector of indices, and as many zeros to write.
ALONG = {
    "index_select": lambda x, d, i, y: x.index_select(d, i),
    "index_select of one": lambda x, d, i, y: x.index_select(d, i.sum()),
    "index_select, out": lambda x, d, i, y: torch.index_select(x, d, i, out=y),
    "index_fill": lambda x, d, i, y: x.index_fill(d, i, 1.0),
    "index_add": lambda x, d, i, y: x.index_add(d, i, y),
    "index_copy": lambda x, d, i, y: x.index_copy(d, i, y),
    "index_reduce": lambda x, d, i, y: x.index_reduce(d, i, y, "prod"),
    "x[i]": lambda x, d, i, y: x[(slice(None),) * d + (i,)],
    "gather": lambda x, d, i, y: x.gather(d, torch.full_like(y, 7, dtype=torch.int64)),
    "scatter": lambda x, d, i, y: x.scatter(
        d, torch.full_like(y, 7, dtype=torch.int64), 1.0
    ),
    "scatter_add": lambda x, d, i, y: x.scatter_add(
        d, torch.full_like(y, 7, dtype=torch.int64), y
    ),
    "take": lambda x, d, i, y: x.take(i),
    "put": lambda x, d, i, y: x.put(i, torch.ones_like(i, dtype=x.dtype)),
    "embedding": lambda x, d, i, y: F.embedding(i, x),
    "embedding_bag": lambda x, d, i, y: F.embedding_bag(i, x, i.new_zeros(1)),
}


def outcome(op, size, dim, index, device):
    x = torch.zeros(size, device=device)
    y = torch.zeros(source(size, dim, len(index)), device=device)
    i = torch.tensor(index, dtype=torch.int64, device=device)
    try:
        return op(x, dim, i, y).cpu().shape
    except (RuntimeError, IndexError, TypeError, ValueError):
        return "refused"


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("op", ALONG.values(), ids=ALONG)
def test_refused_where_eager_refuses(op):
    for size in SIZES:
        for dim, index in itertools.product(range(len(size)), INDICES):
            call = op, size, dim, index
            assert outcome(*call, "lazy") == outcome(*call, "cpu"), call[1:]


def test_the_error_says_what_eager_says():
    with pytest.raises(RuntimeError) as eager:
        torch.zeros(3, 0).index_select(0, torch.tensor([7]))
    picked = torch.zeros(3, 0, device="lazy").index_select(
        0, torch.tensor([7], device="lazy")
    )
    with pytest.raises(RuntimeError) as lazy:
        picked.cpu()
    assert str(eager.value) in str(lazy.value)
    assert "test_empty_reads.py" in str(lazy.value)
