# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives that give on lazy what they give on cpu, bit for bit."""

import itertools

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as differentiable

CASES = {}
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.int64,
    torch.int8,
    torch.uint8,
)


def case(run):
    """Make a function of (device, rank, ranks) a case."""

    def run_here(device):
        return run(device, dist.get_rank(), dist.get_world_size())

    CASES[run.__name__] = run_here
    return run


def tolerance(name):
    return {"rtol": 0, "atol": 0}


def own(device, *shape, dtype=torch.float32):
    """Return values that each rank has its own of."""
    count = torch.Size(shape).numel()
    values = torch.arange(count).reshape(shape) + 1 + dist.get_rank()
    return values.to(dtype).to(device)


def empties(device, count, *shape):
    return [torch.zeros(shape, device=device) for _ in range(count)]


@case
def all_reduce_of_each_op_and_dtype(device, rank, ranks):
    results = []
    for dtype in DTYPES:
        for op in "SUM", "PRODUCT", "MIN", "MAX":
            x = own(device, 3, 2, dtype=dtype)
            assert dist.all_reduce(x, getattr(dist.ReduceOp, op)) is None
            results.append(x)
    x = torch.complex(own(device, 2), own(device, 2))
    dist.all_reduce(x)
    return [*results, x]


@case
def all_reduce_seen_in_views_and_bases(device, rank, ranks):
    base, part = own(device, 4), own(device, 4)
    view, piece = base.view(2, 2), part[1:3]
    before = view + 0  # taken once before the collective
    dist.all_reduce(base)
    dist.all_reduce(piece)
    base += 1
    return [base, view, before, part, piece]


@case
def all_reduce_leaves_copies_alone(device, rank, ranks):
    x = own(device, 3)
    copy, detached = x.clone(), x.detach()
    dist.all_reduce(x)
    return [x, copy, detached]


@case
def all_reduce_of_what_is_pending(device, rank, ranks):
    x = own(device, 8)
    for _ in range(3):
        x = x * 2 - 1
        dist.all_reduce(x)
        x.div_(ranks)
    return [x]


@case
def all_reduce_of_what_is_still_read(device, rank, ranks):
    x = torch.ones(512, 512, device=device)
    if device == "lazy":
        torch.lazy.synchronize()
    y = (x @ x @ x) * 0 + x
    if device == "lazy":
        torch.lazy.mark_step()
    dist.all_reduce(x)
    return [x, y]


@case
def broadcast_and_reduce(device, rank, ranks):
    x, y = own(device, 3), own(device, 3)
    dist.broadcast(x, ranks - 1)
    dist.reduce(y, 0)
    return [x, y] if rank == 0 else [x]


@case
def all_gather_of_each_form(device, rank, ranks):
    listed, flat = empties(device, ranks, 3), torch.zeros(3 * ranks, device=device)
    dist.all_gather(listed, own(device, 3))
    dist.all_gather_into_tensor(flat, own(device, 3))
    chunks = torch.zeros(3 * ranks, device=device)
    dist.all_gather(list(chunks.chunk(ranks)), own(device, 3) * 2)
    in_place = torch.zeros(2 * ranks, device=device)
    mine = in_place[2 * rank : 2 * rank + 2]
    mine.copy_(own(device, 2))
    dist.all_gather_into_tensor(in_place, mine)
    pairs = [empties(device, 1, 2) + empties(device, 1, 3) for _ in range(ranks)]
    dist.all_gather_coalesced(pairs, [own(device, 2), own(device, 3)])
    return [*listed, flat, chunks, in_place, *itertools.chain(*pairs)]


@case
def reduce_scatter_of_each_form(device, rank, ranks):
    a, b = empties(device, 2, 3)
    dist.reduce_scatter(a, [own(device, 3) * i for i in range(ranks)])
    dist.reduce_scatter_tensor(b, own(device, 3 * ranks))
    return [a, b]


@case
def all_to_all_of_each_form(device, rank, ranks):
    listed, flat = empties(device, ranks, 2), torch.zeros(2 * ranks, device=device)
    dist.all_to_all(listed, list(own(device, 2 * ranks).chunk(ranks)))
    dist.all_to_all_single(flat, own(device, 2 * ranks))
    return [*listed, flat]


