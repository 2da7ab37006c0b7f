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
from parallel_cases import CASES as PIPELINES
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
    computes = name in PIPELINES or name in (
        "all_reduce_at_once_and_in_a_graph",
        "data_parallel_steps",
    )
    return {"rtol": 1e-5, "atol": 1e-5} if computes else {"rtol": 0, "atol": 0}


def calls():
    """Return what the stand-in was handed, or nothing where NCCL itself is there."""
    stand_in = hasattr(torch.ops.fake_cuda, "collectives")
    return list(torch.ops.fake_cuda.collectives()) if stand_in else None


def calls_made_since(count):
    """Return the names of the calls that the stand-in was given as one."""
    made = calls()
    if made is None:
        return None
    made = [call.split() for call in made[count:]]
    assert all(kind == "coalesced" for kind, _, _ in made)
    return [name for _, name, _ in made]


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
    return [x + 1]


def finish(works):
    for work in works:
        work.wait()


@case
def messages_as_one(device, rank, ranks):
    """Both ranks send first: one after the other they would wait for each other."""
    one, two, halo = torch.zeros(4, device=device), *torch.zeros(2, 3, 4, device=device)
    if ranks == 1:
        return [one]
    sent = own(device, 4) * 2  # pending
    calls = [
        dist.P2POp(dist.isend, sent, 1 - rank),
        dist.P2POp(dist.irecv, one, 1 - rank),
        dist.P2POp(dist.isend, own(device, 3, 4), 1 - rank),
        dist.P2POp(dist.irecv, two, 1 - rank),
    ]
    works = dist.batch_isend_irecv(calls)
    finish(works)
    if device == "lazy":
        assert len(works) == 1
        made = calls_made_since(-4)
        assert made is None or made == ["send", "recv"] * 2
    row = dist.P2POp(dist.irecv if rank else dist.isend, halo[rank], 1 - rank)
    finish(dist.batch_isend_irecv([row]))
    sent.add_(1)
    return [one + 1, two, halo, sent]


@case
def a_batch_that_is_refused(device, rank, ranks):
    """Nothing of it is left for the calls that follow."""
    x, y = own(device, 4), torch.zeros(4, device=device)
    if ranks == 1:
        return [x]
    nobody = dist.P2POp(dist.isend, x, 1 - rank)
    nobody.group_peer = ranks + 5
    view = torch.ones(4, dtype=torch.cfloat, device=device).conj().imag
    unwritable = dist.P2POp(dist.irecv, view, 1 - rank)
    for wrong, why in (nobody, "Invalid rank"), (unwritable, "negative values"):
        if device == "lazy":
            with pytest.raises(RuntimeError, match=why):
                dist.batch_isend_irecv([wrong])
    finish(
        dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, x, 1 - rank),
                dist.P2POp(dist.irecv, y, 1 - rank),
            ]
        )
    )
    dist.all_reduce(x)
    return [x, y]


@case
def collectives_as_one(device, rank, ranks):
    """As packages call them that know NCCL; Gloo makes them one by one."""
    x, y, z = (own(device, 4) * i for i in (1, 2, 3))
    into = device if device == "lazy" else None
    with dist._coalescing_manager(device=into, async_ops=True) as all_of_them:
        dist.broadcast(x, 0)
        dist.broadcast(y, ranks - 1)
    all_of_them.wait()
    with dist._coalescing_manager(device=into):
        dist.all_reduce(z)
    with dist._coalescing_manager(device=into, async_ops=True) as none:
        pass
    none.wait()
    return [x + 1, y, z]


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


def pipeline(name):
    """Return a case of a pipeline, if there are ranks for its stages."""

    def run(device):
        return PIPELINES[name](device) if dist.get_world_size() > 1 else []

    return run


CASES |= {name: without_host(EVERYWHERE[name]) for name in ALSO_WITHOUT_HOST}
CASES |= {name: EVERYWHERE[name] for name in ALSO_HERE}
CASES |= {name: pipeline(name) for name in ("one_forward_one_backward", "zero_bubble")}
