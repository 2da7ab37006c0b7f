# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests compiled functions that give their arguments other memory."""

import pytest
import torch


def swap(x, y):
    x.data = y
    y.data = torch.zeros([0])
    return x


def test_arguments_get_the_memory_that_eager_gives_them():
    torch._dynamo.reset()
    compiled = torch.compile(swap, backend="ltc", fullgraph=True)
    for _ in range(2):
        x, y = torch.ones(6, requires_grad=True), torch.full([6], 2.0)
        memory = y.data_ptr()
        result = compiled(x, y)
        assert result is x
        assert x.data_ptr() == memory
        assert x.tolist() == [2.0] * 6
        assert y.shape == (0,)


def frees(x, y):
    z = x * 2 + y
    x.untyped_storage().resize_(0)
    return z


def fills(x, y):
    x.untyped_storage().resize_(x.numel() * x.itemsize)
    x.copy_(y)
    return (x * 2).sum()


@pytest.mark.filterwarnings("error:torch_ltc runs .* of torch.compile")
@pytest.mark.parametrize(("function", "held"), [(frees, 24), (fills, 0)])
def test_storages_are_resized_between_compiled_pieces(function, held, counts):
    """As FSDP2 does with gathered parameters."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="ltc", fullgraph=True)
    y = torch.arange(6.0)
    for _ in range(2):
        x = torch.ones(6)
        x.untyped_storage().resize_(held)
        found = compiled(x, y)
        assert x.untyped_storage().nbytes() == 24 - held
        assert found.tolist() == ([2, 3, 4, 5, 6, 7] if held else 30)
    assert counts["execute.launches"] == 2
