# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ``torch_ltc.freeze`` cannot repeat: each is named, with its line."""

import collections
import random
import re
import sys
import warnings

import pytest
import torch
import torch_ltc
from torch import nn

weight = nn.Parameter(torch.ones(3, device="lazy"))
history = []
queue = collections.deque()
state = {"calls": 0}


def base(x):
    return (x * weight).sum().detach()


def reads(x):
    return x * base(x).item()  # here


def decides(x):
    if base(x) > 1e9:  # here
        x = x + 1
    return x


def prints(x):
    print(base(x), file=sys.stderr)  # here


def masks(x):
    return x[x > 0].sum()  # here


def appends(x):
    history.append(base(x))


def appends_to_a_deque(x):
    queue.append(x * 3)  # here


def counts(x):
    state["calls"] += 1
    return base(x)


def sets_an_attribute(x):
    counts.total = base(x)


def moves(x):
    return x + torch.tensor([1.0, 2.0, 3.0]).to("lazy")  # here


def other_graphs(x):
    for _ in range(random.Random(len(history)).randrange(1)):
        x = x + 1
    history.append(0)
    return base(x)


def draws_on_the_host(x):
    torch.rand(2)
    return base(x)


def draws_in_python(x):
    random.random()
    return base(x)


def computes_numbers(x, clock=[0]):  # noqa: B006
    return x * torch.rand(1, generator=torch.Generator().manual_seed(0)).item()


def leaves_backward_to_others(x):
    return (x * weight).sum()


def returns_an_object(x):
    return slice(base(x))


def returns_its_argument(x):
    base(x)
    return x


def gives_other_memory(x):
    weight.data = torch.ones(3, device="lazy") + base(x)


REFUSED = {
    reads: "waits for a value (item)",
    decides: "waits for a value (item)",
    prints: "waits for a value (print)",
    masks: "waits for a value (fallback",
    appends: "changes history",
    appends_to_a_deque: "leaves a tensor behind",
    counts: "changes state['calls']",
    sets_an_attribute: "changes counts['total']",
    moves: "moves a CPU tensor of [3] that it makes itself",
    draws_on_the_host: "draws random numbers that are no op's of the device",
    draws_in_python: "draws random numbers that are no op's of the device",
    leaves_backward_to_others: "backward() can still be called on",
    returns_an_object: "returns a slice",
    returns_its_argument: "returns a tensor that was there before",
    gives_other_memory: "other memory",
}


def line_of(function):
    """Return the line that says `here`, or the function's own."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    for i, line in enumerate(lines):
        if line.endswith("# here\n"):
            return first + i
    return first


def call_often(step):
    for i in range(8):
        step(torch.full((3,), float(i), device="lazy"))


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_strict_raises(function):
    weight.data = torch.ones(3, device="lazy")
    step = torch_ltc.freeze(function, strict=True)
    with pytest.raises(torch_ltc.FreezeError) as raised:
        call_often(step)
    text = str(raised.value)
    assert REFUSED[function] in text
    assert function.__name__ in text
    assert raised.value.file.endswith("test_freeze_refusals.py")
    assert raised.value.line == line_of(function)
    assert "move that out of the step" in raised.value.hint


def test_otherwise_it_warns_once_and_goes_on():
    history.clear()
    step = torch_ltc.freeze(appends)
    message = re.escape("changes history, an object of Python's; it goes on unfrozen")
    with pytest.warns(torch_ltc.FreezeWarning, match=message) as caught:
        call_often(step)
    assert len(caught) == 1
    assert caught[0].filename.endswith("test_freeze_refusals.py")
    assert caught[0].lineno == line_of(appends)
    assert len(history) == 8
    assert not step.is_frozen


def test_a_graph_that_is_another_each_time():
    sizes = iter(range(1, 20))

    def step(x):
        return x.repeat(next(sizes)).sum()  # here

    step = torch_ltc.freeze(step, strict=True)
    with pytest.raises(torch_ltc.FreezeError, match="another graph than") as raised:
        call_often(step)
    assert raised.value.line == line_of(step.function)


def test_a_number_that_is_another_each_time():
    numbers = iter(range(1, 20))

    def step(x):
        return x * (0.5 * next(numbers))  # here

    step = torch_ltc.freeze(step, strict=True)
    with pytest.raises(torch_ltc.FreezeError, match="another in each call") as raised:
        call_often(step)
    assert raised.value.line == line_of(step.function)


def test_what_only_the_first_call_does_is_no_obstacle():
    made = {}

    def step(x):
        if "sum" not in made:
            made["sum"] = torch.zeros(3, device="lazy")
            made["first"] = x.sum().item()
        made["sum"].add_(x)

    step = torch_ltc.freeze(step, strict=True)
    call_often(step)
    assert step.is_frozen
    assert made["sum"].cpu().tolist() == [28.0] * 3


def test_no_lazy_tensor():
    step = torch_ltc.freeze(lambda x: x + 1)
    with pytest.raises(torch_ltc.FreezeError, match="met no lazy tensor"):
        step(torch.ones(2))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (torch.ones(2), "takes a function, not a Tensor"),
        ((lambda: (yield)), "returns before it runs"),
    ],
)
def test_what_is_no_step(function, words):
    with pytest.raises(TypeError, match=words):
        torch_ltc.freeze(function)


def test_the_scaler_waits():
    """``GradScaler.step`` looks whether to step; a fused optimizer asks on device."""
    scaler = torch.amp.GradScaler("lazy", init_scale=8.0)
    model = nn.Linear(3, 1).to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        scaler.scale(model(x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not scaler.is_enabled():
            pytest.skip("no scaler for lazy tensors")
    step = torch_ltc.freeze(step, strict=True)
    with pytest.raises(torch_ltc.FreezeError, match="waits for a value"):
        call_often(step)
