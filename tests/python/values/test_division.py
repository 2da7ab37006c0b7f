# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer division: by zero an error, as in eager; without overflow else."""

import pytest
import torch
import torch_ltc

DIVISIONS = {
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
}
DTYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
USES = {
    "read": lambda x: x,
    "product with 0": lambda x: x * 0,
    "comparison": lambda x: x > 0,
    "sum": lambda x: x.sum(),
    "float": lambda x: x.float().exp(),
    "slice": lambda x: x[:2],
}
DIVISORS = {
    "tensor": lambda dtype, d: torch.tensor([1, 0, 2], dtype=dtype, device=d),
    "0-d tensor": lambda dtype, d: torch.tensor(0, dtype=dtype, device=d),
    "constants": lambda dtype, d: torch.zeros(3, dtype=dtype, device=d),
    "number": lambda dtype, d: 0,
}
divisions = pytest.mark.parametrize("divide", DIVISIONS.values(), ids=DIVISIONS)


def outcome(call):
    """Return what a call raises, or None."""
    try:
        call()
    except Exception as error:
        return error
    return None


@divisions
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("divisor", DIVISORS.values(), ids=DIVISORS)
def test_division_by_zero_is_eagers_error(divide, dtype, divisor, counts):
    def run(device):
        x = torch.tensor([7, 5, 3], dtype=dtype, device=device)
        return divide(x, divisor(dtype, device)).cpu()

    wanted, found = outcome(lambda: run("cpu")), outcome(lambda: run("lazy"))
    assert type(wanted) is RuntimeError
    assert isinstance(found, RuntimeError) and str(wanted) in str(found)
    assert counts.fallbacks() == []


@divisions
def test_number_divided_by_zero_is_eagers_error(divide):
    x = torch.tensor([3, 0], device="lazy")
    number = torch.tensor(5, device="lazy") if divide is torch.fmod else 5
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(number, x).cpu()


@divisions
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_the_error_outlives_what_is_done_with_the_quotient(divide, use):
    x = torch.tensor([7, 5, 3], device="lazy")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        use(divide(x, torch.tensor([1, 0, 2], device="lazy"))).cpu()


IN_PLACE = {
    "trunc": lambda x, y: x.div_(y, rounding_mode="trunc"),
    "floor": lambda x, y: x.div_(y, rounding_mode="floor"),
    "floor_divide": torch.Tensor.floor_divide_,
    "remainder": torch.Tensor.remainder_,
    "fmod": torch.Tensor.fmod_,
}


@pytest.mark.parametrize("in_place", IN_PLACE.values(), ids=IN_PLACE)
def test_in_place_division_by_zero(in_place):
    x = torch.tensor([7, 5, 3], device="lazy")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        in_place(x, torch.tensor([1, 0, 2], device="lazy")).cpu()


def test_the_error_names_op_shapes_and_line():
    x = torch.tensor([7, 5, 3], device="lazy")
    y = torch.tensor([1, 0, 2], device="lazy")

    def divided():
        return x // y

    bad = divided() + 1
    with pytest.raises(torch_ltc.InvalidArgumentError) as caught:
        bad.cpu()
    error = caught.value
    assert error.op == "aten::floor_divide" and error.stage == "execute"
    assert error.file.endswith("test_division.py")
    assert error.line == divided.__code__.co_firstlineno + 1
    assert "i64[3], i64[3]" in str(error)


def test_the_error_is_raised_once_and_spares_the_rest():
    x = torch.tensor([7, 5, 3], device="lazy")
    torch.lazy.mark_step()
    bad = x % torch.tensor([1, 0, 2], device="lazy")
    torch.lazy.mark_step()
    good = x * 2
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.lazy.synchronize()
    torch.lazy.synchronize()
    assert (good - x).tolist() == [7, 5, 3]
    assert (x % 4).tolist() == [3, 1, 3]
    del bad


@divisions
@pytest.mark.parametrize("divisor", DIVISORS.values(), ids=DIVISORS)
def test_nothing_is_divided_where_there_are_no_elements(divide, divisor):
    y = divisor(torch.int64, "lazy")
    y = y[:0] if isinstance(y, torch.Tensor) and y.dim() else y
    x = torch.empty(0, dtype=torch.int64, device="lazy")
    assert divide(x, y).tolist() == []


@divisions
@pytest.mark.parametrize("rows", [1, 3, 5000])
def test_a_divisor_that_changes_between_steps(divide, rows, counts):
    x = torch.arange(rows * 7).view(rows, 7) - 11
    for number in (3, -1, 1, -4, 2**40):
        assert torch.equal(divide(x.to("lazy"), number).cpu(), divide(x, number))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(x.to("lazy"), 0).cpu()


@divisions
@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_the_lowest_number_by_minus_one_wraps(divide, dtype):
    low = torch.iinfo(dtype).min
    x = torch.full((20,), low, dtype=dtype, device="lazy")
    for y in (-1, torch.full_like(x, -1), torch.tensor(-1, dtype=dtype).to("lazy")):
        found = divide(x, y).cpu()
        rest = divide in (torch.remainder, torch.fmod)
        assert torch.equal(found, torch.full_like(found, 0 if rest else low))


def test_a_division_of_which_only_the_check_is_left():
    """No integer is NaN, so nobody needs what is divided."""
    x = torch.arange(27, device="lazy").view(3, 3, 3)
    assert not torch.isnan(x // (x + 1).transpose(0, 2)).any()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.isnan(x // (x * 0)).cpu()