@case
def gather_and_scatter(device, rank, ranks):
    parts = empties(device, ranks, 2) if rank == 0 else None
    dist.gather(own(device, 2), parts, 0)
    mine = torch.zeros(2, device=device)
    dist.scatter(
        mine, [own(device, 2) * i for i in range(ranks)] if rank == 0 else None, 0
    )
    dist.barrier()
    return [*(parts or []), mine]


@case
def send_and_receive(device, rank, ranks):
    ring, any_source = empties(device, 2, 3)
    ops = [
        dist.P2POp(dist.isend, own(device, 3), (rank + 1) % ranks),
        dist.P2POp(dist.irecv, ring, (rank - 1) % ranks),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    if rank == 1:
        assert dist.recv(any_source) == 0
    elif rank == 0:
        dist.send(own(device, 3), 1)
    halo = torch.zeros(4, device=device)
    received = dist.irecv(halo[:2], (rank - 1) % ranks)
    dist.send(own(device, 2), (rank + 1) % ranks)
    received.wait()
    return [ring, any_source, halo]


@case
def asynchronous_calls(device, rank, ranks):
    x, y, z = (own(device, 3) for _ in range(3))
    work = dist.all_reduce(x, async_op=True)
    assert work.wait() and work.is_completed() and work.is_success()
    future = dist.all_reduce(y, async_op=True).get_future()
    future.wait()
    (value,) = future.value()
    assert value.device == y.device
    then = dist.all_reduce(z, async_op=True).get_future()
    doubled = then.then(lambda done: done.value()[0] * 2).wait()
    polled = own(device, 3)
    work = dist.all_reduce(polled, async_op=True)
    while not work.is_completed():
        pass
    (result,) = work.result()
    return [x, y, value, z, doubled, polled, result]


@case
def groups(device, rank, ranks):
    x, y = own(device, 3), own(device, 3)
    first, everybody = dist.new_group([0]), dist.new_group(list(range(ranks)))
    if rank == 0:
        dist.all_reduce(x, group=first)
    dist.all_reduce(y, group=everybody)
    return [x, y]


@case
def objects(device, rank, ranks):
    gathered = [None] * ranks
    dist.all_gather_object(gathered, {"x": own(device, 2)})
    sent = [own(device, 2)] if rank == 0 else [None]
    dist.broadcast_object_list(sent, 0)
    assert sent[0].device.type == device
    return [each["x"] for each in gathered] + sent


@case
def functional_forms(device, rank, ranks):
    world = dist.group.WORLD
    x = own(device, 2 * ranks)
    results = [
        functional.all_reduce(x, "sum", world),
        functional.all_reduce(x, "avg", world),
        functional.all_gather_tensor(x, 0, world),
        functional.all_gather_tensor(x.view(2, ranks), 1, world),
        functional.reduce_scatter_tensor(x, "sum", 0, world),
        functional.all_to_all_single(x, None, None, world),
        functional.broadcast(x, 1, world),
        *functional.all_reduce_coalesced([x, x + 1], "sum", world),
        *functional.all_gather_into_tensor_coalesced([x, x + 1], world),
    ]
    written = own(device, 3)
    ops = torch.ops._c10d_functional
    ops.wait_tensor(ops.all_reduce_(written, "sum", world.group_name))
    return [result + 0 for result in results] + [x, written]


@case
def functional_messages(device, rank, ranks):
    ops, name = torch.ops._c10d_functional, dist.group.WORLD.group_name
    following, before = (rank + 1) % ranks, (rank - 1) % ranks
    one, two = empties(device, 2, 3)
    sent = ops.isend(own(device, 3), following, 0, name)
    received = ops.irecv(one, before, 0, name)
    both = ops.batch_p2p_ops(
        ["isend", "irecv"], [following, before], [1, 1], [own(device, 3) * 2, two], name
    )
    for tensor in [sent, received, *both]:
        ops.wait_tensor(tensor)
    return [one, two, received + 0, both[1] + 0]


@case
def gradients_through_collectives(device, rank, ranks):
    x, y = own(device, 3).requires_grad_(), own(device, 3).requires_grad_()
    differentiable.all_reduce(x * 2).pow(2).sum().backward()
    gathered = functional.all_gather_tensor_autograd(y * 2, 0, dist.group.WORLD)
    gathered.pow(2).sum().backward()
    return [x.grad, y.grad]
