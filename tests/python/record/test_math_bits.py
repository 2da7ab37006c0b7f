# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conjugate and negative views read, write and report as eager's do."""

import copy
import io

import pytest
import torch


def matrix(device):
    rows = [[1 + 2j, 3 + 4j, 5 - 6j], [2 - 1j, -3 + 0.5j, 7j]]
    return torch.tensor(rows, dtype=torch.complex64, device=device)


def describe(value):
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu().resolve_conj().resolve_neg()
        bits = value.is_conj(), value.is_neg(), value._is_view()
        return *bits, value.stride(), value.storage_offset(), plain
    return tuple(map(describe, value)) if isinstance(value, (list, tuple)) else value


def close(found, wanted):
    if isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(wanted, torch.Tensor):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
        return True
    return found == wanted


def same(program):
    found, wanted = (describe(program(matrix(device))) for device in ("lazy", "cpu"))
    assert close(found, wanted), (found, wanted)


def message(program, device):
    with pytest.raises(RuntimeError) as raised:
        program(matrix(device))
    return str(raised.value).splitlines()[0]


def written(*tensors):
    file = io.BytesIO()
    torch.save(tensors, file)
    file.seek(0)
    return torch.load(file)


def negative(z):
    return z.conj().imag


VIEWS = {
    "conj": lambda z: z.conj(),
    "twice": lambda z: z.conj().conj(),
    "imag": lambda z: (z.imag, z.conj().imag, z.conj().conj().imag),
    "real": lambda z: (z.real, z.conj().real, z.real.conj()),
    "transposed": lambda z: (z.mH, z.adjoint(), z.H, z.conj().t()),
    "a part": lambda z: (z.conj()[1:], z.conj()[:, ::2], z.conj().select(0, 1)),
    "a part's negative": lambda z: negative(z)[1:].t(),
    "parts": lambda z: (z.conj().unbind(), z.conj().split(1), negative(z).chunk(2)),
    "view": lambda z: (z.conj().view(-1), z.conj().view(2, 1, 3)),
    "reshape": lambda z: (z.conj().reshape(3, 2), z.conj().t().reshape(-1)),
    "expand": lambda z: (z.conj().expand(2, 2, 3), z.conj()[None].squeeze()),
    "diagonal": lambda z: (z.conj().diagonal(), z.conj().unfold(1, 2, 1)),
    "as_strided": lambda z: (z.conj().as_strided((2,), (2,), 1), z.mH[1:].H),
    "alias": lambda z: (z.conj().detach(), torch.ops.aten.alias(negative(z))),
    "negative": lambda z: (z._neg_view(), z._neg_view().conj()._neg_view()),
    "negative as real": lambda z: torch.view_as_real(z._neg_view()),
    "negative as complex": lambda z: torch.view_as_complex(
        torch.view_as_real(z)._neg_view()
    ),
    "in place": lambda z: (z.conj().t_(), z.conj().unsqueeze_(0), z.conj().resize_(3)),
}

RESOLVED = {
    "resolve_conj": lambda z: (z.conj().resolve_conj(), z.resolve_conj()),
    "resolve_neg": lambda z: (negative(z).resolve_neg(), z.imag.resolve_neg()),
    "clone": lambda z: (z.conj().clone(), z.mH.clone(), negative(z).clone()),
    "clone of a view": lambda z: z.conj().expand(2, 2, 3).clone(),
    "contiguous": lambda z: (z.conj().contiguous(), z.mH.contiguous()),
    "to": lambda z: (z.conj().to(torch.complex128), z.conj().to(torch.complex64)),
    "physical": lambda z: (z.conj_physical(), z.conj().conj_physical()),
    "like": lambda z: (torch.zeros_like(z.conj()), torch.full_like(z.conj(), 2)),
    "copies": lambda z: (torch.ops.aten._conj_copy(z.mH), torch._neg_view_copy(z)),
    "deepcopy": lambda z: copy.deepcopy([z, z.conj(), negative(z)]),
}

