# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants, parts and sizes of compiled functions, which PyTorch's tests try."""

import pytest
import torch


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function, **options):
    return torch.compile(function, backend="ltc", **options)


@pytest.mark.parametrize("backend", ["ltc", "aot_eager"])
def test_a_strided_part_is_exchanged(backend):
    torch.ones(2, device="lazy").sum().item()

    def function(x, part):
        return torch.as_strided_scatter(x * 2, part + 1, (4, 3), (6, 2), 0)

    x, part = torch.randn(4, 6), torch.randn(4, 3)
    call = torch.compile(function, backend=backend)
    torch.testing.assert_close(call(x, part), function(x, part))


@pytest.mark.parametrize("dynamic", [False, True])
def test_each_set_of_sizes_is_kept(dynamic, counts):
    call = compiled(lambda x: (x.view(-1) * x.shape[0]).cos().sum(), dynamic=dynamic)
    sizes = (3, 5, 8)
    for n in sizes:
        call(torch.ones(n, 4))
    counts.restart()
    for n in (*sizes, *reversed(sizes)):
        x = torch.randn(n, 4)
        torch.testing.assert_close(call(x), (x.view(-1) * n).cos().sum())
    assert counts["codegen.graphs"] == 0


@pytest.mark.parametrize("device", ["cpu", "lazy"])
def test_a_constant_is_not_written_over(device):
    def function(x):
        one = torch.tensor([1.0, 2, 3], device=device)
        return one + 1, torch.tensor([1, 2], device=device) * 3, x + one

    call = compiled(function)
    x = torch.ones(3, device=device)
    for _ in range(3):
        torch.testing.assert_close(call(x), function(x))


def moments(x, moment, gradient):
    """An optimizer's step, whose new values begin with the gradient."""
    moment.copy_(gradient * gradient * 0.1 + moment * 0.9)
    x.copy_(gradient / (moment.sqrt() + 1) + x)


def test_new_values_of_inputs_need_no_memory():
    """Whatever the expression that gives them begins with."""
    call = compiled(moments)
    n = 1 << 16
    given = [torch.rand(n) for _ in range(3)]
    wanted = [value.clone() for value in given]
    for _ in range(3):
        call(*given)
        moments(*wanted)
    torch.testing.assert_close(given, wanted)
    torch.lazy.reset_peak_memory_stats()
    before = torch.lazy.memory_allocated()
    call(*given)
    assert torch.lazy.max_memory_allocated() - before < 4 * n


def test_a_value_that_is_kept_and_returned_is_two():
    def function(x, y):
        value = x + 1
        x.copy_(value)
        y.copy_(value)
        return value

    call = compiled(function)
    given = [torch.rand(9), torch.rand(9)]
    wanted = [value.clone() for value in given]
    result = call(*given)
    torch.testing.assert_close(result, function(*wanted))
    result.zero_()
    torch.testing.assert_close(given, wanted)
    given[0].zero_()
    torch.testing.assert_close(given[1], wanted[1])
