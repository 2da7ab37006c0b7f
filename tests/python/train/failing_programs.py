# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose steps fail for an index of 30, and for no other value here."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def embedding(x):
    return F.embedding(x, torch.arange(20.0, device=x.device).view(10, 2))


def labels(x):
    return F.cross_entropy(torch.ones(3, 10, device=x.device), x)


def gather(x):
    return torch.arange(10.0, device=x.device).gather(0, x)


def index(x):
    return torch.arange(10.0, device=x.device)[x]


def written_index(x):
    return torch.zeros(10, device=x.device).index_put(
        (x,), torch.ones(3, device=x.device)
    )


def scattered(x):
    return torch.zeros(10, device=x.device).scatter_add(
        0, x, torch.ones(3, device=x.device)
    )


def division(x):
    return torch.arange(3, device=x.device) // (x - 30)


def probability(x):
    return torch.bernoulli((x == 30).double() * 2)


def factors(x):
    spd = torch.eye(3, device=x.device) * (5 - x).sign()
    return torch.linalg.cholesky(spd)


KINDS = [
    embedding,
    labels,
    gather,
    index,
    written_index,
    scattered,
    division,
    probability,
    factors,
]


def total(fails, x):
    return (fails(x).double() * 0).sum()


class Plain:
    """The failing op comes first."""

    def __init__(self, device, fails, optimizer=torch.optim.SGD, **options):
        torch.manual_seed(0)
        self.fails = fails
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(
            device
        )
        self.optimizer = optimizer(self.model.parameters(), **{"lr": 0.1, **options})

    def step(self, x, data):
        loss = total(self.fails, x) + self.model(data).pow(2).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def state(self):
        found = dict(self.model.state_dict())
        for i, state in self.optimizer.state_dict()["state"].items():
            found |= {f"{name}.{i}": value for name, value in state.items()}
        return found


class BatchNorm(Plain):
    """Running statistics are updated before the failing op."""

    def __init__(self, device, fails):
        super().__init__(device, fails)
        self.norm = nn.BatchNorm1d(4).to(device)

    def step(self, x, data):
        return super().step(x, self.norm(data) + total(self.fails, x))

    def state(self):
        return super().state() | self.norm.state_dict()


class Accumulated(Plain):
    """Gradients of earlier batches are added to, and two batches are one step."""

    def step(self, x, data):
        self.model(data).sum().backward()
        loss = self.model(data * 2).pow(2).sum() + total(self.fails, x)
        loss.backward()
        torch.lazy.mark_step()
        return loss.detach()

    def state(self):
        return super().state() | {n: p.grad for n, p in self.model.named_parameters()}


class Buffers:
    """Tensors written in place, whole and in parts, before and after it."""

    def __init__(self, device, fails):
        self.fails = fails
        self.sums = torch.zeros(4, device=device)
        self.rows = torch.zeros(6, 4, device=device)
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self.copied = torch.zeros(4, device=device)
        torch.lazy.mark_step()

    def step(self, x, data):
        self.count += 1
        self.rows[1:3] += data[:2]
        self.sums.add_(data.sum(0))
        loss = total(self.fails, x)
        self.rows[4] = data[0] + loss * self.count
        self.sums.mul_(0.5)
        self.copied.copy_(self.sums)
        torch.lazy.mark_step()
        return loss

    def state(self):
        return vars(self) | {"fails": 0}


class Frozen(Plain):
    """Gradients are set to zero, not to None."""

    def step(self, x, data):
        loss = self.model(data).pow(2).sum() + total(self.fails, x)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def adamw(device, fails):
    return Plain(device, fails, torch.optim.AdamW)


def adam_one_by_one(device, fails):
    return Plain(device, fails, torch.optim.Adam, foreach=False, amsgrad=True)


def momentum(device, fails):
    return Plain(device, fails, momentum=0.9, nesterov=True)


def rmsprop(device, fails):
    return Plain(device, fails, torch.optim.RMSprop, centered=True)


PLACES = [
    Plain,
    adamw,
    adam_one_by_one,
    momentum,
    rmsprop,
    BatchNorm,
    Accumulated,
    Buffers,
    Frozen,
]

GOOD, BAD = [1, 2, 3], [1, 2, 30]


def batch(i):
    return torch.linspace(-1, 1 + i, 12).view(3, 4)


def train(make, device, fails, steps, read):
    """Run steps, numbered, and return the state and what was raised."""
    program = make(device, fails)
    errors, losses = [], []
    for i, x in steps:
        losses.append(program.step(torch.tensor(x, device=device), batch(i).to(device)))
        if not read(i):
            continue
        for loss in losses:
            try:
                loss.item()
            except RuntimeError as error:
                errors.append(error)
            except IndexError as error:
                errors.append(error)
        losses.clear()
    return copy.deepcopy({n: as_cpu(v) for n, v in program.state().items()}), errors


def as_cpu(value):
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(
            found[name], value, rtol=1e-8, atol=1e-8, msg=lambda m, n=name: f"{n}: {m}"
        )