VALUES = {
    "elementwise": lambda z: (z.conj() * z, z.conj() + 1, negative(z) * negative(z)),
    "parts": lambda z: (z.conj().abs(), z.conj().angle(), z.conj().sgn()),
    "sum": lambda z: (z.conj().sum(), z.conj().cumsum(0), negative(z).sum(0)),
    "mm": lambda z: (torch.mm(z.mH, z), z @ z.mH, z.mH @ z.conj()),
    "addmm": lambda z: torch.addmm(z[:, :2].conj(), z.conj(), z.t()),
    "bmm": lambda z: torch.bmm(z[None].conj(), z.mH[None]),
    "baddbmm": lambda z: torch.baddbmm(z[None, :, :2].conj(), z[None], z.mH[None]),
    "dot": lambda z: (torch.dot(z[0].conj(), z[1]), torch.vdot(z[0].conj(), z[1])),
    "einsum": lambda z: torch.einsum("ij,kj->ik", z.conj(), z),
    "cat": lambda z: (torch.cat([z.conj(), z]), torch.stack([z, z.conj()])),
    "index": lambda z: (z.conj()[[1, 0]], z.conj()[z.real > 2], z.conj()[0, 1].item()),
    "repeat": lambda z: (
        z.conj().repeat_interleave(2),
        negative(z).repeat_interleave(2, 0),
    ),
    "fft": lambda z: torch.fft.fft(z.conj()),
    "solve": lambda z: torch.linalg.solve(z[:, :2].mH, z.conj()),
    "solve_triangular": lambda z: torch.linalg.solve_triangular(
        z[:, :2].tril().mH, z, upper=True
    ).contiguous(),
    "inv": lambda z: torch.linalg.inv(z[:, :2].mH),
    "svdvals": lambda z: torch.linalg.svdvals(z.conj()),
    "eigvalsh": lambda z: torch.linalg.eigvalsh((z @ z.mH).conj()),
    "equal": lambda z: (torch.equal(z.conj(), z), torch.equal(z.mH, z.mH.clone())),
    "tolist": lambda z: (z.conj().tolist(), negative(z).tolist(), repr(z.mH.cpu())),
    "vmap": lambda z: torch.func.vmap(lambda x: x.conj() * 2)(z),
    "jvp": lambda z: torch.func.jvp(lambda x: x.conj() * x, (z,), (z.conj(),)),
    "vjp": lambda z: torch.func.vjp(lambda x: x.conj() * x, z)[1](z),
    "scatter": lambda z: torch.as_strided_scatter(z.conj(), z[0], (3,), (1,)),
    "file": lambda z: (written(z.mH, z.conj()[1:]), written(negative(z))),
}

ERRORS = {
    "view_as_real": lambda z: torch.view_as_real(z.conj()),
    "view of another dtype": lambda z: z.conj().view(torch.float32),
    "view of a negative": lambda z: negative(z).view(torch.int32),
    "expanded": lambda z: z[0].conj().expand(2, 3).fill_(2j),
    "file": lambda z: written(z, z.conj().imag),
    "list": lambda z: torch._foreach_add_([z.conj()], 1),
    "leaf": lambda z: z.requires_grad_().conj().add_(1),
}


@pytest.mark.parametrize(
    "program",
    [*VIEWS.values(), *RESOLVED.values(), *VALUES.values()],
    ids=[*VIEWS, *RESOLVED, *VALUES],
)
def test_reads_are_eagers(program):
    same(program)


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS)
def test_refusals_are_eagers(program):
    assert message(program, "lazy") == message(program, "cpu")


@pytest.mark.parametrize("program", [*VIEWS.values(), *RESOLVED.values()])
def test_reads_in_inference_mode_are_eagers(program):
    with torch.inference_mode():
        same(program)

    def on_an_ordinary_tensor(z):
        with torch.inference_mode():
            return program(z)

    same(on_an_ordinary_tensor)


def places(z):
    return torch.zeros(1, 3, dtype=torch.long, device=z.device)


