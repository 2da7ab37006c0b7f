# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traced and scripted functions that index by tensors have eager's values."""

import pytest
import torch
from torch import Tensor


def rows(x: Tensor, i: Tensor, m: Tensor):
    return x[i]


def columns(x: Tensor, i: Tensor, m: Tensor):
    return x[:, i]


def places(x: Tensor, i: Tensor, m: Tensor):
    return x[i, i]


def beside_none(x: Tensor, i: Tensor, m: Tensor):
    return x[None, :, i]


def mask(x: Tensor, i: Tensor, m: Tensor):
    return x[m]


def mask_of_rows(x: Tensor, i: Tensor, m: Tensor):
    return x[m[:, 0]]


def set_rows(x: Tensor, i: Tensor, m: Tensor):
    y = x.clone()
    y[i] = x[i] * 2
    return y


def set_rows_to_a_number(x: Tensor, i: Tensor, m: Tensor):
    y = x.clone()
    y[i] = 7.0
    return y


def set_columns(x: Tensor, i: Tensor, m: Tensor):
    y = x.clone()
    y[:, i] = x[:, i] + 1
    return y


def set_mask(x: Tensor, i: Tensor, m: Tensor):
    y = x.clone()
    y[m] = 0.0
    return y


def set_mask_to_values(x: Tensor, i: Tensor, m: Tensor):
    y = x.clone()
    y[m] = x[m] * 3
    return y


def add_to_rows(x: Tensor, i: Tensor, m: Tensor):
    y = x.clone()
    y[i] += 1.0
    return y


def put(x: Tensor, i: Tensor, m: Tensor):
    return torch.index_put(x, [i], x[i] + 1, accumulate=True)


def chosen(x: Tensor, i: Tensor, m: Tensor):
    picked = torch.index_select(x, 0, i) + torch.gather(x, 1, i.view(2, 1))
    return torch.where(m[:2], picked, x[:2])


def parts(x: Tensor, i: Tensor, m: Tensor):
    a, b = torch.split(x, 1, 1)[:2]
    return torch.cat([a, b, torch.stack([x[0], x[1]]).sum(0)[:, None]], 1)


PROGRAMS = [
    rows,
    columns,
    places,
    beside_none,
    mask,
    mask_of_rows,
    set_rows,
    set_rows_to_a_number,
    set_columns,
    set_mask,
    set_mask_to_values,
    add_to_rows,
    put,
    chosen,
    parts,
]


def arguments(device, scale=1):
    x = torch.arange(9.0, device=device).view(3, 3) * scale
    return x, torch.tensor([1, 0], device=device), x > 3 * scale


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", ["met first here", "met in eager before"])
@pytest.mark.parametrize("compile", ["trace", "script"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_eagers(program, compile, first):
    if first != "met first here":
        program(*arguments("lazy"))
    if compile == "trace":
        compiled = torch.jit.trace(program, arguments("lazy"))
    else:
        compiled = torch.jit.script(program)
    for scale in (1, 2, -1):  # the executor looks on twice before it compiles
        lazy = compiled(*arguments("lazy", scale))
        assert lazy.device.type == "lazy"
        assert torch.equal(lazy.cpu(), program(*arguments("cpu", scale)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [rows, columns, set_rows, set_mask, put])
def test_gradients_are_eagers(program):
    def gradient(device, function):
        x, i, m = arguments(device)
        x.requires_grad_()
        function(x, i, m).square().sum().backward()
        return x.grad.cpu()

    scripted = torch.jit.script(program)
    for _ in range(3):
        assert torch.equal(gradient("lazy", scripted), gradient("cpu", program))
