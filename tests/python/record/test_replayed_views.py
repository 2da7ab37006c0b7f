# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of views whose base, or they themselves, are shown otherwise later.

After a write autograd takes the view of its base again.
"""

import pytest
import torch


def base_is_turned(x):
    row = x[1]
    x.t_()
    return row, x


def base_is_turned_before_a_write(x):
    row = x[:1]
    row.mul_(3)
    x.t_()
    row.mul_(weights(row))
    return row, x


def base_grows_a_dimension(x):
    row = x[1]
    rest = row[1:]
    x.unsqueeze_(0)
    return row, rest, x


def base_loses_a_dimension(x):
    deep = x * 1
    deep.unsqueeze_(0)
    row = deep[:, 1]
    deep.squeeze_(0)
    row.mul_(weights(row))
    return row, deep


def view_is_turned(x):
    left = x[:, :2]
    left.t_()
    left.mul_(weights(left))
    return left, x


def square_view_is_turned(x):
    left = x[:, :3]
    left.t_()
    left.mul_(weights(left))
    return left, x


def view_grows_a_dimension(x):
    row = x[1]
    row.unsqueeze_(0)
    row.mul_(weights(row))
    return row, x


def parts_of_a_turned_base(x):
    a, b = x.split(2, dim=1)
    x.t_()
    return a, b, x


def nothing_is_turned(x):
    rest = x[1:]
    x.mul_(2)
    rest.mul_(weights(rest))
    return rest, x


def weights(x):
    return torch.arange(1.0, 1 + x.numel()).to(x.device).reshape(x.shape)


PROGRAMS = [
    base_is_turned,
    base_is_turned_before_a_write,
    base_grows_a_dimension,
    base_loses_a_dimension,
    view_is_turned,
    square_view_is_turned,
    view_grows_a_dimension,
    parts_of_a_turned_base,
    nothing_is_turned,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_of_views_taken_again(program):
    def run(device):
        leaf = torch.arange(12.0).reshape(3, 4).to(device).requires_grad_()
        shown = program(leaf * 1)
        found = []
        for x in shown:
            try:
                loss = (x * weights(x)).sum()
                (gradient,) = torch.autograd.grad(loss, leaf, retain_graph=True)
                found += [x.tolist(), gradient.tolist()]
            except RuntimeError as error:
                found.append(str(error))
        return found

    assert run("lazy") == run("cpu")


def chain_of_a_turned_base(x):
    last = x[1:].unsqueeze(0)[:, :, 1]
    x.t_()
    return last


def view_of_a_turned_view(x):
    rows = x[1:]
    rows.t_()
    return rows[:2]


def view_of_a_part(x):
    return x.split(2, dim=1)[1][1:].t()


def long_chain(x):
    return x.t()[1:].unsqueeze(1).expand(3, 1, 3).transpose(0, 2)[::2].squeeze(1)


CHAINS = [chain_of_a_turned_base, view_of_a_turned_view, view_of_a_part, long_chain]


@pytest.mark.parametrize("written", ["view", "base"])
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__)
def test_gradients_that_come_after_the_views(chain, written):
    def run(device):
        x = torch.arange(12.0).reshape(3, 4).to(device)
        view = chain(x)
        target = x if written == "base" else view
        factor = weights(target).requires_grad_()
        try:
            target.mul_(factor)
            (gradient,) = torch.autograd.grad((view * weights(view)).sum(), factor)
            return x.tolist(), view.tolist(), gradient.tolist(), view._version
        except RuntimeError as error:
            return str(error)

    assert run("lazy") == run("cpu")
