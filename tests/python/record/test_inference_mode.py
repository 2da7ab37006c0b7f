# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference mode gives what eager gives, and views are and allow what eager's do."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from repeated import MODES

VIEWS = {
    "t": lambda x: x.t(),
    "view": lambda x: x.view(-1),
    "slice": lambda x: x[1:],
    "select": lambda x: x[1],
    "split": lambda x: x.split(1)[0],
    "unbind": lambda x: x.unbind(1)[1],
    "expand": lambda x: x[:, :1].expand(3, 4),
    "detach": lambda x: x.detach().view(-1),
    "as_strided": lambda x: x.as_strided((2,), (1,), 1),
    "chain": lambda x: x.t()[1:].unsqueeze(0),
    "unfold": lambda x: x.unfold(0, 2, 2),
    "reshape": lambda x: x.reshape(4, 3),
    "reshape with -1": lambda x: x.reshape(-1, 2),
    "reshape that copies": lambda x: x.t().reshape(-1),
    "flatten": lambda x: x.flatten(),
    "flatten in part": lambda x: x.view(3, 2, 2).flatten(1),
    "flatten of one": lambda x: x.flatten(1, -1),
    "flatten that copies": lambda x: x.t().flatten(),
    "alias": lambda x: torch.ops.aten.alias(x),
    "movedim": lambda x: x.movedim(0, 1),
    "diagonal": lambda x: x.diagonal(),
    "another dtype": lambda x: x.view(torch.int32),
    "negative": lambda x: torch._neg_view(x),
}


def make(device, kind):
    x = torch.arange(12.0).view(3, 4).to(device).clone()
    if kind == "of inference mode":
        with torch.inference_mode():
            return x + 1
    if kind == "with gradients":
        return x.requires_grad_() * 1
    return x


def describe(x):
    version = None if x.is_inference() else x._version
    facts = x.is_inference(), version, x._is_view(), x.requires_grad, x.stride()
    return facts, x.detach().tolist()


def tried(action):
    try:
        return action()
    except RuntimeError as error:
        return str(error)


def outcome(device, kind, view, taken, written):
    x = make(device, kind)
    with MODES[taken]():
        y = view(x)
    yield [describe(y), describe(x)]
    for one in (y, x):

        def write(one=one):
            with MODES[written]():
                one.add_(1)

        yield tried(write)
        yield [tried(lambda: describe(y)), describe(x)]
    yield tried(lambda: describe(y * 2))


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", ["ordinary", "of inference mode", "with gradients"])
def test_views_are_of_inference_mode_where_eagers_are(kind, view):
    for taken, written in itertools.product(MODES, MODES):
        eager, lazy = (
            list(outcome(device, kind, view, taken, written))
            for device in ("cpu", "lazy")
        )
        assert lazy == eager, (taken, written)


COPIES = {
    "detach": lambda x: x.detach(),
    "detach twice": lambda x: x.detach().detach(),
    "detach a view": lambda x: x.view(-1).detach(),
    "data": lambda x: x.data,
    "parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("taken", MODES)
def test_copies_of_inference_tensors_count_where_eagers_do(copy, taken):
    def program(device):
        x = make(device, "of inference mode")
        with MODES[taken]():
            y = copy(x)
        yield y.is_inference(), tried(lambda: y._version)
        yield tried(lambda: y.add_(1).tolist()), tried(lambda: y._version), x.tolist()

    assert list(program("lazy")) == list(program("cpu"))


def attention(x, **arguments):
    return F.scaled_dot_product_attention(x, x, x, **arguments)


COMPOSED = {
    "attention": attention,
    "causal": lambda x: attention(x, is_causal=True),
    "four dimensions": lambda x: attention(x[None], scale=0.3),
    "group_norm": lambda x: F.group_norm(x, 2),
    "svdvals": torch.linalg.svdvals,
    "eigvalsh": torch.linalg.eigvalsh,
    "nanquantile": lambda x: x.nanquantile(x[0, 0, :2].abs(), dim=1, keepdim=True),
    "quantile.out": lambda x: torch.quantile(x, 0.3, dim=1, out=x.new_empty(0)),
    "ctc_loss": lambda x: F.ctc_loss(
        x.log_softmax(2),
        torch.ones(4, 1, device=x.device).long(),
        torch.full((4,), 2, device=x.device),
        torch.ones(4, device=x.device).long(),
    ),
}


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("name", COMPOSED)
def test_what_is_taken_apart_in_a_way_of_its_own(name, autocast):
    def run(device):
        x = torch.linspace(-1, 1, 32).sin().view(2, 4, 4).to(device)
        with torch.autocast(device, enabled=autocast), torch.inference_mode():
            return COMPOSED[name](x)

    expected, actual = run("cpu"), run("lazy")
    assert (actual.dtype, actual.stride()) == (expected.dtype, expected.stride())
    rtol = 1e-5 if expected.dtype == torch.float32 else 1e-2
    torch.testing.assert_close(actual.cpu(), expected, rtol=rtol, atol=rtol)


def of(kind, device, *shape):
    made = torch.ones(shape, device=device)
    with torch.inference_mode(kind == "of inference mode"):
        return torch.nn.Parameter(made) if kind == "parameter" else made * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["ordinary", "parameter", "of inference mode"])
@pytest.mark.parametrize("other", ["ordinary", "of inference mode"])
def test_data_of_the_other_mode(mode, kind, other):
    def program(device):
        x, data = of(kind, device, 2), of(other, device, 3)
        with MODES[mode]():
            x.data = data
        facts = x.is_inference(), x.requires_grad
        with torch.inference_mode():
            x.add_(1)
        return facts, x.tolist(), data.tolist()

    assert program("lazy") == program("cpu")


def test_lazy_modules_get_their_parameters():
    def program(device):
        torch.manual_seed(0)
        layer = torch.nn.LazyLinear(3).to(device)
        with torch.inference_mode():
            shape = layer(torch.ones(2, 4, device=device)).shape
        facts = layer.weight.is_inference(), layer.weight.requires_grad
        return shape, facts, layer.weight.shape

    assert program("lazy") == program("cpu")
