# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops of zeros, infinities, NaN and the ends of the range.

OpInfo's samples are ordinary numbers; here each meets each of these, in all dtypes.
"""

import math

import pytest
import torch
import torch._lazy  # OpInfo ends a lazy step through it when it sets a seed
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

COMMON = {torch.float32, torch.bfloat16, torch.int32}
OTHERS = {
    torch.float16,
    torch.float64,
    torch.int64,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
}
PRECISION = {
    torch.float32: 1e-5,
    torch.float64: 1e-10,
    torch.float16: 2e-3,
    torch.bfloat16: 2e-2,
}
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 2.5, -3.0, math.inf, -math.inf, math.nan)
SMALL = (1e-3, -1e-3, 1e-10, -1e-10, 1e-30)
LARGE = (88.0, -88.0, 1000.3)


def special(dtype):
    if dtype == torch.bool:
        return torch.tensor([True, False] * 40)
    if dtype.is_floating_point:
        ends = torch.finfo(dtype)
        values = [*FLOATS, *SMALL, *LARGE, ends.max, ends.min, ends.tiny]
        values += [-ends.tiny, ends.eps, ends.tiny / 4, -ends.tiny / 4]
    else:
        ends, bits = torch.iinfo(dtype), torch.iinfo(dtype).bits
        values = [0, 1, 2, 3, 7, bits - 1, bits, bits + 1, ends.max, ends.max - 1]
        values += [-n for n in values[1:8]] if dtype.is_signed else []
        values += [ends.max // 2, ends.min, ends.min + 1]
    # More than a vector of them: the library's kernels treat the rest apart.
    return torch.tensor(values * 3, dtype=dtype)


def is_comparable(op, operands):
    """Return whether the op takes plain tensors and gives one of real numbers."""
    try:
        result = op.op(*[torch.ones(3)] * operands)
    except Exception:
        return False
    return isinstance(result, torch.Tensor) and not result.is_complex()


# Where eager itself is wrong: of the least numbers of bfloat16, erf is as large.
EAGER_IS_WRONG = {"erf": {torch.bfloat16}}
# Eager divides the lowest integer by -1, which ends the process.
EAGER_DIES = {"lcm"}
OPS = {o.full_name: o for o in op_db if o.full_name not in EAGER_DIES}
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


def spread(tensor):
    """Return an equal tensor with gaps, which eager's vectors do not read."""
    return torch.stack([tensor, tensor], -1)[..., 0]


def agree(found, wanted):
    """Return where two results are equal, signs of zeros and all."""
    if not wanted.is_floating_point():
        return found == wanted
    rtol = PRECISION[wanted.dtype]
    close = torch.isclose(found, wanted, rtol=rtol, atol=0, equal_nan=True)
    return close & ((wanted != 0) | (found.signbit() == wanted.signbit()))


def operands(name, dtype):
    x = special(dtype)
    if name in UNARY:
        return (x,)
    y = x[: len(x) // 3, None]
    if not dtype.is_floating_point and raises(name, x, y):
        y = y[y[:, 0] != 0]  # an integer division
        x = x if not raises(name, x, y) else x[x != 0]
    return tuple(t.contiguous() for t in torch.broadcast_tensors(x, y))


def raises(name, *tensors):
    try:
        OPS[name].op(*tensors)
    except RuntimeError:
        return True
    return False


def differences(tensors, wanted, found):
    """Return the operands, and what eager and lazy make of them, that differ.

    Eager computes some of it in vectors and the rest one by one, not always to the
    same end: then it defines nothing, and lazy may do either.
    """
    found = found.cpu()
    assert all(found.dtype == w.dtype for w in wanted)
    equal = agree(found, wanted[0]) | agree(found, wanted[1])
    columns = [t[~equal].tolist() for t in (*tensors, *wanted, found)]
    return list(zip(*columns, strict=True))


def check(name, dtypes):
    """Compare in all of the dtypes, which takes one graph and so one compile."""
    op, recorded = OPS[name], []
    left_out = EAGER_IS_WRONG.get(name, set())
    if "_polynomial_" in name:  # eager counts to the degree, 2 ** 31 here
        left_out = {dtype for dtype in dtypes if not dtype.is_floating_point}
    for dtype in op.supported_dtypes("cpu").intersection(dtypes) - left_out:
        tensors = operands(name, dtype)
        wanted = op.op(*tensors), op.op(*map(spread, tensors))
        recorded.append((tensors, wanted, op.op(*(t.to("lazy") for t in tensors))))
    for tensors, wanted, found in recorded:
        assert not differences(tensors, wanted, found)


@pytest.mark.parametrize("name", UNARY | BINARY)
def test_op(name):
    check(name, COMMON)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNARY | BINARY)
def test_op_in_other_dtypes(name):
    check(name, OTHERS)
