# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users get wrong with modules, autograd and optimizers is refused as in eager."""

import re

import pytest
import torch
import torch.nn.functional as F
from test_error_inputs import is_eagers
from torch import nn


def ones(device, *shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype, device=device)


def leaf(device, *shape):
    return ones(device, *shape).requires_grad_()


MODULES = {
    "features": lambda d: nn.Linear(3, 4, device=d)(ones(d, 2, 5)),
    "integers": lambda d: nn.Linear(3, 4, device=d)(ones(d, 2, 3, dtype=torch.int64)),
    "doubles": lambda d: nn.Linear(3, 4, device=d)(ones(d, 2, 3, dtype=torch.float64)),
    "channels": lambda d: nn.Conv2d(3, 4, 3, device=d)(ones(d, 1, 5, 8, 8)),
    "image": lambda d: nn.Conv2d(3, 4, 3, device=d)(ones(d, 8, 8)),
    "kernel": lambda d: nn.Conv2d(3, 4, 3, device=d)(ones(d, 1, 3, 2, 2)),
    "bytes": lambda d: nn.Conv2d(3, 4, 3, device=d)(
        ones(d, 1, 3, 8, 8, dtype=torch.uint8)
    ),
    "one value": lambda d: nn.BatchNorm2d(3, device=d)(ones(d, 1, 3, 1, 1)),
    "norm": lambda d: nn.LayerNorm(3, device=d)(ones(d, 2, 5)),
    "lstm": lambda d: nn.LSTM(3, 4, device=d)(ones(d, 2, 1, 5)),
    "state": lambda d: nn.LSTM(3, 4, device=d)(
        ones(d, 2, 1, 3), (ones(d, 1, 1, 5), ones(d, 1, 1, 4))
    ),
    "table": lambda d: nn.Embedding(3, 4, device=d)(ones(d, 2)),
    "attention": lambda d: nn.MultiheadAttention(4, 2, device=d)(
        *[ones(d, 2, 1, 4)] * 3, attn_mask=ones(d, 3, 3)
    ),
    "classes": lambda d: F.cross_entropy(ones(d, 2, 3), ones(d, 3, dtype=torch.int64)),
    "probabilities": lambda d: F.cross_entropy(ones(d, 2, 3), ones(d, 2)),
    "weights": lambda d: F.cross_entropy(
        ones(d, 2, 3), ones(d, 2, dtype=torch.int64), weight=ones(d, 4)
    ),
    "targets": lambda d: F.binary_cross_entropy(ones(d, 3), ones(d, 4)),
    "state dict": lambda d: nn.Linear(2, 3, device=d).load_state_dict(
        nn.Linear(3, 3, device=d).state_dict()
    ),
}


def twice(device):
    y = (leaf(device, 3) ** 2).sum()
    y.backward()
    y.backward()


def written(write):
    """A program that writes to what autograd has saved."""

    def program(device):
        y = leaf(device, 3).exp()
        write(y)
        y.sum().backward()

    return program


def stepped(optimizer):
    def program(device):
        x, weight = ones(device, 2, 3), leaf(device, 3, 3)
        other = leaf(device, 3, 1)
        stepping = optimizer([weight, other], lr=0.1)
        loss = (x @ weight @ other).sum()
        for _ in range(2):
            loss.backward(retain_graph=True)
            stepping.step()

    return program


def copied(optimizer):
    def program(device):
        weight = leaf(device, 3)
        stepping = optimizer([weight], lr=0.1)
        (weight * weight).sum().backward(retain_graph=True)
        loss = (weight * weight).sum()
        stepping.step()
        loss.backward()

    return program


AUTOGRAD = {
    "twice": twice,
    "not a number": lambda d: (leaf(d, 3) * 2).backward(),
    "no graph": lambda d: ones(d, 3).sum().backward(),
    "gradient": lambda d: (leaf(d, 3) * 2).backward(ones(d, 4)),
    "leaf": lambda d: leaf(d, 3).add_(1),
    "part of a leaf": lambda d: leaf(d, 3)[:1].add_(1),
    "item of a leaf": lambda d: leaf(d, 3).__setitem__(0, 1.0),
    "leaves of a list": lambda d: torch._foreach_add_([leaf(d, 3)], 1),
    "part of a split": lambda d: leaf(d, 4).clone().chunk(2)[0].add_(1),
    "integers": lambda d: ones(d, 3, dtype=torch.int64).requires_grad_(),
    "out": lambda d: torch.add(leaf(d, 3), 1, out=ones(d, 3)),
    "in place": written(lambda y: y.mul_(2)),
    "item": written(lambda y: y.__setitem__(0, 1.0)),
    "view": written(lambda y: y[:1].mul_(2)),
    "relu": written(lambda y: F.relu(y, inplace=True)),
    "list": written(lambda y: torch._foreach_mul_([y], 2)),
    "copied list": written(lambda y: torch._foreach_copy_([y], [y.detach() + 1])),
    "sgd": stepped(torch.optim.SGD),
    "adam": stepped(torch.optim.Adam),
    "vector of sgd": copied(torch.optim.SGD),
    "vector of adamw": copied(torch.optim.AdamW),
}
PROGRAMS = {**{f"module {k}": v for k, v in MODULES.items()}, **AUTOGRAD}


def plain(error):
    """Return the words without the type of a tensor, its name and how it was made."""
    words = re.sub(r"\[\S+Type |\[torch\.\S+Tensor ", "[", str(error).splitlines()[0])
    return re.sub(r", which is output 0 of \w+,|version \d+", "", words)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_misuse_is_refused_at_the_call_in_eagers_words(program):
    with pytest.raises((RuntimeError, ValueError, TypeError)) as eager:
        program("cpu")
    with pytest.raises((RuntimeError, ValueError, TypeError)) as lazy:
        program("lazy")
    assert is_eagers(lazy.value, eager.value) or (
        type(lazy.value) is type(eager.value)
        and plain(lazy.value) == plain(eager.value)
    )


def writes(device):
    """Return the versions of tensors after writes to all of a list."""
    x = [ones(device, 3), leaf(device, 2, 2) * 2, ones(device, 4)[1:3]]
    found = []

    def note():
        found.append([t._version for t in x])

    for _ in range(2):  # the second is met directly
        torch._foreach_mul_(x, 2.0)
        note()
        torch._foreach_add_(x, x)
        note()
        with torch.no_grad():
            torch._foreach_zero_(x)
        note()
        with pytest.raises(RuntimeError):
            torch._foreach_add_(x, [ones(device, 7)])
        note()
    return found


def test_writes_to_lists_count_as_in_eager():
    assert writes("lazy") == writes("cpu")
