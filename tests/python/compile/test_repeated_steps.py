# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Frozen steps whose launch is repeated with the buffers of the call before."""

import gc

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn

OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
}


@pytest.fixture(autouse=True)
def own_numbers():
    with torch_ltc.settings.scope(rng="fast"):  # other files set eager's for all
        yield


def without_bias():
    """Make a model all of whose gradients are results of the step's one launch."""
    layers = nn.Linear(4, 3, bias=False), nn.Linear(3, 2, bias=False)
    return nn.Sequential(*layers)


class Loop:
    """A model with its step, the same for each seed."""

    def __init__(self, optimizer="adam", frozen=True, make=without_bias):
        torch.manual_seed(0)
        self.model = model = make().to("lazy")
        self.optimizer = optimizer = OPTIMIZERS[optimizer](model.parameters())

        def step(x):
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        self.step = torch_ltc.freeze(step, strict=True) if frozen else step
        torch.manual_seed(1)

    def run(self, calls, rows=3):
        return [self.step(batch(rows)).item() for _ in range(calls)]

    def state(self):
        """Return weights, gradients and the optimizer's state, on the CPU."""
        parameters = [*self.model.parameters()]
        tensors = parameters + [p.grad for p in parameters]
        tensors += [*self.model.buffers()]
        for values in self.optimizer.state.values():
            tensors += [v for v in values.values() if isinstance(v, torch.Tensor)]
        return [t.detach().cpu() if t is not None else None for t in tensors]


def batch(rows=3):
    return torch.randn(rows, 4).to("lazy")


def repeated(call):
    with torch_ltc.metrics.measure() as counts:
        call()
    return counts.get("execute.repeated", 0)


def assert_same(a, b):
    for old, new in zip(a.state(), b.state(), strict=True):
        assert (old is None) == (new is None)
        assert old is None or torch.equal(old, new)


def compared(change, **options):
    """Run a frozen and a plain loop, with a change between two calls."""
    loops, results = [], []
    for frozen in (True, False):
        loop = Loop(frozen=frozen, **options)
        loops.append(loop)
        losses = loop.run(6)
        kept = change(loop)
        results.append((losses + loop.run(5), kept))
    assert results[0][0] == results[1][0]
    assert_same(*loops)
    return results[0][1], results[1][1]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_calls_repeat_the_launch(optimizer):
    frozen, plain = Loop(optimizer), Loop(optimizer, frozen=False)
    torch.manual_seed(1)
    a = frozen.run(5)
    assert repeated(lambda: a.extend(frozen.run(4))) == 4
    torch.manual_seed(1)
    assert a == plain.run(9)
    assert_same(frozen, plain)


def test_results_that_do_not_stay():
    """Statistics that batch norm updates, and dropout's seeds."""

    def make():
        first, last = without_bias()
        return nn.Sequential(first, nn.BatchNorm1d(3), nn.Dropout(0.4), last)

    compared(lambda loop: None, make=make)
    loop = Loop(make=make)
    loop.run(6)
    assert repeated(lambda: loop.run(3)) == 3


def read(loop):
    weight = next(loop.model.parameters())
    return weight.detach().cpu(), weight.sum().item(), weight.grad.sum().item()


def write(loop):
    with torch.no_grad():
        next(loop.model.parameters()).mul_(2)


def write_to_gradient(loop):
    next(loop.model.parameters()).grad.zero_()


def replace_data(loop):
    weight = next(loop.model.parameters())
    weight.data = weight.data.clone() + 1


def replace_gradient(loop):
    weight = next(loop.model.parameters())
    weight.grad = torch.ones_like(weight)


def load(loop):
    torch.manual_seed(5)
    loop.model.load_state_dict(without_bias().state_dict())


def write_to_state(loop):
    state = next(iter(loop.optimizer.state.values()))
    state["exp_avg"].mul_(0.5)
    state["exp_avg_sq"] = state["exp_avg_sq"] * 2


def load_optimizer(loop):
    loop.optimizer.load_state_dict(loop.optimizer.state_dict())


def move_away_and_back(loop):
    loop.model.to("cpu").to("lazy")


def drop_gradients(loop):
    loop.optimizer.zero_grad()


def freeze_one(loop):
    next(loop.model.parameters()).requires_grad_(False)


