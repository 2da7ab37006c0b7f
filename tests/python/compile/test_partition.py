# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What forward saves where it, or backward, writes to an input."""

import pytest
import torch


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()


class WritesInBoth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, count):
        count.add_(1)
        ctx.count = count
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        ctx.count.add_(1)
        return gradient * 2, None


class ReadsAndWrites(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, count):
        ctx.before = count.sin()
        count.mul_(3)
        ctx.count = count
        return x * count

    @staticmethod
    def backward(ctx, gradient):
        result = gradient * ctx.count * ctx.before
        ctx.count.add_(result)
        return result, None


class WritesInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, count):
        ctx.count = count
        return x + count.cos()

    @staticmethod
    def backward(ctx, gradient):
        ctx.count.add_(gradient)
        return gradient * ctx.count.sin(), None


def reads_what_it_writes(x, count):
    y = (x * count.exp() + count.view(1, -1).cos()[0]).sin()
    count.add_(1)
    return y * 2


@pytest.mark.parametrize("device", ["cpu", "lazy"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        WritesInBoth.apply,
        ReadsAndWrites.apply,
        WritesInBackward.apply,
        reads_what_it_writes,
    ],
)
def test_both_passes_may_write_to_an_input(function, dynamic, device):
    def call(x, count):
        return function(x, count)

    compiled = torch.compile(call, backend="ltc", dynamic=dynamic)
    results = []
    for run, on in ((call, "cpu"), (compiled, device)):
        values = []
        for size in (3, 4, 3):
            x = torch.linspace(0.5, 1, size, device=on).requires_grad_()
            count = torch.linspace(0, 2, size, device=on)
            y = run(x, count)
            values += [y.detach().clone(), count.clone()]
            y.sum().backward()
            values += [x.grad, count]
        results.append([value.cpu() for value in values])
    torch.testing.assert_close(*results)
