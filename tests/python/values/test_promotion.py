# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dtype of what is made of two tensors, with dimensions or without, is eager's."""

import itertools

import parity
import pytest
import torch
from torch.nn.functional import binary_cross_entropy
from torch.testing._internal.opinfo.core import BinaryUfuncInfo

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
)
SHAPES = (((1,), ()), ((), (1,)), ((), ()))
FAST = ("add", "pow", "ldexp")
OPS = {
    name: op
    for name, op in parity.OPS.items()
    if isinstance(op, BinaryUfuncInfo) and not name.startswith("jiterator")
} | {"normal": torch.normal}


def dtype_of(op, device, dtypes, shapes):
    ones = [
        torch.ones(shape, dtype=dtype).to(device)
        for dtype, shape in zip(dtypes, shapes, strict=True)
    ]
    try:
        return op(*ones).dtype
    except RuntimeError as error:
        return str(error).splitlines()[0]


def differing(op, dtypes):
    """Return the cases whose result has another dtype, or words, than eager's."""
    return [
        case
        for case in itertools.product(itertools.product(dtypes, dtypes), SHAPES)
        if dtype_of(op, "lazy", *case) != dtype_of(op, "cpu", *case)
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAST)
def test_dtypes(name):
    assert not differing(OPS[name], DTYPES[1::2] + DTYPES[4:5])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPS)
def test_all_dtypes(name):
    assert not differing(OPS[name], DTYPES)


@pytest.mark.parametrize("op", [torch.Tensor.cumsum_, torch.Tensor.cumprod_])
def test_a_running_sum_of_one_bool_is_a_bool(op):
    for value in (False, True):
        found = op(torch.tensor(value, device="lazy"), 0)
        assert torch.equal(found.cpu(), op(torch.tensor(value), 0))


NUMBERS = {
    "equal": lambda d: torch.tensor([1.0, 2.0], device=d) == 1 + 0j,
    "unequal": lambda d: torch.tensor([1, 2], device=d) != 1 + 1j,
    "in place": lambda d: torch.tensor([True, False], device=d).ne_(1j),
    "filled": lambda d: torch.zeros(2, dtype=torch.bool, device=d).fill_(1j),
    "full": lambda d: torch.full((2,), 1j, dtype=torch.bool, device=d),
    "full like": lambda d: torch.full_like(
        torch.ones(2, device=d), 0j, dtype=torch.bool
    ),
}


@pytest.mark.parametrize("program", NUMBERS.values(), ids=NUMBERS)
def test_a_complex_number_beside_what_is_not_complex(program):
    assert torch.equal(program("lazy").cpu(), program("cpu"))


FIRST = {
    "floor": lambda a, x: a // x,
    "truncated": lambda a, x: torch.div(a, x, rounding_mode="trunc"),
    "quotient": lambda a, x: a / x,
    "product": torch.mul,
    "sum": lambda a, x: a + x,
    "difference": lambda a, x: a - x,
}


@pytest.mark.parametrize("program", FIRST.values(), ids=FIRST)
@pytest.mark.parametrize("first", [2.0**40, 70000.0, 1e-9])
def test_a_first_number_is_of_the_dtype_of_halves(program, first):
    """A second one is not: eager's kernels ask for its number."""
    x = torch.tensor([1.0, -2.0, 0.5, 2.0**-14, 60000.0, 0.0, -1e-7]).half()

    def computed(x):
        number = torch.tensor(first, dtype=torch.float64).to(x.device)
        for y in (program(number, x), program(x, number)):
            yield y.cpu()

    for found, wanted in zip(computed(x.to("lazy")), computed(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("weight", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_weight_of_a_loss_is_no_operand_of_it(weight, reduction):
    def program(device):
        x, y = torch.linspace(0.1, 0.9, 8).bfloat16().view(2, 4).to(device)
        x.requires_grad_()
        weights = torch.arange(1.0, 5).to(weight).to(device)
        loss = binary_cross_entropy(x, y, weights, reduction=reduction)
        return loss.detach().cpu(), torch.autograd.grad(loss.sum(), x)[0].cpu()

    torch.testing.assert_close(program("lazy"), program("cpu"))
