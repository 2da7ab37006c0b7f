# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums along columns that are part of the loop which goes through the rows."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc


def layer_norm(x, scale, shift):
    return F.layer_norm(x, x.shape[-1:], scale, shift)


def rms_norm(x, scale, shift):
    return F.rms_norm(x, x.shape[-1:], scale) + shift


def gelu(x, scale, shift):
    return F.gelu(x * scale + shift)


def block(x, scale, shift):
    """Two norms, the second of which is also added to what the first read."""
    inner = layer_norm(F.silu(layer_norm(x, scale, shift)) + x, scale, shift)
    return inner * 2 + x


def bias_of_rows(x, scale, shift):
    """The rows are merged for the product, as linear layers do."""
    like = {"dtype": x.dtype, "device": x.device}
    down, up = torch.eye(48, x.shape[-1], **like), torch.eye(x.shape[-1], 48, **like)
    hidden = F.linear(x, down * scale, shift[:48])
    return F.linear(F.gelu(hidden), up * scale[:48], shift)


def column_sums(x, scale, shift):
    rows = tuple(range(x.dim() - 1))
    y = torch.tanh(x)
    return y, y.sum(rows) * scale, (y * x).mean(rows) + shift, x.amax(rows)


PROGRAMS = [layer_norm, rms_norm, gelu, block, bias_of_rows, column_sums]


def run(program, tensors, device):
    """Results and gradients, on the CPU."""
    leaves = [t.to(device).requires_grad_() for t in tensors]
    results = program(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    torch.manual_seed(1)
    seeds = [torch.randn(r.shape, dtype=r.dtype).to(device) for r in results]
    found = [*results, *torch.autograd.grad(results, leaves, seeds)]
    return [t.detach().cpu() for t in found]


def check(program, shape, dtype=torch.float32):
    torch.manual_seed(0)
    width = shape[-1]
    tensors = [torch.randn(s).to(dtype) for s in (shape, (width,), (width,))]
    exact = run(program, [t.double() for t in tensors], "cpu")
    eager, lazy = (run(program, tensors, device) for device in ("cpu", "lazy"))
    # In float64 eager is what both are compared with: it has no error.
    least = torch.finfo(dtype).eps * (8 if dtype == torch.float64 else 1)
    for *found, right in zip(eager, lazy, exact, strict=True):
        norm = right.norm() + 1e-30
        wrong = [((t.double() - right).norm() / norm).item() for t in found]
        assert wrong[1] <= max(2 * wrong[0], least), wrong


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "shape",
    [
        (1024, 1024),
        (8, 128, 512),  # blocks of 32 rows in each of 8
        (64, 16, 512),  # blocks of some of the 64
        (4, 3, 64, 700),
        (1001, 520),  # no block of 8 to 32 rows divides them
        (60, 2048),
        (16384, 64),
        (40, 16384),  # rows too long to be summed on the way
    ],
)
def test_gradients_are_eagers(program, shape):
    check(program, shape)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_of_other_dtypes(program, dtype):
    check(program, (16, 64, 520), dtype)


@pytest.mark.parametrize("program", PROGRAMS)
def test_of_sizes_that_vary(program):
    for batch in (8, 9, 12, 31):
        check(program, (batch, 64, 512))
    for rows in (64, 96, 104, 50):
        check(program, (12, rows, 512))


def kernels(program, shape):
    """How many loops a step of gradients is."""
    tensors = [torch.randn(s) for s in (shape, shape[-1:], shape[-1:])]
    leaves = [t.to("lazy").requires_grad_() for t in tensors]
    seed = torch.randn(shape).to("lazy")
    torch.lazy.mark_step(wait=True)

    def step():
        found = torch.autograd.grad(program(*leaves), leaves, seed)
        torch.lazy.mark_step(wait=True)
        return found

    step()
    before = torch_ltc.metrics.snapshot().get("execute.kernels", 0)
    step()
    return torch_ltc.metrics.snapshot()["execute.kernels"] - before


@pytest.mark.parametrize(
    ("program", "shape", "count"),
    [
        (layer_norm, (8, 128, 1024), 2),  # all, and the sums of blocks' sums
        (gelu, (8, 128, 1024), 2),
        (layer_norm, (64, 1024), 2),  # few rows: both sums in a loop of their own
    ],
)
def test_rows_are_read_once(program, shape, count):
    assert kernels(program, shape) == count
