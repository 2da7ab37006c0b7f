# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops are part of the compiled program."""

import os
import signal
import threading

import pytest
import torch
from torch._higher_order_ops import InvokeQuant, scan, while_loop
from torch._higher_order_ops.map import map as map_op

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("error:torch_ltc runs .* of torch.compile"),
]


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function):
    return torch.compile(function, backend="ltc", fullgraph=True)


def branches(x):
    y = x.sin() * 2
    z = torch.cond(y.sum() > 0, lambda y: y.exp() + 0.5, lambda y: y * x, (y,))
    return z.t() + 1, y


def branches_in_a_branch(x):
    def inner(y):
        return torch.cond(y.max() > 1, lambda y: y - 0.25, lambda y: y + 1, (y,))

    return torch.cond(x.sum() > 0, inner, lambda y: y.cos(), (x,)) * 2


def gives_several(x):
    y, z = torch.cond(
        (x.sum() > 0).view(1),
        lambda x: (x.sum(1), x.to(torch.int64)),
        lambda x: (x.amax(1), torch.ones_like(x, dtype=torch.int64)),
        (x,),
    )
    return y * 2, z


def reads_views(x):
    def then(a, b):
        return a @ b

    views = (x.t()[1:5], x.exp()[:, 1:5])  # PyTorch refuses two of one tensor
    y = torch.cond(x.sum() > 0, then, lambda a, b: b - a.t(), views)
    return torch.cat([y, x[:, :4]])


def loops(x):
    count, y = while_loop(
        lambda i, y: (i < 20) & (y.abs().sum() < 100),
        lambda i, y: (i + 1, y * 1.5 + 0.1),
        (torch.tensor(0), x.sin()),
    )
    return count, y.sum(0)


def loops_with_what_stays(x):
    weight = x[:, :4].clone()
    scale = torch.tensor([1.0, -2.0, 0.5, 0.25])

    def body(i, y):
        return i + 1, (weight @ y).tanh() * scale[:, None] + x.t()[:1].t()

    return while_loop(lambda i, y: i < x.shape[1], body, (torch.tensor(0), x.cos()))[1]


def branches_in_a_loop(x):
    def body(i, y):
        return i + 1, torch.cond(i % 2 == 0, lambda y: y + 1, lambda y: y * 2, (y,))

    return while_loop(lambda i, y: i < 5, body, (torch.tensor(0), x))


def loops_in_a_loop(x):
    def body(i, y):
        def inner(j, y):
            return j + 1, y * 0.5 + j

        return i + 1, while_loop(lambda j, y: j < i, inner, (torch.tensor(1), y))[1]

    return while_loop(lambda i, y: i < 5, body, (torch.tensor(0), x))[1]


def loops_not_at_all(x):
    return while_loop(lambda y: y.sum() > 1e9, lambda y: (y + 1,), (x,))[0]


def exchanges_values(x):
    def body(i, a, b, c):
        return i + 1, b.clone(), a.clone(), a + b

    carried = (torch.tensor(0), x, x * 2, x * 3)
    return while_loop(lambda i, a, b, c: i < 3, body, carried)[1:]


def gives_one_value_twice(x):
    def body(i, a, b):
        total = a + b * 0.5
        return i + 1, total, total.clone()

    return while_loop(lambda i, a, b: i < 4, body, (torch.tensor(0), x, x * 2))[1:]


def fills_a_cache(x):
    def body(i, cache):
        row = cache.sum(0, keepdim=True) * 0.5 + i
        return i + 1, cache.index_copy(0, i.view(1), row)

    start = torch.cat([x, torch.zeros(4, 6)])
    return while_loop(lambda i, cache: i < 8, body, (torch.tensor(4), start))


def scans_rows(x):
    total, rows = scan(lambda c, row: (c + row.sin(), c * row), x[0].cos(), x * 2)
    return total + rows.sum(0), rows


def maps_rows(x):
    return map_op(lambda row: row.sin() + 1, x * 2).sum(1)


