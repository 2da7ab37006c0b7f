# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests compiled functions under PyTorch's modes, and with fake tensors."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def scaled(x, w):
    return torch.relu(x @ w) * x.shape[0]


class Dispatched(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class DoublesProducts(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return 2 * result if func is torch.ops.aten.mm.default else result


@pytest.mark.parametrize("dynamic", [False, True])
def test_fake_tensors_give_fake_results_and_gradients(dynamic):
    torch._dynamo.reset()
    compiled = torch.compile(scaled, backend="ltc", dynamic=dynamic)
    with FakeTensorMode():
        x = torch.randn(3, 4, requires_grad=True)
        w = torch.randn(4, 5, requires_grad=True)
        result = compiled(x, w)
        result.sum().backward()
    assert isinstance(result, FakeTensor)
    assert isinstance(w.grad, FakeTensor)
    assert result.shape == (3, 5)
    assert w.grad.shape == (4, 5)
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    torch.testing.assert_close(compiled(x, w), scaled(x, w))


def test_sizes_of_fake_tensors_may_be_open():
    torch._dynamo.reset()
    environment = torch.fx.experimental.symbolic_shapes.ShapeEnv()
    mode = FakeTensorMode(shape_env=environment)
    x = torch.randn(3, 4)
    torch._dynamo.mark_dynamic(x, 0)
    fake_x, fake_w = mode.from_tensor(x), mode.from_tensor(torch.randn(4, 5))
    result = torch.compile(scaled, backend="ltc", dynamic=True)(fake_x, fake_w)
    assert isinstance(result, FakeTensor)
    assert result.shape[1] == 5


def test_a_call_of_real_tensors_is_not_taken_for_fake_ones():
    from functorch.compile import aot_function  # imports Inductor's ops
    from torch_ltc.dynamo import backend

    compiled = aot_function(scaled, **backend.compilers())
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    torch.testing.assert_close(compiled(x, w), scaled(x, w))
    with FakeTensorMode() as mode:
        result = compiled(mode.from_tensor(x), mode.from_tensor(w))
    assert isinstance(result, FakeTensor)
    torch.testing.assert_close(compiled(x, w), scaled(x, w))


@pytest.mark.parametrize("device", ["cpu", "lazy"])
def test_modes_see_no_call_that_builds_a_graph(device):
    from functorch.compile import aot_function  # imports Inductor's ops
    from torch_ltc.dynamo import backend

    compiled = aot_function(lambda x, w: torch.relu(x @ w), **backend.compilers())
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    expected = torch.relu(x @ w)
    x, w = x.to(device), w.to(device)
    compiled(x, w)  # which traces it
    x, w, expected = x[:2], w, expected[:2]  # so another graph is built
    with DoublesProducts(), Dispatched() as dispatched:
        result = compiled(x, w)
    assert not [op for op in dispatched.seen if "mm" in op or "relu" in op]
    torch.testing.assert_close(result.cpu(), expected)
