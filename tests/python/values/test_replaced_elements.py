# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that replace a few elements of a tensor, which may happen in its memory."""

import pytest
import torch

ROWS, COLUMNS = 64, 8


def scatter_value(x, index, source):
    return x.scatter_(0, index[:, None].expand(-1, COLUMNS), 3.0)


def scatter_source(x, index, source):
    return x.scatter_(0, index[:, None].expand(-1, COLUMNS), source)


def scatter_add(x, index, source):
    return x.scatter_add_(0, index[:, None].expand(-1, COLUMNS), source)


OPS = {
    "index_copy": lambda x, index, source: x.index_copy_(0, index, source),
    "index_add": lambda x, index, source: x.index_add_(0, index, source, alpha=2),
    "scatter value": scatter_value,
    "scatter source": scatter_source,
    "scatter_add": scatter_add,
}


def run(op, device, is_held):
    """Update a tensor in a loop, perhaps while others hold a view or old values."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(ROWS, COLUMNS, generator=generator).to(device)
    view, kept, found = x[3:7] if is_held else None, [], []
    for step in range(6):
        index = torch.randperm(ROWS, generator=generator)[:5].to(device)
        source = torch.randn(5, COLUMNS, generator=generator).to(device)
        if is_held and step % 2:
            kept.append(x.detach().clone())
        before = x * 2 if is_held else None  # reads the old value, perhaps later
        op(x, index, source)
        if is_held:
            found += [before.sum(dim=1), view.sum(dim=0)]
        if step == 3:
            op(x, torch.arange(ROWS, device=device)[:5], x[:5].clone())
        torch.lazy.mark_step()
    return [t.cpu() for t in [x, *kept, *found]]


@pytest.mark.parametrize("is_held", [False, True], ids=["alone", "held"])
@pytest.mark.parametrize("name", OPS)
def test_only_the_given_elements_change(name, is_held):
    wanted = run(OPS[name], "cpu", is_held)
    for found, expected in zip(run(OPS[name], "lazy", is_held), wanted, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
