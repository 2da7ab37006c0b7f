# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom ops that are defined again, as by a notebook's cell that is run again."""

import contextlib

import pytest
import torch
import torch_ltc


@contextlib.contextmanager
def defined(schema, kernel):
    library = torch.library.Library("ltc_again", "DEF")
    library.define(schema)
    for key in ("CPU", "Meta"):
        library.impl("op", kernel, key)
    yield
    library._destroy()


def add(x, y):
    x.add_(y)


def subtract(x, y):
    x.sub_(y)


def add_to_second(x, y):
    y.add_(x)


X, Y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 30.0])
VERSIONS = [
    ("op(Tensor(a!) x, Tensor y) -> ()", add),
    ("op(Tensor(a!) x, Tensor y) -> ()", subtract),
    ("op(Tensor x, Tensor(a!) y) -> ()", add_to_second),
    ("op(Tensor(a!) x, Tensor y) -> Tensor", lambda x, y: y * x.mul_(2)),
    ("op(Tensor x, Tensor y) -> Tensor", lambda x, y: x + y),
    ("op(Tensor y, Tensor x) -> Tensor", lambda y, x: y[:2] - x[:2]),
    ("op(Tensor y, Tensor x) -> Tensor", lambda y, x: y[1:2] - x[1:2]),
]


@pytest.mark.parametrize("versions", [VERSIONS, VERSIONS[::-1]], ids=["forth", "back"])
def test_an_op_is_what_it_was_last_defined_as(versions):
    def run(x, y):
        result = torch.ops.ltc_again.op(x, y)
        return [x, y] if result is None else [x, y, result]

    for schema, kernel in versions:
        with defined(schema, kernel):
            want = run(X.clone(), Y.clone())
            for _ in range(2):  # the second call goes by what the first has noted
                got = run(X.to("lazy"), Y.to("lazy"))
                assert [t.tolist() for t in got] == [t.tolist() for t in want], schema


MINUS = """
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %z = linalg.sub ins(%x, %y : tensor<?xf32>, tensor<?xf32>)
                  outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}
"""


def test_a_lowering_goes_by_the_schema_that_its_op_has_now():
    def minus(x, y, n=1):
        return x - y

    x, y = X.to("lazy"), Y.to("lazy")
    with defined("op(Tensor x, Tensor y) -> Tensor", minus):
        torch_ltc.register_lowering("ltc_again::op", mlir=MINUS)
        assert torch.ops.ltc_again.op(x, y).tolist() == [-9, -18, -27]
    with defined("op(Tensor x, Tensor y, int n) -> Tensor", minus):
        assert torch.ops.ltc_again.op(x, y, 3).tolist() == [-9, -18, -27]


def test_a_lowering_that_is_given_again_takes_the_place_of_the_first():
    with defined("op(Tensor x, Tensor y) -> Tensor", lambda x, y: x + y):
        for factor in (2, 3):
            torch_ltc.register_lowering(
                "ltc_again::op", lambda x, y, f=factor: f * x + y
            )
            got = torch.ops.ltc_again.op(X.to("lazy"), Y.to("lazy"))
            assert torch.equal(got.cpu(), factor * X + Y)
