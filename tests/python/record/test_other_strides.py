# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where layouts are known to be others than eager's, values are the same."""

import pytest
import torch
from comparing import numbers


def masked_gradient(device):
    x = numbers(device, 4, 4).t().requires_grad_()
    x.masked_select(x.detach() > 3).sum().backward()
    return torch.autograd.grad(x.masked_select(x.detach() > 3).sum(), x)[0]


def cholesky(device):
    out = torch.empty(0, device=device)
    return torch.cholesky(torch.eye(4, device=device) * 4, out=out)


def slice_scatter(device):
    x = numbers(device, 4, 4, 2)[..., 1]
    return torch.slice_scatter(x, x[:2], 0, 0, 2)


OTHERS = [masked_gradient, cholesky, slice_scatter]


@pytest.mark.parametrize("program", OTHERS)
def test_known_to_differ(program):
    lazy, eager = program("lazy"), program("cpu")
    torch.testing.assert_close(lazy.cpu(), eager)
    layouts = [(t.stride(), t.storage_offset()) for t in (lazy, eager)]
    assert layouts[0] != layouts[1], "take it out of the list, and of docs/strides.md"
