# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of the user's own: as library calls, and with a lowering that fuses."""

import pytest
import torch
import torch_ltc


@torch.library.custom_op("ltc_custom::swish", mutates_args=())
def swish(x: torch.Tensor, beta: float) -> torch.Tensor:
    return x * torch.sigmoid(beta * x)


@swish.register_fake
def _(x, beta):
    return torch.empty_like(x)


def _backward(ctx, grad):
    (x,) = ctx.saved_tensors
    s = torch.sigmoid(ctx.beta * x)
    return grad * (s + ctx.beta * x * s * (1 - s)), None


def _setup(ctx, inputs, output):
    x, ctx.beta = inputs
    ctx.save_for_backward(x)


swish.register_autograd(_backward, setup_context=_setup)

# Known to the dispatcher alone, as an op of a C++ extension is.
LIBRARY = torch.library.Library("ltc_custom", "FRAGMENT")
LIBRARY.define("cube(Tensor x) -> Tensor")
LIBRARY.define("scale_rows(Tensor x, Tensor by, int times=1) -> (Tensor, Tensor)")
LIBRARY.define("bump_(Tensor(a!) x) -> Tensor(a!)")
LIBRARY.impl("cube", lambda x: torch.from_numpy(x.numpy() ** 3), "CPU")
LIBRARY.impl(
    "scale_rows", lambda x, by, times=1: (x * by[:, None] * times, by * times), "CPU"
)
torch.library.register_fake("ltc_custom::cube", torch.empty_like)
torch.library.register_fake(
    "ltc_custom::scale_rows",
    lambda x, by, times=1: (torch.empty_like(x), torch.empty_like(by)),
)
cube, scale_rows = torch.ops.ltc_custom.cube, torch.ops.ltc_custom.scale_rows


@pytest.fixture
def x():
    return torch.linspace(-2, 2, 24).view(4, 6)


def test_without_a_lowering_it_is_a_library_call(x, counts):
    lazy = x.to("lazy")
    y = cube(lazy + 1) * 2
    assert "ltc_custom::cube(x=" in torch.lazy.pending_graph()
    torch.testing.assert_close(y.cpu(), cube(x + 1) * 2)
    assert counts.fallbacks() == []


# What a kernel for any device does that was written for the CPU.
@torch.library.custom_op("ltc_custom::halve", mutates_args=())
def halve(xs: list[torch.Tensor], by: float = 2.0) -> list[torch.Tensor]:
    return [torch.from_numpy(x.numpy() / by) for x in xs]


@halve.register_fake
def _(xs, by=2.0):
    return [torch.empty_like(x) for x in xs]


@torch.library.custom_op("ltc_custom::without_fake", mutates_args=())
def without_fake(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].clone()


def test_a_kernel_for_all_devices_is_called_with_cpu_tensors(x, counts):
    lazy = x.to("lazy")
    got = halve([lazy, lazy + 1])
    assert "ltc_custom::halve(" in torch.lazy.pending_graph()
    for mine, theirs in zip(got, halve([x, x + 1]), strict=True):
        assert torch.equal(mine.cpu(), theirs)
    assert counts.fallbacks() == []


def test_without_a_fake_kernel_it_is_called_with_lazy_tensors(x):
    assert torch.equal(without_fake(x.to("lazy")).cpu(), without_fake(x))


@torch.library.custom_op("ltc_custom::bump_all", mutates_args=("x", "total"))
def bump_all(x: torch.Tensor, by: torch.Tensor, total: torch.Tensor | None) -> None:
    x.numpy().__iadd__(by.numpy())
    if total is not None:
        total += x.sum()


@torch.library.custom_op("ltc_custom::swap_max", mutates_args=("x",))
def swap_max(x: torch.Tensor, by: float) -> torch.Tensor:
    most = x.max().clone()
    x[x == most] = by
    return most


@swap_max.register_fake
def _(x, by):
    return x.new_empty(())


LIBRARY.impl("bump_", lambda x: x.add_(1), "CPU")
LIBRARY.define("no_shapes(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)")


def _no_shapes(x, y):
    x.add_(y)
    return x, y * 2


LIBRARY.impl("no_shapes", _no_shapes, "CPU")
torch.library.register_fake("ltc_custom::bump_", lambda x: x)


def writes(x):
    row, column, total = x[1], x.t()[2], torch.zeros(1, device=x.device)
    results = [swap_max(x, -3.0), swap_max(row, 0.5)]
    bump_all(column, torch.ones_like(column), total)
    bump_all(x, x.clone(), None)
    returned = torch.ops.ltc_custom.bump_(row)
    returned.mul_(2)
    return [x, row, column, total, returned, *results]


