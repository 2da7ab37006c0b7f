# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops of zeros, infinities, NaN and the ends of the range.

OpInfo's samples are ordinary numbers; here each meets each of these.
"""

import math

import pytest
import torch
import torch._lazy  # OpInfo ends a lazy step through it when it sets a seed
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, math.inf, -math.inf, math.nan)
SMALL = (1e-3, -1e-3, 1e-10, -1e-10, 1e-30)
DTYPES = (torch.float32, torch.bfloat16, torch.float64)
PRECISION = {torch.float32: 1e-5, torch.float64: 1e-10}


def special(dtype):
    ends = torch.finfo(dtype)
    values = [*FLOATS, *SMALL, ends.max, ends.min, ends.tiny]
    # More than a vector of them: the library's kernels treat the rest apart.
    return torch.tensor(values * 3, dtype=dtype)


def is_comparable(op, operands):
    """Return whether the op takes plain tensors and gives one of real numbers."""
    try:
        result = op.op(*[torch.ones(3)] * operands)
    except Exception:
        return False
    return isinstance(result, torch.Tensor) and not result.is_complex()


# Eager's vectors are wrong where its scalars, and lazy, are right: a quotient
# too large for an integer, a result that is subnormal.
EAGER_IS_WRONG = {"fmod", "remainder", "__rmod__", "erf"}
# Of zeros of unequal sign eager itself takes one in its vectors, and another in the
# elements that fill none: in these dtypes.
ZEROS_ARE_EQUAL = {
    "clamp_max": {torch.bfloat16},
    "clamp_min": {torch.bfloat16},
    "max.binary": {torch.bfloat16},
    "maximum": {torch.bfloat16},
    "min.binary": {torch.bfloat16},
    "minimum": {torch.bfloat16},
    "nn.functional.softshrink": set(DTYPES),
}
OPS = {o.full_name: o for o in op_db if o.full_name not in EAGER_IS_WRONG}
UNARY = {
    name: op
    for name, op in OPS.items()
    if isinstance(op, UnaryUfuncInfo) and is_comparable(op, 1)
}
BINARY = {
    name: op
    for name, op in OPS.items()
    if isinstance(op, BinaryUfuncInfo) and is_comparable(op, 2)
}


def differences(name, *tensors, signs=True):
    """Return the operands, and what eager and lazy make of them, that differ."""
    op = OPS[name].op
    wanted = op(*tensors)
    found = op(*(t.to("lazy") for t in tensors)).cpu()
    assert found.dtype == wanted.dtype
    if wanted.is_floating_point():
        rtol = PRECISION.get(wanted.dtype, 2e-2)
        close = torch.isclose(found, wanted, rtol=rtol, atol=0, equal_nan=True)
        if signs:
            close &= (wanted != 0) | (found.signbit() == wanted.signbit())
    else:
        close = found == wanted
    columns = [t.broadcast_to(close.shape)[~close] for t in (*tensors, wanted, found)]
    return list(zip(*(c.tolist() for c in columns), strict=True))


def supported(op):
    return [d for d in DTYPES if d in op.supported_dtypes("cpu")]


def operands(name, dtype):
    x = special(dtype)
    return (x,) if name in UNARY else (x, x[: len(x) // 3, None])


@pytest.mark.parametrize("name", UNARY | BINARY)
def test_op(name):
    for dtype in supported(OPS[name]):
        zeros_are_equal = dtype in ZEROS_ARE_EQUAL.get(name, ())
        found = differences(name, *operands(name, dtype), signs=not zeros_are_equal)
        assert not found


@pytest.mark.parametrize("name", ZEROS_ARE_EQUAL)
def test_signs_of_zeros_that_differ(name):
    for dtype in ZEROS_ARE_EQUAL[name]:
        assert differences(name, *operands(name, dtype)), "take it out of the table"
