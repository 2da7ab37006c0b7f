# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives in steps that are frozen, and in what torch.compile compiles.

On cpu a case is eager's.
"""

import warnings

import torch
import torch.distributed as dist
import torch_ltc
from networks import adamw, batch, mlp, train
from torch import nn
from torch.distributed import _functional_collectives as functional
from torch.nn.parallel import DistributedDataParallel

CASES = {}
TURNS = 4


def tolerance(name):
    return {"rtol": 2e-5, "atol": 2e-6}


def case(run):
    CASES[run.__name__] = run
    return run


def compiled(function, device, **options):
    """Return what the backend compiles it to, for lazy tensors."""
    if device == "cpu":
        return function
    return torch.compile(function, backend="ltc", **options)


@case
def frozen_data_parallel(device):
    """Refused by the line of its collective, and right as it is recorded."""
    model = DistributedDataParallel(mlp().to(device))
    optimizer = adamw(model)

    def step(x, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    if device != "cpu":
        step = torch_ltc.freeze(step)
    losses = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for turn in range(6):
            x, labels = batch(mlp, turn, dist.get_rank(), device)
            losses.append(step(x, labels))
    if device != "cpu":
        assert not step.is_frozen
        (told,) = [w for w in told if w.category is torch_ltc.FreezeWarning]
        assert "collective" in str(told.message)
    return [*losses, *(p.detach() for p in model.parameters())]


@case
def compiled_data_parallel(device):
    model = DistributedDataParallel(mlp().to(device))
    return train(compiled(model, device), mlp, device, adamw(model))


@case
def compiled_module_in_data_parallel(device):
    module = mlp().to(device)
    model = DistributedDataParallel(compiled(module, device))
    return train(model, mlp, device, adamw(module))


def exchange(x, weight):
    h = functional.all_reduce((x @ weight).tanh(), "sum", dist.group.WORLD)
    parts = functional.all_gather_tensor(h * 2, 0, dist.group.WORLD)
    return parts.sum(0) + h


@case
def compiled_functional_collectives(device):
    call = compiled(exchange, device, fullgraph=True)
    results = []
    for turn in range(TURNS):
        x = torch.full((2 + turn % 2, 3), 1.0 + dist.get_rank() + turn, device=device)
        results.append(call(x / 10, torch.eye(3, device=device) * (turn + 1)))
    return results


@case
def compiled_all_reduce_in_place(device):
    def sums(x):
        y = x * 2
        dist.all_reduce(y)
        return y + x

    call = compiled(sums, device)
    return [
        call(torch.full((5,), float(dist.get_rank() + turn), device=device))
        for turn in range(TURNS)
    ]