def test_ops_that_write_are_part_of_the_graph(x, counts):
    lazy = x.to("lazy")
    got = writes(lazy)
    assert "ltc_custom__swap_max(" in torch.lazy.pending_graph()
    for mine, theirs in zip(got, writes(x), strict=True):
        torch.testing.assert_close(mine.cpu(), theirs)
    assert counts.fallbacks() == []


@pytest.mark.parametrize("other", [lambda x: x, lambda x: x.t(), lambda x: x[:1]])
def test_an_op_that_reads_what_it_writes_by_another_name_is_refused(x, other):
    lazy = x.to("lazy")
    words = "bump_all writes to argument 'x', whose memory is also that of .* 'by'"
    with pytest.raises(torch_ltc.errors.UnsupportedOpError, match=words):
        bump_all(lazy, other(lazy), None)
    assert torch.equal(lazy.cpu(), x)


def test_an_op_that_writes_and_has_no_fake_kernel_splits_the_graph(x, counts):
    def run(x):
        returned, double = torch.ops.ltc_custom.no_shapes(x[1], x[0])
        returned.mul_(2)
        return [x, returned, double]

    got = run(x.to("lazy"))
    for mine, theirs in zip(got, run(x), strict=True):
        assert torch.equal(mine.cpu(), theirs)
    assert len(counts.fallbacks()) == 1


def test_the_first_call_may_follow_the_definition(run_python):
    done = run_python("""
import torch, torch_ltc
x = torch.ones(3, device="lazy")

@torch.library.custom_op("ltc_late::up", mutates_args=("x",))
def up(x: torch.Tensor) -> None:
    x.numpy().__iadd__(1)

up(x)
print(x.tolist())
""")
    assert done.stdout == "[2.0, 2.0, 2.0]\n"


CUBE = """
func.func @cube(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = linalg.mul ins(%x, %x : tensor<?x?xf32>, tensor<?x?xf32>)
                  outs(%x : tensor<?x?xf32>) -> tensor<?x?xf32>
  %z = linalg.mul ins(%x, %y : tensor<?x?xf32>, tensor<?x?xf32>)
                  outs(%x : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
"""


def scale_rows_text(x, by, times):
    rows, columns = x.removeprefix("tensor<").removesuffix("xf32>").split("x")
    assert by == f"tensor<{rows}xf32>" and columns.isdigit()
    return f"""
#same = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
func.func @scale_rows(%x: {x}, %by: {by}) -> ({x}, {by}) {{
  %times = arith.constant {float(times)} : f32
  %e = tensor.empty() : {by}
  %s = linalg.generic {{indexing_maps = [#one, #one], iterator_types = ["parallel"]}}
      ins(%by : {by}) outs(%e : {by}) {{
    ^bb0(%a: f32, %o: f32):
      %m = arith.mulf %a, %times : f32
      linalg.yield %m : f32
  }} -> {by}
  %f = tensor.empty() : {x}
  %y = linalg.generic {{indexing_maps = [#same, #row, #same],
                        iterator_types = ["parallel", "parallel"]}}
      ins(%x, %s : {x}, {by}) outs(%f : {x}) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
  }} -> {x}
  return %y, %s : {x}, {by}
}}
"""


# A lowering stays for the process, so each test has one of its own.


def run_with_lowerings(run_python, body):
    program = f"""
import sys
sys.path.insert(0, {str(__file__).rsplit("/", 1)[0]!r})
import torch, torch_ltc
from test_custom_ops import *
x = torch.linspace(-2, 2, 24).view(4, 6)
lazy = x.to("lazy")
{body}
"""
    return run_python(program).stdout


def test_mlir_text_fuses(run_python):
    done = run_with_lowerings(
        run_python,
        """
torch_ltc.register_lowering("ltc_custom::cube", mlir=CUBE)
y = cube(lazy + 1) * 2
assert "lowering=" in torch.lazy.pending_graph()
torch.testing.assert_close(y.cpu(), cube(x + 1) * 2)
torch.testing.assert_close(cube(lazy[:3, :2]).cpu(), cube(x[:3, :2].clone()))
print([n for n in torch_ltc.metrics.snapshot() if "fallback" in n])
""",
    )
    assert done == "[]\n"


def test_mlir_from_a_function_of_the_types(run_python):
    done = run_with_lowerings(
        run_python,
        """
torch_ltc.register_lowering("ltc_custom::scale_rows", mlir=scale_rows_text)
for times in (1, 3):
    for rows in (4, 2):
        by = torch.arange(1.0, rows + 1)
        got = scale_rows(lazy[:rows], by.to("lazy"), times)
        for a, b in zip(got, scale_rows(x[:rows], by, times)):
            torch.testing.assert_close(a.cpu(), b)
print("ok")
""",
    )
    assert done == "ok\n"


