# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A number that a dtype cannot hold raises where it raises in eager, in its words.

All ops that take numbers, of arguments that their schema suggests.
"""

import math

import pytest
import torch
from sampling import sampled
from torch.utils import _pytree as pytree

DTYPES = (
    *(torch.uint8, torch.float16, torch.bool, torch.int8, torch.int16, torch.int32),
    *(torch.int64, torch.bfloat16, torch.float32),
)
COMMON = (
    *("add.Tensor", "clamp", "fill_.Scalar", "full", "index_fill.int_Scalar"),
    *("masked_fill_.Scalar", "scatter.value", "sub_.Tensor", "where.ScalarOther"),
    *("_foreach_addcmul_.ScalarList", "hardtanh", "pow.Tensor_Scalar", "threshold"),
)
NUMBERS = (
    *(300, -1, -129, 70000, 2**31, 2**40, -(2**63), True),
    *(2.5, -0.5, 1e5, 1e39, -1e39, math.inf, math.nan, 1j),
)
OVERFLOW = "without overflow"
# Eager loops as often as the number says, or ends the process; of the last two the
# numbers are attributes that a call alone can judge.
LEFT_OUT = ("_polynomial_", "::range", "::arange", "::histc")


def argument(schema):
    """Return a value of the type, floating point tensors standing for any dtype."""
    kind = str(schema.type)
    if kind in ("Tensor", "Optional[Tensor]"):
        if schema.name == "index":
            return torch.tensor([0, 1, 2])
        if schema.name in ("mask", "condition"):
            return torch.tensor([True, False, True])
        return torch.tensor([1.0, 2.0, 3.0])
    if schema.has_default_value() and kind != "number":
        return schema.default_value
    made = {
        "List[Tensor]": [torch.ones(3), torch.ones(2)],
        "number": 1,
        "List[number]": [1, 1],
        "Optional[number]": 1,
        "int": 0,
        "bool": False,
        "List[int]": [3],
        "float": 1.0,
    }
    return made[kind]


def takes_number(argument):
    return str(argument.type) in ("number", "Optional[number]", "List[number]")


def overloads():
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if space != "aten" or any(part in name for part in LEFT_OUT):
            continue
        op = getattr(getattr(torch.ops.aten, packet), overload or "default")
        arguments = op._schema.arguments
        is_random = torch.Tag.nondeterministic_seeded in op.tags
        has_out = any(a.is_out for a in arguments)
        if any(map(takes_number, arguments)) and not is_random and not has_out:
            yield name.removeprefix("aten::"), op


OVERLOADS = dict(sorted(overloads()))


def said(op, arguments, dtype, device):
    """Return the error of the call, or an empty text."""

    def move(value):
        if value.is_floating_point():
            value = value.to(dtype)
        return value.clone().to(device)

    arguments = pytree.tree_map_only(torch.Tensor, move, arguments)
    names = {a.name for a in op._schema.arguments}
    options = {"dtype": dtype, "device": device}
    if not {"self", "dtype"} <= names and names >= {"dtype", "device"}:
        arguments = arguments | options
    try:
        op(**arguments)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""


def differences(op, dtype):
    schema = op._schema.arguments
    try:
        plain = {a.name: argument(a) for a in schema}
    except KeyError:
        return
    if said(op, plain, dtype, "cpu"):
        return
    for each in filter(takes_number, schema):
        # A number that fits is met first: no other may pass for an equal call.
        for number in (2, 2.5, *NUMBERS):
            value = [1, number] if isinstance(plain[each.name], list) else number
            arguments = plain | {each.name: value}
            eager = said(op, arguments, dtype, "cpu")
            lazy = said(op, arguments, dtype, "lazy")
            # Of two things that are wrong, either may be said.
            equal = lazy == eager if OVERFLOW in eager or not eager else lazy
            if not equal and OVERFLOW in lazy + eager:
                yield each.name, number, eager, lazy


def check(names, dtype):
    found = {name: list(differences(OVERLOADS[name], dtype)) for name in names}
    assert not {name: d for name, d in found.items() if d}


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
def test_common_ops(dtype):
    check(COMMON, dtype)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_ops_that_take_numbers(dtype):
    check(OVERLOADS, dtype)


def test_they_are_many():
    assert len(OVERLOADS) > 200


def test_numbers_that_fit_do_not_recompile(counts):
    x = torch.zeros(5, dtype=torch.uint8, device="lazy")
    for number in (3, 200, -7, 255):
        assert x.fill_(number).tolist() == [number % 256] * 5
        if number == 200:  # now x is data, where it was zeros of the same graph
            counts.restart()
    assert counts["codegen.graphs"] == 0


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[1:]], ids=["all", "view"])
def test_a_refused_write_writes_nothing(view):
    x = torch.arange(4, dtype=torch.uint8, device="lazy")
    y = x + 1
    with pytest.raises(RuntimeError, match="to type uint8_t without overflow"):
        view(x).fill_(256)
    with pytest.raises(RuntimeError, match="to type uint8_t without overflow"):
        view(x)[view(x) > 1] = 300
    assert x.tolist() == [0, 1, 2, 3]
    assert y.tolist() == [1, 2, 3, 4]


FILLS = {
    "masked_fill": lambda x, mask, number: x.masked_fill(mask, number),
    "masked_fill_": lambda x, mask, number: x.masked_fill_(mask, number),
    "nothing masked": lambda x, mask, number: x.masked_fill(mask & False, number),
    "nothing there": lambda x, mask, number: x[:0].masked_fill(mask[:0], number),
    "index_fill": lambda x, mask, number: x.index_fill(0, mask.long(), number),
    "x[mask]": lambda x, mask, number: x.__setitem__(mask, number) or x,
}


@pytest.mark.parametrize(
    "dtype", sampled((*DTYPES, torch.float64), one_in=5, kept=()), ids=str
)
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_numbers_in_tensors(fill, dtype):
    """What a graph finds too large for the dtype, the read raises."""

    def said(number, device):
        mask = torch.tensor([True, False], device=device)
        x = torch.zeros(2, dtype=dtype, device=device)
        try:
            return str(fill(x, mask, number.to(device)).tolist())
        except RuntimeError as error:
            return str(error)

    for number in map(torch.tensor, (*NUMBERS, -0.5, 255.5, 65519.0, 2.0**63)):
        for kind in {number.dtype, torch.promote_types(number.dtype, torch.float64)}:
            eager = said(number.to(kind), "cpu")
            assert eager in said(number.to(kind), "lazy")


@pytest.mark.parametrize("op", [torch.max, torch.min])
def test_the_largest_of_all_into_another_dtype(op):
    def said(x, dtype, device):
        out = torch.zeros((), dtype=dtype, device=device)
        try:
            return str(op(x.to(device), out=out).item())
        except RuntimeError as error:
            return str(error)

    for x in torch.tensor([2, 3]), torch.tensor([300, 300]), torch.tensor([1e300]):
        for dtype in (*DTYPES, torch.float64):
            assert said(x, dtype, "cpu") in said(x, dtype, "lazy")


RANGES = {
    "steps that doubles count": lambda **o: torch.arange(-(2**63), -(2**63) + 5, **o),
    "by what a double rounds": lambda **o: torch.arange(
        256, 45035996273705221, 9007199254740993, **o
    ),
    "wrapped": lambda **o: torch.arange(300, 0, -100, **o),
    "one": lambda **o: torch.logspace(-5, 7, 1, base=2.0, **o),
    "line": lambda **o: torch.linspace(-3, 2, 6, **o),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges_are_eagers(name):
    def made(device, dtype):
        try:
            x = RANGES[name](dtype=dtype, device=device).cpu()
        except Exception as error:
            return type(error), str(error).splitlines()[0]
        return x.shape, x.double().tolist()

    types = (torch.float32, torch.float64, torch.int64, torch.int8, torch.bool)
    for dtype in types:
        assert made("lazy", dtype) == made("cpu", dtype), dtype


POOLS = ("max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d")


@pytest.mark.parametrize("name", POOLS)
def test_strides_of_pools(name):
    def told(device):
        x = torch.ones([1] + [4] * (int(name[-2]) + 1), device=device)
        pool = getattr(torch.nn.functional, name)
        assert pool(x, 2, stride=2**31 - 1).numel() == 4
        with pytest.raises(RuntimeError, match=OVERFLOW) as caught:
            pool(x, 2, stride=2**31)
        return str(caught.value).splitlines()[0]

    assert told("lazy") == told("cpu")


@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
def test_interpolation_to_nothing(mode):
    def told(device):
        dims = {"linear": 1, "trilinear": 3}.get(mode, 2)
        x = torch.ones([2, 3] + [4] * dims, device=device)
        interpolate = torch.nn.functional.interpolate
        assert len(interpolate(x[:0], 2, mode=mode, align_corners=True)) == 0
        with pytest.raises(RuntimeError, match="greater than 0") as caught:
            interpolate(x, 0, mode=mode, align_corners=True)
        return str(caught.value).splitlines()[0]

    assert told("lazy") == told("cpu")
