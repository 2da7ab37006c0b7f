# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.func.functionalize of programs on lazy tensors, which are functional."""

import pytest
import torch
from torch.func import functionalize, grad, vmap

PROGRAMS = {
    "in place": lambda f, x: f(lambda x: x.clone().mul_(2).neg_())(x),
    "through a view": lambda f, x: f(lambda x: x.clone().view(-1)[:2].add_(1))(x),
    "a view": lambda f, x: f(lambda x: x.view(-1))(x),
    "views in a dict": lambda f, x: f(lambda x: {"t": (x.t(), x * 2)})(x)["t"][0],
    "of a gradient": lambda f, x: f(grad(lambda x: x.clone().mul_(x).sum()))(x),
    "gradient of": lambda f, x: grad(f(lambda x: x.clone().mul_(x).sum()))(x),
    "under vmap": lambda f, x: vmap(f(lambda x: x.clone().add_(1).view(-1)))(x),
    "of constants": lambda f, x: f(lambda n: torch.ones(n).add_(1))(3),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_functionalize_agrees_with_eager(program, remove):
    def functional(f):
        return functionalize(f, remove=remove)

    x = torch.arange(6.0).view(2, 3)
    found = program(functional, x.to("lazy"))
    assert torch.equal(found.cpu(), program(functional, x))


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_inputs_are_written_to_and_views_of_them_or_copies_come_out(remove):
    def run(device):
        x = torch.arange(6.0).view(2, 3).to(device)
        y = functionalize(lambda x: x.add_(1).view(-1), remove=remove)(x)
        written = x.clone()
        if remove != "mutations":
            y.zero_()
        return written, x, y

    for found, wanted in zip(run("lazy"), run("cpu"), strict=True):
        assert torch.equal(found.cpu(), wanted)


def test_an_unknown_kind_is_eagers_error():
    with pytest.raises(RuntimeError, match="received invalid argument for remove"):
        functionalize(lambda x: x, remove="views")


def test_a_tensor_that_is_just_made_is_no_view(counts):
    x = torch.tensor([1.0, 2.0], device="lazy")
    x += 1
    assert "view_copy" not in torch.lazy.pending_graph()
    assert x.tolist() == [2, 3]
