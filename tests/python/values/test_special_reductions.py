# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, scans and sorts of zeros, infinities, NaN and the ends of the range.

OpInfo's samples are ordinary numbers; here each row of a tensor has one or two others.
"""

import itertools
import math

import pytest
import torch

COMMON = (torch.float32, torch.bfloat16, torch.int32)
OTHERS = (
    *(torch.float64, torch.float16, torch.int64),
    *(torch.int16, torch.int8, torch.uint8, torch.bool),
)
PRECISION = {
    torch.float32: 1e-5,
    torch.float64: 1e-10,
    torch.float16: 4e-3,
    torch.bfloat16: 2e-2,
}


def specials(dtype):
    if dtype == torch.bool:
        return [True, False]
    if not dtype.is_floating_point:
        ends = torch.iinfo(dtype)
        return [0, 1, ends.max, ends.min, ends.max - 1, ends.min + 1]
    ends = torch.finfo(dtype)
    numbers = [0.0, -0.0, math.inf, -math.inf, math.nan, ends.max, ends.min]
    return [*numbers, ends.tiny, -ends.tiny, ends.tiny / 4, -ends.tiny / 4]


def rows(dtype, length):
    """Return rows of each special number alone, and of each pair among others."""
    numbers = specials(dtype)
    made = [[n] * length for n in numbers]
    for pair in itertools.permutations(numbers, 2):
        for place in (0, length // 2, length - 2):
            # No ties but those of the special numbers: eager breaks others anyhow.
            row = [(i * 7) % length % 100 + 2 for i in range(length)]
            row[place : place + 2] = pair
            made.append(row)
    return torch.tensor(made, dtype=dtype)


def of_floats(f):
    return lambda x: f(x) if x.is_floating_point() else None


def summable(x):
    """Bring doubles into a range that their squares do not leave on the way."""
    if x.dtype != torch.float64:
        return x
    return torch.where(x.isfinite(), x.clamp(-(2.0**500), 2.0**500), x)


OPS = {
    "sum": lambda x: x.sum(1),
    "sum of columns": lambda x: x.t().contiguous().sum(0),
    # The ordinary numbers, whose product would be infinite, are ones to these.
    "prod": lambda x: torch.where((x > 1) & (x < 102), 1, x).prod(1),
    "cumprod": lambda x: torch.where((x > 1) & (x < 102), 1, x).cumprod(1),
    "mean": of_floats(lambda x: x.mean(1)),
    "var": of_floats(lambda x: summable(x).var(1)),
    "std": of_floats(lambda x: summable(x).std(1, correction=0)),
    # Of infinities, eager's running mean is infinite or NaN by their order.
    "var_mean": of_floats(
        lambda x: torch.var_mean(
            summable(x).masked_fill(x.isinf().any(1, keepdim=True), 2), 1
        )
    ),
    "norm 0": of_floats(lambda x: torch.linalg.vector_norm(x, 0, dim=1)),
    "norm 1": of_floats(lambda x: torch.linalg.vector_norm(x, 1, dim=1)),
    "norm 2": of_floats(lambda x: torch.linalg.vector_norm(x, 2, dim=1)),
    "norm 3": of_floats(lambda x: torch.linalg.vector_norm(x, 3, dim=1)),
    "norm inf": of_floats(lambda x: torch.linalg.vector_norm(x, math.inf, dim=1)),
    "norm -inf": of_floats(lambda x: torch.linalg.vector_norm(x, -math.inf, dim=1)),
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(1),
    "aminmax": lambda x: torch.aminmax(x, dim=1),
    "max of columns": lambda x: x.t().contiguous().max(0),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(1),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "softmax": of_floats(lambda x: x.softmax(1)),
    "log_softmax": of_floats(lambda x: x.log_softmax(1)),
    "softmax of columns": of_floats(lambda x: x.t().contiguous().softmax(0)),
    "cumsum": lambda x: x.cumsum(1),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(1),
    "logcumsumexp": of_floats(lambda x: x.logcumsumexp(1)),
    "any": lambda x: x.any(1),
    "all": lambda x: x.all(1),
    "count_nonzero": lambda x: x.count_nonzero(1),
    "nansum": lambda x: x.nansum(1),
    "nanmean": of_floats(lambda x: x.nanmean(1)),
    "median": lambda x: x.median(1).values,
    "nanmedian": lambda x: x.nanmedian(1).values,
    "mode": lambda x: x.mode(1).values,
    "kthvalue": lambda x: x.kthvalue(3, 1).values,
    "sort": lambda x: x.sort(stable=True, dim=1),
    "sort down": lambda x: x.sort(stable=True, dim=1, descending=True),
    "argsort": lambda x: x.argsort(stable=True, dim=1),
    "topk": lambda x: x.topk(3, 1).values,
    "topk least": lambda x: x.topk(3, 1, largest=False).values,
    "quantile": lambda x: x.quantile(0.3, 1),
    "nanquantile": lambda x: x.nanquantile(0.3, 1),
}


# Their results do not depend on the order of the elements; where those of eager do (of
# sums beyond the range and back, of zeros of both signs) it defines nothing.
ORDERLESS = {
    *("sum", "sum of columns", "prod", "mean", "nansum", "nanmean"),
    *("amax", "amin", "aminmax", "var_mean"),
}


def results(op, x):
    """Return the tensors that the op makes; none if it refuses the dtype."""
    try:
        found = op(x)
    except (RuntimeError, NotImplementedError):
        return None
    if found is None:
        return None
    return [found] if isinstance(found, torch.Tensor) else list(found)


def agree(found, wanted):
    """Return where two results are equal, signs of zeros and all."""
    if not wanted.is_floating_point():
        return found == wanted
    rtol, tiny = PRECISION[wanted.dtype], torch.finfo(wanted.dtype).tiny
    close = torch.isclose(found, wanted, rtol=rtol, atol=tiny, equal_nan=True)
    same_sign = found.signbit() == wanted.signbit()
    return close & ((wanted != 0) | (found != 0) | same_sign)


def differences(name, dtypes):
    recorded, orderless = [], name in ORDERLESS
    for dtype, length in itertools.product(dtypes, (5, 67)):
        x = rows(dtype, length)
        wanted = results(OPS[name], x)
        found = results(OPS[name], x.to("lazy"))
        assert (wanted is None) == (found is None), dtype
        others = [x.flip(1), *(x.roll(by, 1) for by in (1, 2, length // 2, -2, -1))]
        others = [results(OPS[name], other) or [] for other in others if orderless]
        for i, pair in enumerate(zip(wanted or [], found or [], strict=True)):
            recorded.append((x, *pair, [other[i] for other in others]))
    for x, wanted, found, others in recorded:
        found = found.cpu()
        assert found.dtype == wanted.dtype
        equal = agree(found, wanted)
        for other in others:
            equal |= ~agree(other, wanted)
        if "columns" in name and equal.dim() == 2:
            equal = equal.t()
        bad = ~equal.reshape(len(x), -1).all(1)
        if bad.any():
            i = int(bad.nonzero()[0])
            yield x.dtype, x[i].tolist(), wanted, found, i, int(bad.sum())


def check(name, dtypes):
    assert not list(differences(name, dtypes))


@pytest.mark.parametrize("name", OPS)
def test_op(name):
    check(name, COMMON)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_op_in_other_dtypes(name):
    check(name, OTHERS)


@pytest.mark.parametrize("keepdim", [True, False])
def test_sums_over_no_dimension_are_sums_of_all(keepdim):
    x = torch.tensor([[1.0, math.nan, 3.0]])
    for op in (torch.sum, torch.nansum):
        wanted = op(x, dim=(), keepdim=keepdim)
        found = op(x.to("lazy"), dim=(), keepdim=keepdim).cpu()
        torch.testing.assert_close(found, wanted, equal_nan=True)