FUNCTIONS = (
    branches,
    branches_in_a_branch,
    gives_several,
    reads_views,
    loops,
    loops_with_what_stays,
    branches_in_a_loop,
    loops_in_a_loop,
    loops_not_at_all,
    exchanges_values,
    gives_one_value_twice,
    fills_a_cache,
    scans_rows,
    maps_rows,
)


@pytest.mark.parametrize("device", ["cpu", "lazy"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_one_program(function, device, counts):
    if device == "lazy" and function in (loops, loops_with_what_stays, fills_a_cache):
        pytest.skip("makes CPU tensors")
    call = compiled(function)
    arguments = [
        torch.linspace(-1, 1.5, 24).view(4, 6) * by for by in (1.0, -1.0, 0.5, 3.0)
    ]
    with torch.no_grad():
        call(arguments[0].to(device))
        for x in arguments:
            ours = x.to(device).clone()
            expected = function(x)
            counts.restart()
            found = call(ours)
            assert counts["execute.launches"] == 1
            assert counts["codegen.graphs"] == 0
            assert counts.fallbacks() == []
            torch.testing.assert_close(found, expected, check_device=False)
            torch.testing.assert_close(ours.cpu(), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int32])
def test_dtypes(dtype):
    def function(x):
        return while_loop(
            lambda x, n: n > 0, lambda x, n: (x + x, n - 1), (x, torch.tensor(3))
        )[0]

    x = torch.arange(12).view(3, 4).to(dtype)
    assert torch.equal(compiled(function)(x), x * 8)


@pytest.mark.parametrize("function", [scans_rows, maps_rows])
def test_a_long_loop_through_rows_has_one_body(function, counts):
    x = torch.randn(1200, 3)
    call = compiled(function)
    expected = function(x)
    counts.restart()
    torch.testing.assert_close(call(x), expected)
    assert counts["codegen.graphs"] == 1
    assert counts["execute.launches"] == 1


@pytest.mark.parametrize("by", [1.0, -1.0])
def test_gradients_through_a_branch(by, counts):
    def function(x, y):
        z = (x * y).sin()
        return torch.cond(z.sum() > 0, lambda z: z.exp(), lambda z: z**2, (z,)) * y

    call = compiled(function)
    ours, eagers = (
        [(torch.ones(4, 6) * by).requires_grad_(), torch.ones(6).requires_grad_()]
        for _ in range(2)
    )
    expected = function(*eagers)
    expected.sum().backward()
    counts.restart()
    found = call(*ours)
    found.sum().backward()
    assert counts["execute.launches"] == 2
    torch.testing.assert_close(found, expected)
    for mine, other in zip(ours, eagers, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)


def test_gradients_through_a_long_loop():
    x = torch.randn(600, 3, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    compiled(scans_rows)(x)[0].sum().backward()
    scans_rows(y)[0].sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_a_loop_that_does_not_turn_returns_memory_of_its_own():
    x = torch.ones(3)
    result = compiled(loops_not_at_all)(x)
    result.add_(1)
    assert x.tolist() == [1, 1, 1]


def first_line(function):
    return function.__code__.co_firstlineno


def test_an_error_in_a_body_names_its_own_line():
    def function(x, i):
        def body(n, y):
            z = y * 2
            return n + 1, z + x.index_select(0, i + n)

        return while_loop(lambda n, y: n < 9, body, (torch.tensor(0), x[:1].clone()))[1]

    call = compiled(function)
    x, i = torch.arange(10.0), torch.tensor([1])
    torch.testing.assert_close(call(x, i), function(x, i))
    message = r"^aten::index_select\(f32\[10\], i64\[1\]\): .*out of"
    with pytest.raises(IndexError, match=message) as raised:
        call(x, torch.tensor([4]))
    line = first_line(function) + 3
    assert f"test_control_flow.py:{line} in body" in str(raised.value)
    torch.testing.assert_close(call(x, i), function(x, i))


def test_an_error_in_a_branch_in_a_loop_names_its_own_line():
    def function(x, i):
        def body(n, y):
            def then(y):
                return y + x.sin().index_select(0, i)

            odd = n % 2 == 1
            return n + 1, torch.cond(odd, then, lambda y: y - 1, (y.cos(),))

        y = x[:1] + torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))[:1]
        return while_loop(lambda n, y: n < 3, body, (torch.tensor(0), y))[1]

    call = compiled(function)
    x = torch.arange(10.0)
    call(x, torch.tensor([1]))
    with pytest.raises(IndexError, match=r"^aten::index_select\(") as raised:
        call(x, torch.tensor([10]))
    line = first_line(function) + 3
    assert f"test_control_flow.py:{line} in then" in str(raised.value)