# Each writes to c, a view of z.
WRITES = {
    "add": lambda z, c: c.add_(1j),
    "by itself": lambda z, c: c.mul_(c),
    "by its base": lambda z, c: c.mul_(z),
    "to its base": lambda z, c: z.mul_(c),
    "fill": lambda z, c: (c[0].fill_(1 + 2j), c[1:].zero_()),
    "assign": lambda z, c: c.__setitem__(0, c[1]),
    "assign base": lambda z, c: c.__setitem__(0, z[1]),
    "assign number": lambda z, c: c.__setitem__((0, 1), 4j),
    "assign where": lambda z, c: c.__setitem__(z.real > 2, 1j),
    "copy": lambda z, c: c.copy_(z.clone()),
    "copy conjugate": lambda z, c: c.copy_(z.clone().conj()),
    "copy to base": lambda z, c: z.copy_(c),
    "copy real": lambda z, c: c.copy_(z.real.clone()),
    "copy wide": lambda z, c: c.copy_(z.to(torch.complex128)),
    "copy row": lambda z, c: c.copy_(z[0].clone()),
    "copy from host": lambda z, c: c.copy_(z.cpu()),
    "physical": lambda z, c: c.conj_physical_(),
    "negate": lambda z, c: c.neg_(),
    "transposed": lambda z, c: c.t().mul_(2j),
    "imag": lambda z, c: c.imag.add_(1),
    "imag copy": lambda z, c: c.imag.copy_(z.real),
    "imag negate": lambda z, c: c.imag.neg_(),
    "real": lambda z, c: c.real.add_(1),
    "out": lambda z, c: torch.add(z, 1j, out=c),
    "out itself": lambda z, c: torch.mul(c, c, out=c),
    "out base": lambda z, c: torch.mul(c, z, out=z),
    "mm out": lambda z, c: torch.mm(z.conj().clone(), z.mT.clone(), out=c[:, :2]),
    "addmm": lambda z, c: c[:, :2].addmm_(z.clone().conj(), z.mT.clone()),
    "dot out": lambda z, c: torch.dot(z[0].clone(), z[1].clone(), out=c[0, 0]),
    "masked": lambda z, c: c.masked_fill_(z.real > 2, 3j),
    "scatter": lambda z, c: c.scatter_(0, places(z), z.clone()),
    "as_strided": lambda z, c: c.as_strided((3,), (1,)).mul_(2j),
    "foreach": lambda z, c: torch._foreach_mul_([z], [c.clone().conj()]),
    "resized": lambda z, c: c.resize_(3).mul_(2j),
    "resolved": lambda z, c: c.resolve_conj().mul_(2),
    "base after": lambda z, c: z.mul_(2j),
    "set to base": lambda z, c: c.set_(z),
    "base set": lambda z, c: z.set_(c[:1]),
    "data": lambda z, c: setattr(c, "data", z),
    "data of base": lambda z, c: setattr(z, "data", c),
    "negative integers": lambda z, c: z.real.to(torch.uint8)._neg_view().add_(3),
    "negative pairs": lambda z, c: torch.view_as_real(z)._neg_view().add_(3),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_are_eagers(write):
    def program(z):
        c = z.conj()
        return write(z, c), c, z

    same(program)
    with torch.inference_mode():
        same(program)


LOSSES = {
    "square": lambda z: (z.conj() * z).sum().abs(),
    "conjugate": lambda z: z.conj().sum().real,
    "imag": lambda z: z.conj().imag.sum() + z.imag.prod(),
    "matmul": lambda z: (z @ z.mH).abs().sum(),
    "vdot": lambda z: torch.vdot(z[0], z[1]).abs(),
    "fft": lambda z: torch.fft.fft(z).abs().sum(),
    "svd": lambda z: torch.linalg.svdvals(z.conj()).sum(),
    "inv": lambda z: torch.linalg.inv(z @ z.mH + 1).abs().sum(),
    "write": lambda z: sum(w.conj().mul_(2j).abs().sum() for w in [z * 1]),
    "write to imag": lambda z: [w := z * 1, w.conj().imag.mul_(2), w.abs().sum()][-1],
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_gradients_are_eagers(loss):
    def program(z):
        z.requires_grad_()
        loss(z).backward()
        return z.grad

    same(program)


def test_a_read_sees_later_writes_and_a_copy_does_not():
    def program(z):
        view, resolved = z.conj(), z.conj().resolve_conj()
        z.mul_(2j)
        return view, resolved, view.imag, view.real

    same(program)


def test_what_a_file_had_in_common_stays_in_common():
    def program(z):
        base, conjugate, part = written(z, z.conj(), z[1:].mH)
        base.mul_(2j)
        return base, conjugate, part

    same(program)


def test_host_and_device_exchange_conjugates():
    z = matrix("cpu")
    assert torch.equal(z.conj().to("lazy").cpu(), z.conj())
    assert torch.equal(z.to("lazy").conj().cpu(), z.conj())
    host = z.clone().conj()
    host.copy_(z.to("lazy"))
    assert torch.equal(host, z)
    host.copy_(z.to("lazy").conj())
    assert torch.equal(host, z.conj())


PAIRS = [(a, b) for a in (False, True) for b in (False, True)]


@pytest.mark.parametrize("op", [torch.dot, torch.vdot, torch.inner])
def test_products_of_vectors(op):
    def program(z):
        sides = [
            (z[0].conj() if a else z[0], z[1].conj() if b else z[1]) for a, b in PAIRS
        ]
        return [op(*each) for each in sides]

    same(program)
    same(lambda z: op(z[0].conj(), z[1].conj()) * 2j)


@pytest.mark.parametrize("left", [True, False])
def test_solutions(left):
    def program(z):
        square = z[:, :2] + 5 * torch.eye(2).to(z.device)
        factors = torch.linalg.lu_factor(square)
        solve = torch.linalg.lu_solve
        return (
            solve(*factors, square, left=left),
            solve(*factors, square.conj(), left=left, adjoint=True),
            torch.linalg.solve(square, square.mH, left=left),
        )

    def gradient(z):
        z = z.requires_grad_()
        torch.view_as_real(program(z)[2].resolve_conj()).sum().backward()
        return z.grad

    for _ in range(2):
        same(program)
    same(gradient)
