# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modes and subclasses with a __torch_dispatch__ see what they see in eager."""

import contextlib

import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import checkpoint
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import FlopCounterMode

torch.lazy.device_count()  # the first tensor of a process is made before ours is


class Counting(TorchDispatchMode):
    """Sees every op, as tools do that count what a program computes."""

    def __init__(self):
        super().__init__()
        self.ops = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.ops.append(func)
        return func(*args, **kwargs or {})


MADE = {
    "zeros": lambda d: torch.zeros(3, 4, device=d),
    "full": lambda d: torch.full((3, 4), 2.5, device=d),
    "arange": lambda d: torch.arange(12.0, device=d).view(3, 4),
    "empty and fill": lambda d: torch.empty(3, 4, device=d).fill_(3),
    "tensor": lambda d: torch.tensor([[1.0, 2, 3, 4]] * 3, device=d),
    "to": lambda d: torch.ones(3, 4).to(d),
    "new": lambda d: torch.ones(3, 4).new_zeros((3, 4), device=d),
    "like": lambda d: torch.ones_like(torch.zeros(3, 4), device=d),
    "from lazy": lambda d: torch.ones(3, 4, device=d) * 2,
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("modes", [1, 2])
def test_new_tensors_know_their_views(made, modes):
    def run(device):
        x = MADE[made](device)
        row, column = x[1], x.t()[2]
        row.fill_(7)
        x.mul_(2)
        column += 1
        x[0].copy_(row)
        return [x, row, column]

    expected = run("cpu")
    with Counting() as mode:
        if modes == 1:
            found = run("lazy")
        else:
            with Counting():
                found = run("lazy")
    assert any("mul" in str(op) for op in mode.ops)
    found[0][2] += 1  # and after the mode has ended
    expected[0][2] += 1
    for lazy, eager in zip(found, expected, strict=True):
        assert lazy.device.type == "lazy" and torch.equal(lazy.cpu(), eager)


def test_a_mode_sees_the_calls_that_it_sees_in_eager():
    def calls(x):
        y = (x * 2).t()
        x.add_(1)
        torch._foreach_add_([x], 1)
        y[1].copy_(torch.nn.functional.layer_norm(x, (4,))[:, 1])
        x.masked_fill_(x > 2, 0)
        return torch.cat([x, y.t()]).view(-1).sum()

    seen = {}
    for device in ("cpu", "lazy", "lazy"):  # met for the first time, and met before
        x = torch.arange(12.0, device=device).view(3, 4)
        with Counting() as mode:
            result = calls(x).item()
        found = [str(op) for op in mode.ops], result
        assert seen.setdefault("eager", found) == found


def test_what_a_handler_does_to_views_reaches_their_base():
    class Doubling(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **kwargs or {})
            if func is torch.ops.aten.mul.Tensor:
                first = result.view(-1)[:2]
                first += 10
                first[0].copy_(torch.full((), 7.0, device=first.device))
                assert first.tolist() == result.view(-1)[:2].tolist()
            return result

    def program(device):
        x = torch.arange(12.0, device=device).view(3, 4)
        with Doubling():
            y = x * 2
            y.t()[0] += 1
        return y

    assert program("lazy").tolist() == program("cpu").tolist()


def test_make_fx_traces_the_argument():
    def function(x):
        y = x.sin()
        y[0] = x.t().reshape(-1)[:4]
        return y + x

    x = torch.arange(12.0).view(3, 4)
    graph = make_fx(function)(x.to("lazy"))
    other = x * 3 - 1
    assert torch.equal(graph(other.to("lazy")).cpu(), function(other))
    assert "_tensor_constant" not in graph.code


def test_linearize():
    def linear(device):
        x = torch.arange(4.0, device=device)
        output, push = torch.func.linearize(lambda x: x.exp() * x, x)
        return output, push(torch.ones_like(x))

    torch.testing.assert_close([t.cpu() for t in linear("lazy")], [*linear("cpu")])


def test_selective_checkpoint():
    def keep(ctx, op, *args, **kwargs):
        saved = op == torch.ops.aten.mm.default
        policy = checkpoint.CheckpointPolicy
        return policy.MUST_SAVE if saved else policy.PREFER_RECOMPUTE

    def contexts():
        return checkpoint.create_selective_checkpoint_contexts(keep)

    def run(device):
        x = torch.arange(12.0, device=device).view(3, 4).requires_grad_()
        weight = torch.ones(4, 4, device=device, requires_grad=True)
        y = checkpoint.checkpoint(
            lambda x: (torch.mm(x, weight).sin() * 2).cos(),
            x,
            use_reentrant=False,
            context_fn=contexts,
        )
        y.sum().backward()
        return x.grad.cpu(), weight.grad.cpu()

    torch.testing.assert_close(run("lazy"), run("cpu"))


def test_flops_are_counted():
    def flops(device):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
        with FlopCounterMode(display=False) as counter:
            model(torch.ones(3, 4, device=device)).sum().backward()
        return counter.get_total_flops()

    assert flops("lazy") == flops("cpu") > 0


class Wrapped(torch.Tensor):
    """A tensor around another, which does all the work."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def bare(value):
            return value.inner if isinstance(value, cls) else value

        result = func(*tree_map(bare, args), **tree_map(bare, kwargs or {}))
        if func in (torch.ops.aten.add_.Tensor, torch.ops.aten.copy_.default):
            return args[0]
        return tree_map(lambda v: cls(v) if isinstance(v, torch.Tensor) else v, result)


def test_subclass_around_a_lazy_tensor():
    def program(device):
        x = Wrapped(torch.arange(12.0, device=device).view(3, 4))
        plain = torch.ones(3, 4, device=device)
        row = x[1]
        row.add_(1)
        x.t()[2].copy_(plain[:, 1])
        y = torch.where(x > 2, x * plain, plain[0]).sum(0)
        assert isinstance(y, Wrapped) and y.device.type == device
        return [t.inner.tolist() for t in (x, row, y)]

    assert program("lazy") == program("cpu")


def test_jagged_tensors():
    def program(device):
        parts = [torch.ones(2, 3), torch.arange(12.0).view(4, 3)]
        parts = [part.to(device).requires_grad_() for part in parts]
        nested = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
        y = (nested * 0.5 + 1).relu()
        (y * y).values().sum().backward()
        padded = torch.nested.to_padded_tensor(y, -1.0)
        return [padded.tolist(), *(part.grad.tolist() for part in parts)]

    assert program("lazy") == program("cpu")


def test_training_under_a_mode():
    def run(device):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            x = torch.linspace(-1, 1, 20, device=device).view(5, 4)
            model(x).square().sum().backward()
            optimizer.step()
        return {name: value.cpu() for name, value in model.state_dict().items()}

    expected = run("cpu")
    with Counting():
        found = run("lazy")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_gradients_reach_what_was_moved():
    x = torch.ones(3, requires_grad=True)
    with Counting():
        (x.to("lazy") * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def doubled(x, into=None):
    return x * 2


def incremented(x):
    x.add_(1)


EXPLICIT = "CompositeExplicitAutograd"
CUSTOM = {
    "kernel of the CPU": ("(Tensor x) -> Tensor", "CPU", doubled),
    "composite": ("(Tensor x) -> Tensor", "CompositeImplicitAutograd", doubled),
    "explicit": ("(Tensor x) -> Tensor", EXPLICIT, doubled),
    "kernel of its own": ("(Tensor x) -> Tensor", "Lazy", doubled),
    "writes": ("(Tensor(a!) x) -> ()", "CPU", incremented),
    "writes, explicit": ("(Tensor(a!) x) -> ()", EXPLICIT, incremented),
    "tensor or none": ("(Tensor x, Tensor? into=None) -> Tensor", "CPU", doubled),
}


@pytest.mark.parametrize("kind", CUSTOM)
@pytest.mark.parametrize("modes", [1, 2])
def test_custom_ops_under_a_mode(kind, modes):
    schema, key, kernel = CUSTOM[kind]
    with torch.library._scoped_library("ltc_mode", "FRAGMENT") as library:
        library.define("op" + schema)
        library.impl("op", kernel, key)
        if key == "CPU":
            meta = doubled if schema.endswith("Tensor") else incremented
            library.impl("op", meta, "Meta")
        if key == "Lazy":
            library.impl("op", kernel, "CPU")

        def run(device):
            base = torch.arange(6.0, device=device)
            x = base[1:4]
            with contextlib.ExitStack() as stack:
                for _ in range(modes):
                    stack.enter_context(Counting())
                made = torch.ops.ltc_mode.op(x)
                x.mul_(3)
            return base.cpu(), None if made is None else made.cpu()

        torch.testing.assert_close(run("lazy"), run("cpu"))


def test_modes_see_an_op_that_is_defined_anew():
    for factor in 2, 3:
        with torch.library._scoped_library("ltc_mode", "FRAGMENT") as library:
            library.define("op(Tensor x) -> Tensor")
            library.impl("op", lambda x, by=factor: x * by, EXPLICIT)
            x = torch.arange(3.0, device="lazy")
            with Counting() as mode:
                made = torch.ops.ltc_mode.op(x)
            assert any(func is torch.ops.ltc_mode.op.default for func in mode.ops)
            assert made.tolist() == (torch.arange(3.0) * factor).tolist()
