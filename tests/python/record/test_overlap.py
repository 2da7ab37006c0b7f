# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes to views that show a place of their base twice, or not all of it."""

import pytest
import torch

TWICE = {
    "expand": lambda x: x[:3].expand(4, 3),
    "expand a column": lambda x: x[:4].unsqueeze(1).expand(4, 3),
    "slice of an expand": lambda x: x[:3].expand(6, 3)[:4],
    "unfold": lambda x: x.unfold(0, 3, 2)[:4],
    "as_strided": lambda x: x.as_strided((4, 3), (1, 1)),
}
STRIDE_0 = ["expand", "expand a column", "slice of an expand"]
ONCE = {
    "unfold": lambda x: x.unfold(0, 2, 3),
    "unfold a view": lambda x: x.view(3, 4).t().unfold(1, 2, 2)[:, 0],
    "as_strided": lambda x: x.as_strided((2, 3), (6, 1), 1),
    "as_strided of a view": lambda x: x.view(3, 4)[1:].as_strided((2,), (5,)),
    "expand by 1": lambda x: x.view(3, 1, 4).expand(3, 1, 4),
}


def tensor(v, value=2.0):
    return torch.full_like(v, value)


OVERWRITE = {
    "fill_": lambda v: v.fill_(3),
    "zero_": lambda v: v.zero_(),
}
MODIFY = {
    "add_": lambda v: v.add_(1),
    "mul_": lambda v: v.mul_(tensor(v)),
    "clamp_": lambda v: v.clamp_(0, 1),
    "bernoulli_": lambda v: v.bernoulli_(1.0),
    "foreach": lambda v: torch._foreach_add_([v], 1.0),
}
COPY = {
    "copy_": lambda v: v.copy_(tensor(v)),
    "out=": lambda v: torch.add(tensor(v), 1, out=v),
    "out= of cat": lambda v: torch.cat([tensor(v)], out=v),
}


def run(view, write, device):
    x = torch.arange(12.0, device=device)
    v = view(x)
    try:
        write(v)
    except RuntimeError as error:
        return str(error)
    return [x.tolist(), v.tolist()]


@pytest.mark.parametrize("write", [*OVERWRITE, *COPY])
@pytest.mark.parametrize("view", TWICE)
def test_what_is_overwritten_is_eagers(view, write):
    writes = OVERWRITE | COPY
    eager = run(TWICE[view], writes[write], "cpu")
    assert run(TWICE[view], writes[write], "lazy") == eager


@pytest.mark.parametrize("write", MODIFY)
@pytest.mark.parametrize("view", TWICE)
def test_what_is_modified_twice_is_an_error(view, write):
    told = run(TWICE[view], MODIFY[write], "lazy")
    assert told.startswith("unsupported operation: more than one element")
    if view in STRIDE_0:  # elsewhere eager's result depends on its loops
        assert told == run(TWICE[view], MODIFY[write], "cpu")


@pytest.mark.parametrize("write", [*OVERWRITE, *MODIFY, *COPY])
@pytest.mark.parametrize("view", ONCE)
def test_the_rest_of_the_base_stays(view, write):
    writes = OVERWRITE | MODIFY | COPY
    eager = run(ONCE[view], writes[write], "cpu")
    assert run(ONCE[view], writes[write], "lazy") == eager


def test_diagonal_of_a_view():
    def fill(device):
        x = torch.zeros(4, 3, device=device)
        x.view(3, 4)[:, :3].fill_diagonal_(7)
        return x

    assert torch.equal(fill("lazy").cpu(), fill("cpu"))


def test_gradient_through_a_write():
    def grad(device):
        x = torch.ones(6, device=device, requires_grad=True)
        y = x * 2
        y.unfold(0, 2, 3).mul_(3)
        y.sum().backward()
        return x.grad

    assert torch.equal(grad("lazy").cpu(), grad("cpu"))


RESULTS = {
    "matrix_rank": lambda x, out: torch.linalg.matrix_rank(
        x[0, :3, :3] + 20 * torch.eye(3, device=x.device), out=out.long()
    ),
    "matrix_rank, tol": lambda x, out: torch.linalg.matrix_rank(
        x, tol=0.5, out=out.long()
    ),
}


@pytest.mark.parametrize("call", RESULTS.values(), ids=RESULTS)
def test_out_of_matrix_rank(call):
    def ranks(device):
        x = torch.arange(24.0, device=device).view(2, 3, 4)
        return call(x, torch.empty(0, device=device))

    assert torch.equal(ranks("lazy").cpu(), ranks("cpu"))


def test_out_is_written_by_matrix_rank():
    out = torch.empty((), dtype=torch.long, device="lazy")
    with torch.inference_mode():
        inference = torch.empty((), dtype=torch.long, device="lazy")
        torch.linalg.matrix_rank(torch.eye(4, device="lazy"), out=inference)
    torch.linalg.matrix_rank(torch.eye(4, device="lazy"), out=out)
    assert out.item() == inference.item() == 4


def test_out_of_batch_norm():
    def run(device):
        x = torch.arange(24.0, device=device).view(2, 3, 4)
        mean, var = torch.zeros(3, device=device), torch.ones(3, device=device)
        out = [torch.empty(0, device=device) for _ in range(3)]
        torch.ops.aten._native_batch_norm_legit.out(
            x, None, None, mean, var, True, 0.1, 1e-5,
            out=out[0], save_mean=out[1], save_invstd=out[2],
        )  # fmt: skip
        return [*out, mean, var]

    for lazy, eager in zip(run("lazy"), run("cpu"), strict=True):
        torch.testing.assert_close(lazy.cpu(), eager)
