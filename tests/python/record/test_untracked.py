# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls without gradients do not go through autograd, and one sees no difference."""

import pytest
import torch
from torch.autograd import forward_ad

# The first run of a program meets its calls, the others take the shorter way.
RUNS = 3


def outcome(program, device):
    x = torch.arange(1.0, 7.0).view(2, 3).to(device)
    weight = torch.full((3,), 2.0).to(device).requires_grad_()
    try:
        values = program(x, weight)
        return [v.tolist() if isinstance(v, torch.Tensor) else v for v in values]
    except RuntimeError as error:
        return str(error).split(":")[0]


def written_with_a_gradient(x, weight):
    row, flat = x[1], x.t().reshape(-1)
    row.mul_(weight)
    (x * x).sum().backward()
    return weight.grad, x, flat, x.requires_grad, row.grad_fn is not None


def written_below_two_views(x, weight):
    column = x.t()[1].unsqueeze(0)
    before = (x * 1, column * 1)
    column.mul_(weight[:2])
    x.sum().backward()
    return weight.grad, column, *before


def tracked_after_a_use(x, weight):
    plain = x * 2
    x.requires_grad_()
    (x * plain).sum().backward()
    return x.grad, plain.requires_grad


def without_gradients(x, weight):
    with torch.no_grad():
        product, view = x * weight, weight.view(3, 1)
        weight.add_(1)
        shown = view * 1
    return product, shown, product.requires_grad, view.requires_grad, weight._version


def view_of_a_parameter_without_gradients(x, weight):
    product = weight * 1
    with torch.no_grad():
        view = product[0]
    view.mul_(2)
    return [view]


def versions(x, weight):
    view = x[0]
    x.add_(1)
    view.mul_(2)
    return x._version, view._version, x


def saved_and_written(x, weight):
    product = x * weight
    x.add_(1)
    product.sum().backward()
    return [weight.grad]


def forward_mode(x, weight):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        out = (dual.t()[1] * 3 + x.t()[1]) * x.t()[1]
        plain = x.clone()
        plain[0].mul_(dual[1])
        results = [forward_ad.unpack_dual(t) for t in (out, plain)]
        return [part * 1 for result in results for part in result]


def leaf_in_place(x, weight):
    weight.add_(1)
    return [weight]


def transformed(x, weight):
    def loss(row):
        return (row * x[0] + x[1]).square().sum()

    return torch.func.grad(loss)(weight.detach()), *torch.func.jvp(
        loss, (weight.detach(),), (x[1],)
    )


PROGRAMS = [
    written_with_a_gradient,
    written_below_two_views,
    tracked_after_a_use,
    without_gradients,
    view_of_a_parameter_without_gradients,
    versions,
    saved_and_written,
    forward_mode,
    leaf_in_place,
    transformed,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_like_eager(program):
    eager = outcome(program, "cpu")
    assert [outcome(program, "lazy") for _ in range(RUNS)] == [eager] * RUNS


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("add.Tensor", lambda x: torch.add(x, x)),
        ("mul_.Tensor", lambda x: x.mul_(x)),
        ("transpose.int", lambda x: x.transpose(0, 1)),
        ("cat", lambda x: torch.cat([x])),
        ("tril", lambda x: x.tril()),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_autograd_kernel_of_a_user(name, call):
    x = torch.ones(2, 3, device="lazy")
    plain = [call(x.clone()) for _ in range(RUNS)][-1].tolist()
    calls = []

    def kernel(self, *arguments):
        calls.append(name)
        return self if isinstance(self, torch.Tensor) else self[0]

    library = torch.library.Library("aten", "IMPL")
    library.impl(name, kernel, "Autograd")
    try:
        assert call(x.clone()).tolist() == x.tolist()
    finally:
        library._destroy()
    assert call(x.clone()).tolist() == plain
    assert calls == [name]