def test_lines_in_bodies_are_no_part_of_the_key(counts):
    def one(x):
        return torch.cond(x.sum() > 0, lambda x: x.tan() - 3, torch.cos, (x,))

    def other(x):
        return torch.cond(
            x.sum() > 0,
            lambda x: x.tan() - 3,
            torch.cos,
            (x,),
        )

    x = torch.ones(3)
    first = compiled(one)(x)
    counts.restart()
    assert torch.equal(compiled(other)(x), first)
    assert counts["codegen.graphs"] == 0


def test_one_program_serves_open_sizes(counts):
    def function(x):
        def body(i, y):
            other = torch.cond(
                i % 2 == 0, lambda y: y - y.mean(), lambda y: y.flip(0), (y,)
            )
            return i + 1, other + y.reshape(-1, 5)[:1] * y.shape[0]

        return while_loop(lambda i, y: i < 4, body, (torch.tensor(0), x.sin()))[1]

    call = torch.compile(function, backend="ltc", fullgraph=True, dynamic=True)
    x = torch.randn(3, 5)
    torch.testing.assert_close(call(x), function(x))
    counts.restart()
    for size in (7, 3, 12, 40):
        x = torch.randn(size, 5)
        torch.testing.assert_close(call(x), function(x))
    assert counts["codegen.graphs"] == 0
    assert counts["execute.launches"] == 4


def test_an_error_in_a_body_of_open_sizes_names_them():
    def function(x, i):
        def body(n, y):
            return n + 1, y + x.index_select(0, i + n).sum(0)

        return while_loop(lambda n, y: n < 4, body, (torch.tensor(0), x[0].clone()))[1]

    call = torch.compile(function, backend="ltc", fullgraph=True, dynamic=True)
    for rows in (5, 7):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(
            call(x, torch.tensor([1])), function(x, torch.tensor([1]))
        )
    message = r"^aten::index_select\(f32\[7, 3\], i64\[1\]"
    with pytest.raises(IndexError, match=message) as raised:
        call(x, torch.tensor([5]))
    line = first_line(function) + 2
    assert f"test_control_flow.py:{line} in body" in str(raised.value)


def test_what_only_marks_calls_is_the_calls():
    quantized = InvokeQuant()

    def function(x, y):
        return quantized(lambda x, y: (x @ y).relu(), x, y, scheme="nf4")

    x, y = torch.randn(3, 4), torch.randn(4, 2)
    torch.testing.assert_close(compiled(function)(x, y), (x @ y).relu())


@pytest.fixture
def interrupts():
    """Ctrl-C raises, as in a program; pytest's workers ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_long_loop_is_interrupted(counts, interrupts):
    def function(x, step):
        return while_loop(lambda x: x.sum() < 9, lambda x: (x + step,), (x,))[0]

    for device in ("cpu", "lazy"):
        call = compiled(function)
        x = torch.zeros(3, device=device)
        # Ten million turns of the second take many seconds.
        one, little = (torch.full((), by, device=device) for by in (1.0, 3e-7))
        call(x, one)
        interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            call(x, little).sum().item()
        torch.lazy.synchronize()  # which says nothing of the interrupted loop
        counts.restart()
        assert call(x, one).tolist() == [3, 3, 3]
        assert counts["execute.turns"] == 3
