# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A number in a tensor's place: overloads of their own, with the shapes of eager."""

import pytest
import torch
from repeated import same

OPS = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "bucketize",
    "copysign",
    "float_power",
    "isin",
    "pow",
    "remainder",
    "rsub",
    "searchsorted",
    "special_xlog1py",
    "special_zeta",
    "true_divide",
    "where",
    "xlogy",
    "special_chebyshev_polynomial_t",
    "special_chebyshev_polynomial_u",
    "special_chebyshev_polynomial_v",
    "special_chebyshev_polynomial_w",
    "special_hermite_polynomial_h",
    "special_hermite_polynomial_he",
    "special_laguerre_polynomial_l",
    "special_legendre_polynomial_p",
]
TENSORS = {
    "none": torch.zeros(0, dtype=torch.int64),
    "one": torch.tensor(3),
    "several": torch.tensor([1, 3, 5]),
    "of two dimensions": torch.tensor([[1, 3, 5], [2, 4, 6]]),
}


def call(name, x, number, is_first):
    op = getattr(torch, name, None) or getattr(torch.special, name[8:])
    if name == "where":
        return op(x > 2, number, x) if is_first else op(x > 2, x, number)
    return op(number, x) if is_first else op(x, number)


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("name", OPS)
def test_shape_of_a_number_and_a_tensor(name, is_first):
    for x in TENSORS.values():

        def program(device, x=x):
            yield call(name, x.to(device), 3, is_first)

        same(program)


@pytest.mark.parametrize("invert", [False, True])
def test_isin(invert):
    def program(device):
        x = torch.tensor([1, 3, 5], device=device)
        for number in (3, 4):
            yield torch.isin(number, x, invert=invert)
            yield torch.isin(number, x, assume_unique=True, invert=invert)
            yield torch.isin(x, number, invert=invert)
            yield x[torch.isin(x, number)].sum() + torch.isin(number, x)
            out = torch.zeros(3, device=device, dtype=torch.bool)[0]
            yield torch.isin(number, x, invert=invert, out=out)

    same(program)
