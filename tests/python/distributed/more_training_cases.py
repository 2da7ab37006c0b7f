# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of data parallel training, and what else trains on several ranks."""

import io
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from networks import Gpt, adamw, batch, loss_of, mlp, sgd, train, whole
from torch import nn
from torch.distributed import checkpoint
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)
from torch.nn.parallel import DistributedDataParallel

SIXTEEN_BITS = ("mixed_precision", "autocast_and_clipping", "fp16_hook")
CASES = {}


def tolerance(name):
    if name in SIXTEEN_BITS:
        return {"rtol": 2e-2, "atol": 2e-2}
    return {"rtol": 2e-5, "atol": 2e-6}


def case(run):
    CASES[run.__name__] = run
    return run


def mesh(device):
    return init_device_mesh(device, (dist.get_world_size(),))


@case
def a_saved_dtensor(device):
    """What PyTorch writes of it is the wrapper, and the part that it wraps."""
    rows = 2 * dist.get_world_size()
    values = torch.arange(3.0 * rows).reshape(rows, 3)
    file = io.BytesIO()
    placed = distribute_tensor(values.to(device), mesh(device), [Shard(0)])
    torch.save({"weight": placed, "part": placed.to_local()}, file)
    file.seek(0)
    read = torch.load(file, weights_only=True)
    assert read["weight"].placements == (Shard(0),)
    assert read["weight"].device.type == device
    return [read["weight"].full_tensor(), read["part"]]


@case
def static_graph(device):
    model = DistributedDataParallel(mlp().to(device), static_graph=True)
    return train(model, mlp, device)


class Either(nn.Module):
    """Two layers, of which a step uses one."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.parts = nn.ModuleList([nn.Linear(8, 4), nn.Linear(8, 4)])

    def forward(self, x, which):
        return self.parts[which](x)


@case
def unused_parameters(device):
    model = DistributedDataParallel(Either().to(device), find_unused_parameters=True)
    optimizer = sgd(model)
    for step, which in enumerate((0, 1, dist.get_rank() % 2)):
        x, labels = batch(mlp, step, dist.get_rank(), device)
        optimizer.zero_grad()
        F.cross_entropy(model(x, which), labels).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


@case
def accumulation(device):
    model = DistributedDataParallel(mlp().to(device))
    optimizer = sgd(model)
    for step in range(3):
        optimizer.zero_grad()
        with model.no_sync():
            loss_of(model, mlp, 2 * step, device).backward()
        loss_of(model, mlp, 2 * step + 1, device).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


@case
def uneven_ends(device):
    model = DistributedDataParallel(mlp().to(device))
    optimizer = sgd(model)
    with model.join():
        for step in range(2 + dist.get_rank()):
            optimizer.zero_grad()
            loss_of(model, mlp, step, device).backward()
            optimizer.step()
    return [p.detach() for p in model.parameters()]


@case
def autocast_and_clipping(device):
    model = DistributedDataParallel(mlp().to(device))
    optimizer = sgd(model)
    for step in range(3):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = loss_of(model, mlp, step, device)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def _train_with_hook(device, state, hook):
    model = DistributedDataParallel(mlp().to(device))
    model.register_comm_hook(state, hook)
    return train(model, mlp, device)


@case
def fp16_hook(device):
    return _train_with_hook(device, None, default_hooks.fp16_compress_hook)


@case
def power_sgd_hook(device):
    torch.manual_seed(1)
    state = powerSGD_hook.PowerSGDState(
        None,
        matrix_approximation_rank=1,
        start_powerSGD_iter=2,
        min_compression_rate=0.5,
    )
    return _train_with_hook(device, state, powerSGD_hook.powerSGD_hook)


@case
def hook_of_the_program(device):
    def average(state, bucket):
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda f: f.value()[0] / dist.get_world_size())

    return _train_with_hook(device, None, average)


@case
def zero_redundancy(device):
    model = DistributedDataParallel(mlp().to(device))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-2)
    return train(model, mlp, device, optimizer)


@case
def mixed_precision(device):
    model = mlp().to(device)
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32
    )
    fully_shard(model, mesh=mesh(device), mp_policy=policy)
    return train(model, mlp, device)


@case
def offloaded(device):
    """Parameters and optimizer are on the CPU between the steps."""
    model = mlp().to(device)
    policy = CPUOffloadPolicy(pin_memory=device != "cpu")  # that needs another device
    fully_shard(model, mesh=mesh(device), offload_policy=policy)
    found = train(model, mlp, device, adamw(model))
    assert {p.device.type for p in model.parameters()} == {"cpu"}
    assert {p.grad.device.type for p in model.parameters()} == {"cpu"}
    return found


@case
def inputs_of_a_sharded_root(device):
    """They go to its device, in a tuple and by name too; so do all that it has."""

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = mlp()
            self.register_buffer("shift", torch.tensor(0.5))

        def forward(self, pair, *, scale):
            assert {t.device.type for t in (*pair, scale, self.shift)} == {device}
            return self.inner(pair[0] + pair[1]) * scale + self.shift

    model = Sum()
    fully_shard(model.inner, mesh=mesh(device))
    fully_shard(model, mesh=mesh(device))
    x, _ = batch(mlp, 0, dist.get_rank(), "cpu")
    loss = model((x, x), scale=torch.tensor(3.0)).square().mean()
    loss.backward()
    return [loss.detach(), *(whole(p.grad) for p in model.parameters())]


@case
def device_of_each_rank(device):
    """As scripts for a GPU a rank have it, which leave moving the batch to it, too."""
    ids = [dist.get_rank()] if device == "lazy" else None
    model = DistributedDataParallel(mlp().to(device), device_ids=ids)
    x, _ = batch(mlp, 0, dist.get_rank(), "cpu")
    loss = model(x).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


@case
def gathered_too_early(device):
    """The first layer's backward gathers the last one again, and nobody uses it."""
    model = mlp().to(device)
    layers = [layer for layer in model if [*layer.parameters()]]
    for layer in layers:
        fully_shard(layer)
    fully_shard(model)
    layers[0].set_modules_to_backward_prefetch([layers[-1]])
    return train(model, mlp, device)


