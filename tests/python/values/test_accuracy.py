# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What counts as near enough where a result is not eager's bit for bit."""

import pytest
import torch
from accuracy import is_as_near

EXACT = torch.tensor([1.0, -2.0, 4.0, float("inf")], dtype=torch.float64)
EAGER = EXACT.float() + torch.tensor([0.0, 2e-6, 0.0, 0.0])


def near(values, dtype=torch.float32, eager=EAGER, exact=EXACT):
    actual = torch.tensor(values, dtype=dtype, device="lazy")
    return is_as_near([actual], [eager], [exact])


def test_an_error_of_eagers_size_in_another_element_is_near():
    assert near([1 + 1e-6, -2.0, 4 - 2e-6, float("inf")])
    assert near([1.0, -2.0, 4.0, float("inf")])


@pytest.mark.parametrize(
    "values",
    [
        [1.0 + 1e-4, -2.0, 4.0, float("inf")],
        [1.0, 2.0, 4.0, float("inf")],
        [1.0, -2.0, 4.0, 1e30],
        [1.0, -2.0, 4.0, float("nan")],
        [float("inf"), -2.0, 4.0, float("inf")],
        [1.0, -2.0, 4.0],
    ],
)
def test_what_is_farther_from_the_truth_is_not(values):
    assert not near(values)


def test_nothing_is_near_where_eager_itself_is_far():
    assert not near(EXACT.tolist(), eager=EXACT.float() + 1)


def test_nothing_is_near_where_eager_is_exact():
    assert not near([1 + 1e-6, -2.0, 4.0, float("inf")], eager=EXACT.float())


def test_dtype_device_and_gradient_must_be_eagers():
    assert not near(EXACT.tolist(), dtype=torch.float64)
    assert not is_as_near([EAGER], [EAGER], [EXACT])
    actual = torch.tensor(EAGER.tolist(), device="lazy", requires_grad=True)
    assert not is_as_near([actual], [EAGER], [EXACT])


def test_integers_beside_it_must_be_eagers():
    floats = torch.tensor(EAGER.tolist(), device="lazy")
    for integer, wanted in ((3, True), (4, False)):
        beside = torch.tensor(integer, device="lazy")
        three = torch.tensor(3)
        assert is_as_near([floats, beside], [EAGER, three], [EXACT, three]) == wanted