def test_a_function_of_torch_calls_fuses_and_keeps_its_gradient(run_python):
    done = run_with_lowerings(
        run_python,
        """
@torch_ltc.register_lowering(swish)
def _(x, beta):
    return x * torch.sigmoid(beta * x)

torch_ltc.register_lowering(torch.ops.ltc_custom.cube, lambda x: x * x * x)
torch_ltc.register_lowering(torch.ops.ltc_custom.cube.default, lambda x: x * x * x)
lazy.requires_grad_()
x.requires_grad_()
y = swish(lazy, 1.5)
assert "aten::sigmoid" in torch.lazy.pending_graph()
assert "ltc_custom" not in torch.lazy.pending_graph()
y.sum().backward()
swish(x, 1.5).sum().backward()
torch.testing.assert_close(y.detach().cpu(), swish(x, 1.5).detach())
torch.testing.assert_close(lazy.grad.cpu(), x.grad)
torch.testing.assert_close(cube(lazy.detach()).cpu(), cube(x.detach()))
print("ok")
""",
    )
    assert done == "ok\n"


WRONG = {
    "text": ("func.func @f(%x: tensor<?x?xf32>) {", "does not parse: .*lowering"),
    "count": (
        "func.func @f(%x: tensor<?x?xf32>, %y: f64) -> tensor<?x?xf32> "
        "{ return %x : tensor<?x?xf32> }",
        "takes 2 operands and gives 1 results; the op has 1 and 1",
    ),
    "type": (
        "func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> "
        "{ return %x : tensor<?xf64> }",
        "operand 0 is .tensor<4x6xf32>. and was expected to be .tensor<[?]xf64>.",
    ),
    "functions": ("module {}", "has 0 functions; wanted one"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_the_text_is_said_at_the_users_line(wrong, run_python):
    done = run_with_lowerings(
        run_python,
        f"""
import re
torch_ltc.register_lowering("ltc_custom::cube", mlir={WRONG[wrong][0]!r})
y = cube(lazy)  # here
try:
    y.cpu()
except torch_ltc.CompileError as error:
    text = str(error)
    assert re.search({WRONG[wrong][1]!r}, text), text
    assert "program.py" in text and "ltc_custom::cube" in text, text
torch_ltc.register_lowering("ltc_custom::cube", mlir=CUBE)
torch.testing.assert_close(cube(lazy).cpu(), cube(x))
print("ok")
""",
    )
    assert done == "ok\n"


def test_what_cannot_have_a_lowering():
    for op, words in {
        "ltc_custom::nothing": "there is no op",
        "aten::add.Tensor": "PyTorch's own op",
        "ltc_custom::bump_": "writes to its arguments",
    }.items():
        with pytest.raises(ValueError, match=words):
            torch_ltc.register_lowering(op, lambda x: x)
    with pytest.raises(ValueError, match="not both"):
        torch_ltc.register_lowering(swish, lambda x, beta: x, mlir=CUBE)
    with pytest.raises(TypeError, match="an op or its name, not a int"):
        torch_ltc.register_lowering(3, lambda x: x)


def test_an_op_without_a_kernel_raises(x):
    LIBRARY.define("unknown(Tensor x) -> Tensor")
    with pytest.raises((RuntimeError, NotImplementedError), match="unknown"):
        torch.ops.ltc_custom.unknown(x.to("lazy")).cpu()
    assert (x.to("lazy") + 1).cpu().equal(x + 1)


def test_an_op_that_is_defined_anew():
    """The compiled program calls the op of that name, not the one that it met first."""
    x = torch.arange(3.0, device="lazy")
    for schema, factor in [
        ("(Tensor x) -> Tensor", 2),
        ("(Tensor x) -> Tensor", 3),
        ("(Tensor x, int by=4, *, Tensor? into=None) -> Tensor", 4),
        ("(Tensor x) -> Tensor", 5),
    ]:
        with torch.library._scoped_library("ltc_anew", "FRAGMENT") as library:
            library.define("op" + schema)
            library.impl("op", lambda x, by=factor, into=None: x * by, "CPU")
            library.impl("op", lambda x, *_, **__: torch.empty_like(x), "Meta")
            assert torch.ops.ltc_anew.op(x).tolist() == [0, factor, 2 * factor]
            pending = torch.ops.ltc_anew.op(x) if factor == 5 else None
    with pytest.raises(RuntimeError, match="ltc_anew::op"):
        pending.tolist()  # its library has ended
