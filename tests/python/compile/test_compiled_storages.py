# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests compiled functions that give their arguments other memory."""

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
