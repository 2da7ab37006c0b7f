# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors that come late say what failed, where it was recorded, and where it was met.

Each row is a program that records without an error and fails when its graph runs.
"""

import inspect
import re
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
import torch_ltc


class Late(NamedTuple):
    error: type
    op: str
    types: str  # of the operands, in the message
    words: str  # of what was found


CASES = {}


def late(error, op, types, words):
    def add(program):
        CASES[program.__name__] = program, Late(error, op, types, words)
        return program

    return add


def on(*values, dtype=None):
    return torch.tensor(values, dtype=dtype).to("lazy")


@late(torch_ltc.IndexOutOfRangeError, "aten::index.Tensor", "f32[10, 2], i64[2]", "12")
def rows_by_index():
    return torch.arange(20.0, device="lazy").view(10, 2)[on(1, 12)]


@late(torch_ltc.IndexOutOfRangeError, "aten::embedding", "f32[5, 2], i64[2]", "-7")
def rows_of_a_table():
    return F.embedding(on(1, -7), torch.ones(5, 2, device="lazy"))


@late(torch_ltc.IndexOutOfRangeError, "aten::gather", "f32[3], i64[1]", "7")
def gather():
    return torch.ones(3, device="lazy").gather(0, on(7))


@late(torch_ltc.IndexOutOfRangeError, "aten::scatter.src", "f32[3], i64[1]", "7")
def scatter():
    return torch.ones(3, device="lazy").scatter(0, on(7), on(1.0))


@late(torch_ltc.IndexOutOfRangeError, "aten::nll_loss_forward", "f32[2, 3]", "5")
def target():
    return F.nll_loss(torch.zeros(2, 3, device="lazy"), on(1, 5))


@late(torch_ltc.InvalidArgumentError, "aten::floor_divide", "i64[2], i64[2]", "Zero")
def division_by_zero():
    return on(3, 4) // on(1, 0)


@late(torch_ltc.InvalidArgumentError, "aten::remainder.Tensor", "i64[2]", "Zero")
def remainder_of_zero():
    return on(3, 4) % on(1, 0)


@late(torch_ltc.InvalidArgumentError, "aten::multinomial", "f32[2]", "probability")
def draw():
    return torch.multinomial(on(-1.0, 2.0), 1)


@late(torch_ltc.InvalidArgumentError, "aten::bernoulli", "f32[2]", "p_in")
def chance():
    return torch.bernoulli(on(1.5, 0.2))


@late(torch_ltc.InvalidArgumentError, "aten::one_hot", "i64[2]", "num_classes")
def classes():
    return F.one_hot(on(1, 9), 4)


@late(torch_ltc.InvalidArgumentError, "aten::binary_cross_entropy", "f32[1]", "0 and 1")
def probability():
    return F.binary_cross_entropy(on(1.5), on(0.5))


@late(torch_ltc.InvalidArgumentError, "aten::index_put", "bool[4], f32[3]", "shape")
def masked_assignment():
    x = torch.zeros(4, device="lazy")
    x[x > 1] = on(1.0, 2.0, 3.0)
    return x


@late(
    torch_ltc.errors.LinAlgError,
    "torch_ltc::linalg_check_errors",
    "i32[]",
    "linalg.inv",
)
def inverse():
    return torch.linalg.inv(torch.zeros(3, 3, device="lazy"))


@late(
    torch_ltc.errors.LinAlgError, "torch_ltc::linalg_check_errors", "i32[]", "cholesky"
)
def factors():
    return torch.linalg.cholesky(-torch.eye(3, device="lazy"))


@late(
    torch_ltc.OutOfMemoryError, "aten::add.Tensor", "f32[16777216, 16777216]", "alloc"
)
def memory():
    return torch.ones(1 << 24, 1 << 24, device="lazy") + on(1.0)


@pytest.fixture(autouse=True)
def settled():
    torch.lazy.mark_step(wait=True)
    with torch_ltc.settings.scope(linalg_errors="later", rng="fast"):
        yield
    torch.lazy.synchronize()


def check(error, program, wanted, met):
    lines, first = inspect.getsourcelines(program)
    assert type(error) is wanted.error
    assert error.op == wanted.op
    assert wanted.types in error.message and wanted.words in error.message
    assert error.file.endswith("test_late_errors.py")
    assert first <= error.line < first + len(lines)
    assert re.search(r"; in graph [0-9a-f]{8} of \d+ ops?; met at ", error.message)
    assert f"test_late_errors.py:{met} in " in error.message


@pytest.mark.parametrize("tiers", ["off", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_a_late_error_says_all_of_it_once(name, tiers):
    program, wanted = CASES[name]
    before = on(1.0, 2.0) * 2
    with torch_ltc.settings.scope(tiers=tiers):
        torch.lazy.mark_step(wait=True)
        bad = program()
        torch.lazy.mark_step()
        after = before + 1
        torch.lazy.mark_step()
        with pytest.raises(wanted.error) as raised:
            met = inspect.currentframe().f_lineno + 1
            torch.lazy.synchronize()
    check(raised.value, program, wanted, met)
    # Once, and nothing else is touched.
    torch.lazy.synchronize()
    assert after.tolist() == [3.0, 5.0]
    assert (before - 1).tolist() == [1.0, 3.0]
    del bad


@pytest.mark.parametrize("name", ["rows_by_index", "division_by_zero", "inverse"])
def test_a_read_meets_it_too(name):
    program, wanted = CASES[name]
    bad = program()
    with pytest.raises(wanted.error) as raised:
        met = inspect.currentframe().f_lineno + 1
        print(bad)
    check(raised.value, program, wanted, met)


def test_a_print_that_failed_leaves_torch_func_as_it_was():
    bad = rows_by_index()
    with pytest.raises(torch_ltc.IndexOutOfRangeError) as raised:
        print(bad)
    x = torch.arange(6.0, device="lazy").view(2, 3)
    assert torch.func.vmap(torch.sum)(x).tolist() == [3.0, 12.0]
    assert raised.value  # which holds the frames of the print


DEVICE = """
import torch, torch_ltc
table = torch.ones(4, 3).to("lazy")
good = torch.ones(2).to("lazy")
def step():
    return table[torch.tensor([1, 9]).to("lazy")]
bad = step()
torch.lazy.mark_step()
good.add_(1)
try:
    print(bad)
except torch_ltc.IndexOutOfRangeError as error:
    print(error.op, error.line, "; in graph " in error.message)
    print("program.py:11 in " in error.message)
print(good.tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("without", ["", "loops"])
def test_an_error_of_a_device_with_a_queue(run_python, without):
    options = {"LTC_DEVICE": "emulator", "LTC_DEVICE_OPTIONS": "delay_us=2000"}
    said = run_python(DEVICE, LTC_WITHOUT=without, **options).stdout
    assert said.splitlines() == ["aten::index.Tensor 6 True", "True", "[2.0, 2.0]"]


COMPILE = """
import torch, torch_ltc
@torch.library.custom_op("late::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
twice.register_fake(torch.empty_like)
torch_ltc.register_lowering("late::twice", mlir="module {}")
x = torch.ones(2).to("lazy")
y = twice(x)
try:
    print(y)
except torch_ltc.CompileError as error:
    print(error.line, "late::twice" in error.message)
    print("; in graph " in error.message, "met at" in error.message)
print((x + 1).tolist())
"""


def test_a_compile_that_fails(run_python):
    said = run_python(COMPILE, LTC_FALLBACK="error").stdout
    assert said.splitlines() == ["9 True", "True True", "[2.0, 2.0]"]