@case
def saved_and_loaded(device):
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder, 0)

    def make():
        model = mlp().to(device)
        fully_shard(model, mesh=mesh(device))
        return model, adamw(model)

    def state_of(model, optimizer):
        parts = get_state_dict(model, optimizer)
        return {"model": parts[0], "optimizer": parts[1]}

    model, optimizer = make()
    train(model, mlp, device, optimizer)
    checkpoint.save(state_of(model, optimizer), checkpoint_id=folder[0])
    model, optimizer = make()
    state = state_of(model, optimizer)
    checkpoint.load(state, checkpoint_id=folder[0])
    set_state_dict(
        model,
        optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    return train(model, mlp, device, optimizer)


@case
def distributed_tensors(device):
    values = torch.arange(16.0).view(4, 4)
    x = distribute_tensor(values.to(device), mesh(device), [Shard(0)])
    w = distribute_tensor(values.to(device) / 7, mesh(device), [Shard(1)])
    w.requires_grad_()
    y = (x @ w).relu().redistribute(mesh(device), [Replicate()])
    y.sum().backward()
    local = DTensor.from_local(x.to_local() + 1, mesh(device), [Shard(0)])
    moved = x.redistribute(mesh(device), [Shard(1)]).to_local()
    return [y.to_local().detach(), whole(w.grad), whole(local.sum()), moved]


@case
def random_numbers(device):
    """Each part of a distributed tensor has its own, and all copies have the same.

    PyTorch's are alike in all parts on the CPU, so lazy's are compared with none.
    """
    if device == "cpu":
        return [torch.ones(6, dtype=torch.bool)]
    torch.manual_seed(7)
    on = mesh(device)
    x = torch.ones(4 * dist.get_world_size(), 3, device=device)
    parts = torch.nn.init.normal_(distribute_tensor(x, on, [Shard(0)]))
    kept = F.dropout(distribute_tensor(x, on, [Shard(0)]), 0.5).to_local()
    copies = F.dropout(distribute_tensor(x, on, [Replicate()]), 0.5).to_local()
    drawn = [torch.empty_like(copies.cpu()) for _ in range(dist.get_world_size())]
    dist.all_gather(drawn, copies.cpu())
    after = [torch.empty(2) for _ in drawn]
    dist.all_gather(after, torch.rand(2))
    every, masks = parts.full_tensor(), DTensor.from_local(kept, on, [Shard(0)])
    first, second = masks.full_tensor().chunk(2)[:2]
    halves = DTensor.from_local(torch.ones(9, 3, device=device), on, [Partial()])
    of_sum = F.dropout(halves, 0.5).full_tensor()
    found = (
        {*of_sum.flatten().tolist()} == {0.0, 2.0 * dist.get_world_size()},
        every.unique().numel() == every.numel(),
        not torch.equal(first, second),
        {*kept.flatten().tolist()} == {0.0, 2.0},
        all(torch.equal(each, drawn[0]) for each in drawn),
        all(torch.equal(each, after[0]) for each in after),
    )
    return [torch.tensor(found)]


@case
def pipeline(device):
    rank = dist.get_rank()
    model = mlp().to(device)
    half = model[:2] if rank == 0 else model[2:]
    stage = PipelineStage(half, rank, dist.get_world_size(), torch.device(device))
    schedule = ScheduleGPipe(stage, 2, loss_fn=F.cross_entropy)
    x, labels = batch(mlp, 0, 0, device)
    schedule.step(*[x] if rank == 0 else [], **{"target": labels} if rank else {})
    return [p.grad for p in half.parameters()]


@case
def mixed_lists_of_parameters(device):
    """One that is distributed beside others, in the optimizer's lists."""
    model = Gpt().to(device)
    fully_shard(model.head, mesh=mesh(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return train(model, Gpt, device, optimizer, rank=0)
