# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Determinants are differentiated, also twice, as eager does."""

import pytest
import torch


def matrices():
    torch.manual_seed(0)
    x = torch.randn(3, 3, dtype=torch.float64)
    v = torch.randn(3, dtype=torch.float64)
    yield "any", x
    yield "laid out by columns", x.t()
    yield "identity", torch.eye(3, dtype=torch.float64)
    yield "equal values", torch.eye(3, dtype=torch.float64) + torch.outer(v, v)
    yield "orthogonal", torch.linalg.qr(x).Q
    yield "singular", x - torch.outer(x @ v, v) / v.dot(v)
    yield "one number", x[:1, :1]
    yield "complex", torch.complex(x, x.roll(1, 0))
    yield "complex unit", torch.eye(3, dtype=torch.complex128) * 1j
    yield "several", torch.stack([x, torch.eye(3).double(), x.t() * 2])
    yield "floats", torch.eye(4) * 2


MATRICES = dict(matrices())


FUNCTIONS = {
    "det": torch.linalg.det,
    "det of the transposed": lambda x: x.mT.det(),
    "slogdet of the transposed": lambda x: torch.linalg.slogdet(x.mT).logabsdet,
    "logdet": lambda x: torch.logdet(x @ x.mH + x.new_ones(x.shape[-1:]).diag()).real,
}


def gradients(matrix, device, function):
    a = matrix.detach().to(device).requires_grad_()
    value = function(a).abs()
    yield value
    yield from torch.autograd.grad(value.sum(), a, retain_graph=True)
    (first,) = torch.autograd.grad(value.square().sum(), a, create_graph=True)
    yield first
    weight = torch.arange(1.0, 1 + a.numel()).reshape(a.shape).to(first)
    yield from torch.autograd.grad((first * weight).sum().real, a)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("kind", MATRICES)
def test_gradients(kind, function):
    if kind == "singular" and function is FUNCTIONS["slogdet of the transposed"]:
        return  # infinite
    found, wanted = (
        gradients(MATRICES[kind], device, function) for device in ("lazy", "cpu")
    )
    for ours, eagers in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours.cpu(), eagers)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2)])
def test_no_matrix(shape):
    for device in ("cpu", "lazy"):
        x = torch.zeros(shape, device=device, requires_grad=True)
        (gradient,) = torch.autograd.grad(torch.linalg.det(x).sum(), x)
        assert gradient.shape == x.shape


def test_a_hessian_by_columns_at_once():
    x = torch.eye(3, dtype=torch.float64) * 2

    def hessian(device):
        return torch.autograd.functional.hessian(
            torch.linalg.det, x.to(device), vectorize=True
        ).cpu()

    def one_by_one():
        return torch.autograd.functional.hessian(torch.linalg.det, x)

    torch.testing.assert_close(hessian("lazy"), one_by_one())


def test_transforms_and_forward_mode():
    def transformed(device):
        a = MATRICES["any"].to(device)
        for function in FUNCTIONS.values():
            gradient = torch.func.grad(function)
            yield from (gradient(a), gradient(a.t()), torch.func.jacfwd(function)(a))
            yield torch.func.vmap(gradient)(torch.stack([a, a + 1]))
            yield torch.func.jvp(function, (a.t(),), (a,))[1]

    for ours, eagers in zip(transformed("lazy"), transformed("cpu"), strict=True):
        torch.testing.assert_close(ours.cpu(), eagers)
