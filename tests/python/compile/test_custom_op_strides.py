# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that custom ops meet operands with the strides that eager gives them."""

import pytest
import torch

SEEN = []


@torch.library.custom_op("ltc_tests_strides::tells", mutates_args=())
def tells(x: torch.Tensor, more: list[torch.Tensor], by: float) -> torch.Tensor:
    SEEN.append([x.stride(), *(each.stride() for each in more)])
    factor = 2.0 if x.is_contiguous() else 3.0
    return x * factor * by + more[0].sum()


@tells.register_fake
def _(x, more, by):
    return torch.empty_like(x)


@torch.library.custom_op("ltc_tests_strides::fills", mutates_args=("out",))
def fills(out: torch.Tensor, x: torch.Tensor) -> None:
    SEEN.append([out.stride(), x.stride()])
    flat = torch.arange(float(x.numel())) if out.is_contiguous() else torch.zeros(())
    out.copy_(x + flat.expand(x.numel()).reshape(x.shape))


@fills.register_fake
def _(out, x):
    return None


def turned(x):
    return tells(x.t(), [x, x.t()], 2.5)


def turned_inside(x):
    return tells((x + 1).t(), [x.t().contiguous()], 0.5).t().contiguous()


def with_channels_last(x):
    image = (x * 2).view(1, 2, 3, 4).to(memory_format=torch.channels_last)
    return tells(image, [image.permute(1, 0, 3, 2), x[0]], 1.0)


def contiguous_inside(x):
    return tells(x.t().contiguous(), [x.t()], 1.5)


def written(x):
    out = torch.zeros(4, 6).t()
    out = out.to(x.device)
    fills(out, x.view(6, 4))
    fills(out, out.t().contiguous().t() + 1)
    return out * 2


FUNCTIONS = [turned, turned_inside, with_channels_last, contiguous_inside, written]


def seen_by(function, x):
    SEEN.clear()
    result = function(x).cpu()
    return result, [*SEEN]


@pytest.mark.parametrize("door", ["compiled", "open sizes", "lazy"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_custom_ops_meet_eagers_strides(function, door):
    torch._dynamo.reset()
    x = torch.arange(24.0).view(4, 6)
    expected, strides = seen_by(function, x)
    call, given = function, x.to("lazy")
    if door != "lazy":
        dynamic = door == "open sizes"
        call = torch.compile(function, backend="ltc", dynamic=dynamic)
        given = x
    for _ in range(2):
        found, there = seen_by(call, given)
        torch.testing.assert_close(found, expected)
        assert there == strides


def test_a_graph_is_kept_for_each_order():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: tells(x, [x], 1.0), backend="ltc")
    x = torch.randn(4, 6)
    for given in (x, x.t(), x.t().contiguous(), x):
        torch.testing.assert_close(compiled(given), tells(given, [given], 1.0))
