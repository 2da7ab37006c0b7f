# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of views are laid out as eager's, also when they are called again."""

import pytest
import torch
from repeated import RUNS

COPIES = {
    "t": lambda x: torch.t_copy(x[0]),
    "permute": lambda x: torch.permute_copy(x, (1, 2, 0)),
    "transpose": lambda x: torch.transpose_copy(x, 0, 2),
    "select": lambda x: torch.select_copy(x, 2, 1),
    "slice": lambda x: torch.slice_copy(x, 2, 0, 1),
    "unsqueeze": lambda x: torch.unsqueeze_copy(x.mT, 1),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad])
def test_strides(copy, mode):
    x = torch.arange(24.0).reshape(3, 4, 2)
    with mode():
        for _ in range(RUNS):
            found, wanted = copy(x.to("lazy")), copy(x)
            assert found.stride() == wanted.stride()
            assert torch.equal(found.cpu(), wanted)
