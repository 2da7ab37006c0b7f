# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of open size that are written to tensors of fixed size."""

import pytest
import torch


def grows(x):
    return torch.ops.aten.slice_backward(x * 3, [9, 4], 0, 0, x.shape[0], 1)


def fills(x):
    whole = torch.ones(9, 4, device=x.device)
    whole[: x.shape[0]] = x.sin()
    return whole


@pytest.mark.parametrize("function", [grows, fills])
def test_as_far_as_the_part_goes(function, counts):
    for rows in (2, 3, 5, 7, 9):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(function(x.to("lazy")).cpu(), function(x))
    assert counts["cache.dynamic_hits"] >= 1
