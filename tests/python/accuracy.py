# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a result is eager's, or at least as near to the truth.

Sums in another order, or without rounding to 16 bits between two ops, are not
eager's bit for bit. The same sample in double precision tells which is nearer.
"""

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo
from torch.utils import _pytree as pytree


class Skipped(Exception):
    """Eager cannot run this sample this way, so there is nothing to compare."""


def _is_tensor(value):
    return isinstance(value, torch.Tensor)


def tolerance(op, dtype):
    """Return what OpInfo itself declares for a 16-bit dtype against eager CPU.

    All other dtypes, and ops that declare nothing, are held to `assert_close`.
    """
    if dtype not in (torch.float16, torch.bfloat16):
        return {}
    overrides = list(op.decorators)
    for decorator in op.decorators:
        if isinstance(decorator, DecorateInfo) and decorator.is_active(
            "TestCommon", "test_compare_cpu", "cpu", dtype, {}
        ):
            overrides += decorator.decorators
    declared = [
        override.d[dtype]
        for override in overrides
        if isinstance(override, toleranceOverride) and dtype in override.d
    ]
    if not declared:
        return {}
    rtol, atol = default_tolerances(dtype)
    return {
        "rtol": max(rtol, *(tolerance.rtol for tolerance in declared)),
        "atol": max(atol, *(tolerance.atol for tolerance in declared)),
    }


def mismatch(actual, expected, allowed, device="lazy"):
    """Return what differs between two results, or an empty string."""
    left, right = pytree.tree_leaves(actual), pytree.tree_leaves(expected)
    if len(left) != len(right):
        return f"{len(left)} results, wanted {len(right)}"
    for i, (a, e) in enumerate(zip(left, right, strict=True)):
        if not _is_tensor(e):
            if a != e and not (a is not None and e != e and a != a):
                return f"result {i} is {a!r}, wanted {e!r}"
            continue
        if not _is_tensor(a):
            return f"result {i} is {a!r}, wanted a tensor"
        if a.device.type != device:
            return f"result {i} is on {a.device}"
        if a.requires_grad != e.requires_grad:
            return f"result {i} has requires_grad={a.requires_grad}"
        a, e = (x.detach().cpu().resolve_conj().resolve_neg() for x in (a, e))
        try:
            torch.testing.assert_close(
                a,
                e,
                equal_nan=True,
                check_stride=False,
                **(allowed if e.dtype in (torch.float16, torch.bfloat16) else {}),
            )
        except AssertionError as error:
            text = str(error).replace("Tensor-likes are not close!", "values")
            return f"result {i}: {' '.join(text.split())}"
    return ""


DOUBLE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
    # Already exact, unless an argument was single.
    torch.float64: torch.float64,
    torch.complex128: torch.complex128,
}

# How far eager itself may be from the truth, relative to the largest element;
# where it is farther, double precision computes something else (a random op).
TRUSTED = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
TRUSTED_SINGLE = 1e-3

# Two bits: errors of the same kind, in a few elements, differ by chance.
SLACK = 4.0


def _is_rounded(tensor):
    return _is_tensor(tensor) and tensor.dtype in DOUBLE


def doubled(tree):
    """Return a tree of arguments in double precision, dtype arguments too."""

    def one(value):
        if _is_rounded(value):
            wide = value.detach().to(DOUBLE[value.dtype])
            return wide.requires_grad_(value.requires_grad)
        if isinstance(value, torch.dtype):
            return DOUBLE.get(value, value)
        return value

    return pytree.tree_map(one, tree)


def _distance(tensor, exact):
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().to(exact.dtype)
    same = (tensor == exact) | (tensor.isnan() & exact.isnan())
    return torch.where(same, 0.0, (tensor - exact).abs()).max().item()


def is_as_near(actual, expected, exact, device="lazy"):
    """Return whether `actual` is about as near to `exact` as eager's `expected`."""
    trees = [pytree.tree_leaves(tree) for tree in (actual, expected, exact)]
    if len({len(leaves) for leaves in trees}) != 1:
        return False
    for a, e, x in zip(*trees, strict=True):
        if not _is_rounded(e):
            if _is_tensor(e) and not torch.equal(a.detach().cpu(), e):
                return False
            continue
        alike = (a.shape, a.dtype, a.requires_grad) == (
            (e.shape, e.dtype, e.requires_grad)
        )
        if not alike or a.device.type != device or x.shape != e.shape:
            return False
        if not e.numel():
            continue
        x = x.detach()
        finite = x[x.isfinite()]
        scale = finite.abs().max().item() if finite.numel() else 0.0
        mine, eagers = _distance(a, x), _distance(e, x)
        trusted = TRUSTED.get(e.dtype, TRUSTED_SINGLE) * scale
        # Not <=: a NaN here is no distance.
        if not (eagers <= trusted and mine <= SLACK * eagers):
            return False
    return True
