# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes to a tensor that shows a place more than once, where eager runs them."""

import pytest
import torch
from test_refused_writes import told


def expanded(write, *sizes):
    """Return a program that writes to 3 x 3 elements, of which `sizes` are there."""

    def program(device):
        elements = torch.Size(sizes).numel()
        base = torch.arange(1.0, 1 + elements).view(sizes).to(device)
        shown = base.expand(3, 3)
        write(shown)
        return base, shown

    return program


def some(x):
    return torch.tensor([[0, 1, 0], [1, 0, 0], [0, 0, 0]], device=x.device).bool()


def second(x):
    return torch.tensor([1], device=x.device)


WRITES = {
    "masked_fill_": lambda x: x.masked_fill_(some(x), 7),
    "masked_fill_ nothing": lambda x: x.masked_fill_(x < 0, 7),
    "masked_fill_ a zero": lambda x: x.masked_fill_(x < 2, -0.0),
    "masked_fill_ a NaN": lambda x: x.masked_fill_(x > 0, float("nan")),
    "masked_fill_ a tensor": lambda x: x.masked_fill_(some(x), x[0, 0] + 4),
    "index_fill_ rows": lambda x: x.index_fill_(0, second(x), 7),
    "index_fill_ columns": lambda x: x.index_fill_(1, second(x), 7),
    "index_put_": lambda x: x.index_put_((second(x),), x[0, 0] + 4),
    "assignment by a mask": lambda x: x.__setitem__(some(x), 7),
    "tril_": lambda x: x.tril_(),
    "tril_ of all": lambda x: x.tril_(5),
    "triu_": lambda x: x.triu_(1),
    "conj_physical_": lambda x: x.conj_physical_(),
    "threshold_": lambda x: torch.threshold_(x, 1.5, -1),
}


@pytest.mark.parametrize("sizes", [(1,), (3,), (3, 1)], ids=str)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_of_one_value(write, sizes):
    program = expanded(write, *sizes)
    eager = told(program, "cpu")
    assert not isinstance(eager[0], tuple)
    for _ in range(2):
        assert repr(told(program, "lazy")) == repr(eager)


REFUSED = {
    "addmv_": lambda x: x[0].addmv_(x.clone(), x[0].clone()),
    "baddbmm_": lambda x: x[None].baddbmm_(x[None].clone(), x[None].clone()),
    "index_put_": lambda x: x.index_put_((second(x),), x[:1] + x[0]),
    "index_put_ that adds": lambda x: x.index_put_((second(x),), x[0, 0] + 4, True),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("write", REFUSED.values(), ids=REFUSED)
def test_of_several_values_is_refused(write):
    """Eager runs them, and which value stays is up to its kernel."""
    write(torch.ones(1).expand(3, 3))
    with pytest.raises(RuntimeError, match="more than one element"):
        write(torch.ones(1, device="lazy").expand(3, 3))
