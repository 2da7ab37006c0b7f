# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives that are nodes of a graph: the second of equal calls and those after."""

from datetime import timedelta

import torch
import torch.distributed as dist
from networks import Gpt, loss_of, sgd
from torch import nn
from torch.distributed import _functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

CASES = {}
TURNS = 4


def case(run):
    CASES[run.__name__] = run
    return run


def tolerance(name):
    return {"rtol": 1e-5, "atol": 1e-6}


def own(device, *shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count).reshape(shape) + 1.0 + dist.get_rank()).to(device)


def count(device, name):
    return torch.lazy.metrics().get(name, 0) if device == "lazy" else 0


@case
def a_data_parallel_step_is_one_graph(device):
    """Buckets begin in backward, and the optimizer's step is in the same graph."""
    torch.manual_seed(0)
    layers = [part for _ in range(4) for part in (nn.Linear(16, 16), nn.Tanh())]
    model = DistributedDataParallel(
        nn.Sequential(*layers).to(device), bucket_cap_mb=0.0015
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(6):
        before = [
            count(device, f"execute.{name}") for name in ("launches", "collectives")
        ]
        optimizer.zero_grad()
        model(own(device, 2, 16) / 20).pow(2).sum().backward()
        optimizer.step()
        if device == "lazy" and step > 3:
            assert count(device, "execute.launches") == before[0] + 1
            assert count(device, "execute.collectives") >= before[1] + 2
    results = [parameter.detach().cpu() for parameter in model.parameters()]
    if device == "lazy":
        took, waited = (
            count(device, f"execute.collective_{name}microseconds")
            for name in ("", "wait_")
        )
        assert took > 0 and waited < 2 * took
    return results


def steps_of_one_graph(device, step, collectives):
    """Take steps, of which the last are one graph each; return their losses."""
    losses = []
    for turn in range(6):
        before = [
            count(device, f"execute.{name}") for name in ("launches", "collectives")
        ]
        losses.append(step(turn).detach())
        if device == "lazy" and turn > 3:
            assert count(device, "execute.launches") == before[0] + 1
            assert count(device, "execute.collectives") >= before[1] + collectives
    return losses


@case
def a_tensor_parallel_step_is_one_graph(device):
    """It sums in forward as in backward."""
    model, mesh = Gpt().to(device), init_device_mesh(device, (dist.get_world_size(),))
    plan = {name: ColwiseParallel() for name in ("q", "k", "v", "up")}
    plan |= {name: RowwiseParallel() for name in ("out", "down")}
    for block in model.blocks:
        parallelize_module(block, mesh, dict(plan))
    optimizer = sgd(model)

    def step(turn):
        optimizer.zero_grad()
        loss = loss_of(model, Gpt, turn, device, rank=0)
        loss.backward()
        optimizer.step()
        return loss

    return steps_of_one_graph(device, step, 8)


@case
def functional_collectives_are_part_of_the_graph(device):
    weight = own(device, 3, 3).div_(20).requires_grad_()
    optimizer = torch.optim.SGD([weight], lr=0.01)

    def step(turn):
        optimizer.zero_grad()
        group = dist.group.WORLD
        h = functional.all_reduce((own(device, 2, 3) @ weight).tanh(), "sum", group)
        parts = functional.all_gather_tensor(h * (turn + 1), 0, group)
        loss = parts.sum() + (weight * 2).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss

    return steps_of_one_graph(device, step, 2)


@case
def a_small_read_behind_a_forward_collective(device):
    """A model looks at its mask after a sum: the host does, and the step is one."""
    weight = own(device, 3, 3).div_(20).requires_grad_()
    optimizer = torch.optim.SGD([weight], lr=0.01)
    reads = []

    def step(turn):
        optimizer.zero_grad()
        mask = torch.tensor([1, 1, turn % 2]).to(device)
        h = functional.all_reduce(own(device, 2, 3) @ weight, "sum", dist.group.WORLD)
        before = count(device, "graph.host_reads")
        if not mask.bool().all():
            h = h * mask
        reads.append(count(device, "graph.host_reads") - before)
        loss = h.pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss

    losses = steps_of_one_graph(device, step, 1)
    assert device == "cpu" or reads[-2:] == [1, 1]
    return losses


@case
def a_read_of_what_a_collective_gives(device):
    """Is no read of the host's: it has the sum."""
    results = []
    for turn in range(TURNS):
        x = own(device, 2) * turn
        dist.all_reduce(x)
        results.append(torch.tensor((x > 5).sum().item()))
    return results


@case
def a_rank_that_rests_takes_part(device):
    """It waits by other means for a rank that waits for its part of a sum."""
    store, results = dist.distributed_c10d._get_default_store(), []
    for turn in range(3):
        x = own(device, 7) * 2
        dist.all_reduce(x)
        if dist.get_rank() == 1:
            x.cpu()
            store.set(f"{device} read {turn}", "")
        else:
            store.wait([f"{device} read {turn}"])
        results.append(x)
    return results


@case
def what_is_recorded_alone_begins_at_once(device):
    results = []
    if device == "lazy":
        torch.lazy.synchronize()
    for turn in range(TURNS):
        x = own(device, 9)
        before = count(device, "execute.launches")
        dist.all_reduce(x)
        if device == "lazy" and turn > 1:
            assert count(device, "execute.launches") == before + 1
        results.append(x)
    return results


@case
def the_host_does_not_wait(device):
    """A call returns before the other rank has come to it."""
    x, store = own(device, 5), dist.distributed_c10d._get_default_store()
    dist.all_reduce(x)
    if device == "lazy" and dist.get_rank() == 1:
        store.wait(["rank 0 has gone on"])
    dist.all_reduce(x)
    y = x + 1
    if device == "lazy" and dist.get_rank() == 0:
        store.set("rank 0 has gone on", "")
    return [x, y]


@case
def tensors_of_both_devices_in_one_group(device):
    """Those of the CPU are carried by the same Gloo, in the program's order."""
    results = []
    for _ in range(TURNS):
        x, y, host = own(device, 3), own(device, 4), own("cpu", 3)
        begun = dist.all_reduce(x, async_op=True)
        dist.all_reduce(host)
        dist.broadcast(y, 1)
        gathered = [None] * dist.get_world_size()
        dist.all_gather_object(gathered, dist.get_rank())
        assert gathered == list(range(dist.get_world_size()))
        begun.wait()
        dist.barrier()
        results += [x, y, host]
    return results


@case
def all_forms_again(device):
    results, ranks, rank = [], dist.get_world_size(), dist.get_rank()
    for _ in range(TURNS):
        listed = [torch.zeros(3, device=device) for _ in range(ranks)]
        flat, half = torch.zeros(3 * ranks, device=device), own(device, 3)
        begun = [
            dist.all_gather(listed, own(device, 3), async_op=True),
            dist.all_gather_into_tensor(flat, own(device, 3), async_op=True),
            dist.reduce_scatter_tensor(half, own(device, 3 * ranks), async_op=True),
        ]
        parts, swapped = torch.zeros(2 * ranks, device=device), own(device, 2 * ranks)
        dist.all_to_all_single(parts, swapped)
        y = own(device, 3)
        dist.reduce(y, 0)
        mine = torch.zeros(2, device=device)
        given = [own(device, 2) * i for i in range(ranks)] if rank == 0 else None
        dist.scatter(mine, given, 0)
        base = own(device, 4)
        dist.all_reduce(base[1:3])
        for work in reversed(begun):
            assert work.wait()
        results += [*listed, flat, half, parts, mine, base, *([y] if rank == 0 else [])]
    return results


@case
def what_nobody_reads(device):
    """All ranks take part, whatever becomes of the result; copies stay."""
    results = []
    for _ in range(TURNS):
        x = own(device, 6)
        kept, before = x.clone(), x + 0
        dist.all_reduce(x)
        dist.all_reduce(own(device, 6))
        dist.all_reduce(own(device, 6), async_op=True)
        if dist.get_rank() == 0:
            results.append(x)
        results += [kept, before]
    return results


@case
def works_and_futures(device):
    results = []
    for _ in range(TURNS):
        x, y, z = own(device, 3), own(device, 3), own(device, 3)
        future = dist.all_reduce(x, async_op=True).get_future()
        twice = future.then(lambda done: done.value()[0] * 2).wait()
        work = dist.all_reduce(y, async_op=True)
        while not work.is_completed():
            pass
        (result,) = work.result()
        timed = dist.all_reduce(z, async_op=True)
        timed.wait(timedelta(seconds=30))
        results += [twice, x, y, result, z]
    return results


@case
def one_group_after_the_other(device):
    """Each group has its own; subgroups without this rank have no part in it."""
    first, both = dist.new_group([0]), dist.new_group([0, 1])
    results = []
    for _ in range(TURNS):
        x, y = own(device, 3), own(device, 3)
        if dist.get_rank() == 0:
            dist.all_reduce(x, group=first)
        if dist.get_rank() < 2:
            dist.all_reduce(y, group=both)
        dist.all_reduce(x)
        results += [x, y]
    return results


@case
def sequence_numbers(device):
    """A group has counted each call, whether that has begun or is recorded."""
    group = dist.new_group()
    backend = group._get_backend(torch.device(device))
    results = []
    for _ in range(TURNS):
        x = own(device, 5)
        dist.all_reduce(x, group=group)
        asked = group if dist.get_rank() else backend
        results += [torch.tensor(asked._get_sequence_number_for_group()), x]
    return results
