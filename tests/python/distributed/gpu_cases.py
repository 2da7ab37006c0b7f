# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of lazy tensors in a GPU's memory: which tensors NCCL is handed.

Values are compared with cpu's. No value goes by way of the host.
"""

import pytest
import torch
import torch.distributed as dist
import torch_ltc
from collective_cases import CASES as EVERYWHERE
from collective_cases import empties, own
from torch.nn.parallel import DistributedDataParallel

CASES = {}
ALSO_HERE = (
    "all_reduce_seen_in_views_and_bases",
    "asynchronous_calls",
    "groups",
    "objects",
)
ALSO_WITHOUT_HOST = (
    "all_reduce_of_what_is_pending",
    "broadcast_and_reduce",
    "reduce_scatter_of_each_form",
    "all_to_all_of_each_form",
    "gather_and_scatter",
)
BY_HOST = ("host_calls", "device_copies_by_host")


def tolerance(name):
    """Return that of kernels that are not cpu's, where a case has such."""
    computes = name in ("all_reduce_at_once_and_in_a_graph", "data_parallel_steps")
    return {"rtol": 1e-5, "atol": 1e-5} if computes else {"rtol": 0, "atol": 0}


def calls():
    """Return what the stand-in was handed, or nothing where NCCL itself is there."""
    stand_in = hasattr(torch.ops.fake_cuda, "collectives")
    return list(torch.ops.fake_cuda.collectives()) if stand_in else None


def without_host(run):
    """Wrap a case: NCCL gets tensors of this rank's GPU, and the host no value."""

    def run_here(device):
        torch.lazy.synchronize()
        before, metrics = calls(), torch_ltc.metrics.snapshot()
        found = run(device)
        if device == "lazy":
            torch.lazy.synchronize()
            after = torch_ltc.metrics.snapshot()
            for name in (f"execute.{name}" for name in BY_HOST):
                assert after.get(name, 0) == metrics.get(name, 0), name
            made = None if before is None else calls()[len(before) :]
            here = f" cuda:{torch.lazy.current_device()}"
            assert made is None or all(call.endswith(here) for call in made)
            assert made or made is None or dist.get_world_size() == 1
        return found

    return run_here


def case(run):
    """Make a function of (device, rank, ranks) a case that needs no host."""

    def with_ranks(device):
        return run(device, dist.get_rank(), dist.get_world_size())

    CASES[run.__name__] = without_host(with_ranks)
    return run


@case
def all_reduce_at_once_and_in_a_graph(device, rank, ranks):
    """The first of equal calls is made by the thread, those after it by a graph."""
    results = []
    for turn in range(4):
        x = (own(device, 64, 64) / 64).softmax(1) * (turn + 1)
        dist.all_reduce(x)
        results.append(x @ x.t() + 1)
    return results


@case
def what_is_filled(device, rank, ranks):
    results = []
    for turn in range(3):
        gathered = torch.zeros(8 * ranks, device=device)
        dist.all_gather_into_tensor(gathered, own(device, 8) * turn)
        parts = empties(device, ranks, 8)
        dist.all_gather(parts, own(device, 8) - turn)
        results += [gathered * 2, *parts]
    return results


@case
def messages(device, rank, ranks):
    x = torch.zeros(16, device=device)
    if ranks == 1:
        return [x]
    if rank == 0:
        dist.send(own(device, 16) * 3, 1)
    elif rank == 1:
        dist.recv(x, 0)
    if device == "lazy":
        one = dist.P2POp(dist.isend, x, 1 - rank)
        with pytest.raises(torch_ltc.UnsupportedOpError, match="batch_isend_irecv"):
            dist.batch_isend_irecv([one])
    return [x + 1]


@case
def data_parallel_steps(device, rank, ranks):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        before = torch_ltc.metrics.snapshot().get("execute.launches", 0)
        optimizer.zero_grad()
        loss = model(own(device, 2, 16) / 20).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    if device == "lazy":
        assert torch_ltc.metrics.snapshot()["execute.launches"] == before + 1
    return [torch.stack(losses), *(p.detach() for p in model.parameters())]


CASES |= {name: without_host(EVERYWHERE[name]) for name in ALSO_WITHOUT_HOST}
CASES |= {name: EVERYWHERE[name] for name in ALSO_HERE}
