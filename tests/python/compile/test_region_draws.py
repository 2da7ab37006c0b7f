# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What branches and bodies drop in forward is what their gradients drop."""

import pytest
import torch
import torch.nn.functional as F
from torch._higher_order_ops import map as map_op
from torch._higher_order_ops import scan, while_loop


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.lazy.synchronize()  # what other tests have left is no launch of these
    torch.manual_seed(0)


def drop(x):
    return F.dropout(x, 0.5) * 2


def noise(x):
    return x * torch.rand_like(x) + F.dropout(x.sin(), 0.25)


def choose(condition, then, otherwise, x):
    return then(x) if condition else otherwise(x)


def branches(cond, x):
    return cond(x.sum() > 0, drop, noise, x)


def branches_in_turn(cond, x):
    y = cond(x.sum() > 0, drop, noise, x)
    return y + 3 * cond(x.sum() > 0, drop, noise, x)


def branches_of_several(cond, x):
    y = cond(x[0, 0] > 0, lambda x: x * 3, lambda x: drop(x) + noise(x), x.exp())
    return y.cos()


def recorded(condition, then, otherwise, x):
    return torch.cond(condition, then, otherwise, (x,))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("function", [branches, branches_in_turn, branches_of_several])
def test_branches_have_eagers_gradients(function, sign, dynamic):
    values = torch.linspace(0.5, 2, 24).view(4, 6) * sign
    results = []
    call = torch.compile(
        lambda x: function(recorded, x),
        backend="ltc",
        options={"rng": "eager"},
        dynamic=dynamic,
    )
    for run in (lambda x: function(choose, x), call):
        torch.manual_seed(1)
        x = values.clone().requires_grad_()
        y = run(x)
        y.sum().backward()
        results.append((y, x.grad))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("device", ["cpu", "lazy"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_branch_draws_once_for_both_passes(device, dynamic):
    call = torch.compile(
        lambda x: recorded(x.sum() > 0, drop, lambda x: x.clone(), x),
        backend="ltc",
        dynamic=dynamic,
    )
    for rows in (4, 5, 4):
        x = torch.ones(rows, 32, device=device, requires_grad=True)
        y = call(x)
        y.sum().backward()
        assert set(y.flatten().tolist()) == {0, 4}
        torch.testing.assert_close(x.grad, y.detach())


LAUNCHES = """
import torch
import torch_ltc

def drop(x):
    return torch.nn.functional.dropout(x, 0.5) * 2

@torch.compile(backend="ltc")
def call(x):
    return torch.cond(x.sum() > 0, drop, lambda x: x.clone(), (x,))

for _ in range(2):
    call(torch.ones(4, 32, requires_grad=True)).sum().backward()
print(torch_ltc.metrics.snapshot()["execute.launches"])
"""


@pytest.mark.slow
def test_each_pass_is_one_launch(run_python):
    assert run_python(LAUNCHES).stdout.split() == ["4"]


@pytest.mark.parametrize("loop", ["map", "scan"])
def test_a_body_draws_once_for_both_passes(loop):
    def function(x):
        if loop == "map":
            return map_op(drop, x)
        return scan(lambda c, row: (c + row.sum(), drop(row)), x.sum(), x)[1]

    x = torch.ones(5, 16, requires_grad=True)
    y = torch.compile(function, backend="ltc")(x)
    y.sum().backward()
    assert set(y.flatten().tolist()) == {0, 4}
    torch.testing.assert_close(x.grad, y.detach())


def in_a_branch(x):
    def then(x):
        return recorded(x.mean() > -1, drop, torch.cos, x)

    return recorded(x.sum() > 0, then, torch.sin, x)


def in_a_loop(x):
    def body(i, x):
        return i + 1, drop(x)

    return while_loop(lambda i, x: i < 2, body, (torch.tensor(0), x))[1]


@pytest.mark.parametrize("function", [in_a_branch, in_a_loop])
def test_what_would_be_drawn_anew_is_refused(function):
    x = torch.ones(4, 6)
    # Without fullgraph, PyTorch may run a loop that it cannot trace in eager.
    call = torch.compile(function, backend="ltc", fullgraph=True)
    with torch.no_grad():
        assert set(call(x).flatten().tolist()) <= {0, 4, 16}
    with pytest.raises(Exception, match="would draw its random numbers anew") as error:
        call(x.requires_grad_())
    assert "pass them as operands" in str(error.value)
    assert "test_region_draws.py" in str(error.value)