def hook(loop):
    next(loop.model.parameters()).register_hook(lambda gradient: gradient * 2)


def hook_behind(loop):
    weight = next(loop.model.parameters())

    def halve(parameter):
        parameter.grad.mul_(0.5)

    weight.register_post_accumulate_grad_hook(halve)


def count_otherwise(loop):
    state = next(iter(loop.optimizer.state.values()))
    state["step"] += 7


@pytest.mark.parametrize(
    "change",
    [
        read,
        write,
        write_to_gradient,
        replace_data,
        replace_gradient,
        load,
        write_to_state,
        load_optimizer,
        move_away_and_back,
        drop_gradients,
        freeze_one,
        hook,
        hook_behind,
        count_otherwise,
    ],
)
def test_what_happens_between_two_calls_counts(change):
    old, new = compared(change)
    for a, b in zip(old or (), new or (), strict=True):
        assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))


def test_copies_that_are_pending_have_the_old_values():
    """What was recorded before a call is computed before its launch."""

    def copy(loop):
        weight = next(loop.model.parameters())
        copies = [weight.detach().clone(), weight.grad * 1, weight.detach()[0] + 0]
        loop.run(2)
        return [copy.cpu() for copy in copies]

    for a, b in zip(*compared(copy), strict=True):
        assert torch.equal(a, b)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 3, batch_first=True)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(self.lstm(x.view(-1, 2, 2))[0][:, -1])


MODELS = {
    "layers": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)),
        nn.Conv2d(1, 3, 2, padding=1),
        nn.BatchNorm2d(3),
        nn.Flatten(),
        nn.Linear(27, 2),
    ),
    "lstm": Recurrent,
    "encoder": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 4)),
        nn.TransformerEncoderLayer(4, 2, 8, dropout=0.2, batch_first=True),
    ),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_models_with_biases_repeat_the_launch(model, optimizer):
    """A bias' gradient is a view, whose copy belongs to the step's one launch."""
    make = MODELS[model]
    compared(lambda loop: None, make=make, optimizer=optimizer)
    loop = Loop(make=make, optimizer=optimizer)
    loop.run(6)
    with torch_ltc.metrics.measure() as counts:
        loop.run(3)
    assert counts["execute.repeated"] == counts["execute.launches"] == 3


def test_two_shapes_in_turns():
    frozen, plain = Loop(), Loop(frozen=False)
    losses = []
    for loop in (frozen, plain):
        torch.manual_seed(1)
        losses.append([loss for rows in (3, 5) * 6 for loss in loop.run(2, rows)])
    assert losses[0] == losses[1]
    assert_same(frozen, plain)


def embedding_loop():
    table = nn.Embedding(6, 3).to("lazy")
    optimizer = torch.optim.AdamW(table.parameters())

    @torch_ltc.freeze(strict=True)
    def step(index):
        loss = F.embedding(index, table.weight).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return table, optimizer, step


def test_a_repeated_launch_that_fails_loses_nothing():
    table, optimizer, step = embedding_loop()
    good, bad = torch.tensor([1, 2]).to("lazy"), torch.tensor([1, 9]).to("lazy")
    for _ in range(6):
        step(good).item()
    assert repeated(lambda: step(good).item()) == 1
    state = optimizer.state[table.weight]
    before = [table.weight.detach().cpu(), state["exp_avg"].cpu(), state["step"].item()]
    # Two steps behind it start from its results.
    losses = [step(bad), step(good), step(good)]
    with pytest.raises(IndexError, match="9"):
        losses[0].item()
    assert torch.equal(table.weight.detach().cpu(), before[0])
    assert torch.equal(state["exp_avg"].cpu(), before[1])
    assert state["step"].item() == before[2]
    assert table.weight.grad is None
    for _ in range(4):
        step(good).item()
    assert state["step"].item() == before[2] + 4
    assert repeated(lambda: step(good).item()) == 1
    assert not torch.equal(table.weight.detach().cpu(), before[0])


def test_memory_stays_flat():
    loop = Loop()
    loop.run(6)
    gc.collect()
    before = torch.lazy.memory_allocated()
    loop.run(20)
    gc.collect()
    assert torch.lazy.memory_allocated() <= before
