# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipeline schedules, and sequences split over ranks: gradients as on cpu."""

import itertools

import torch
import torch.distributed as dist
import torch.nn.functional as F
from networks import batch, mlp, train, whole
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, schedules
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

CASES = {}


def tolerance(name):
    if name == "bf16_hook":
        return {"rtol": 2e-2, "atol": 2e-2}
    return {"rtol": 2e-5, "atol": 2e-6}


def case(run):
    CASES[run.__name__] = run
    return run


def _stages(device, count):
    """Return this rank's of so many stages of one network, rank after rank."""
    torch.manual_seed(0)
    ranks, rank = dist.get_world_size(), dist.get_rank()
    widths = [8, *[16] * (count - 1), 4]
    parts = [
        nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in itertools.pairwise(widths)
    ]
    mine = [i for i in range(count) if i % ranks == rank]
    return [
        PipelineStage(parts[i].to(device), i, count, torch.device(device)) for i in mine
    ]


def _run_pipeline(device, schedule, stages):
    """Return the gradients of the stages, and the losses where they are."""
    x, labels = batch(mlp, 0, 0, device)
    x, labels = x.repeat(4, 1), labels.repeat(4)
    first = any(stage.is_first for stage in stages)
    last = any(stage.is_last for stage in stages)
    losses = []
    for _ in range(2):
        schedule.step(
            *[x] if first else [],
            **{"target": labels, "losses": losses} if last else {},
        )
    gradients = [p.grad for stage in stages for p in stage.submod.parameters()]
    return [*gradients, *(loss.detach() for loss in losses)]


@case
def one_forward_one_backward(device):
    stages = _stages(device, dist.get_world_size())
    schedule = schedules.Schedule1F1B(stages[0], 4, loss_fn=F.cross_entropy)
    return _run_pipeline(device, schedule, stages)


@case
def interleaved(device):
    stages = _stages(device, 2 * dist.get_world_size())
    schedule = schedules.ScheduleInterleaved1F1B(stages, 4, loss_fn=F.cross_entropy)
    return _run_pipeline(device, schedule, stages)


@case
def zero_bubble(device):
    stages = _stages(device, 2 * dist.get_world_size())
    schedule = schedules.ScheduleInterleavedZeroBubble(
        stages, 4, loss_fn=F.cross_entropy
    )
    return _run_pipeline(device, schedule, stages)


class Feed(nn.Module):
    """A norm and an MLP, over a sequence."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm = nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        return self.down(F.gelu(self.up(self.norm(x))))


def _sequence(ranks):
    drawn = torch.Generator().manual_seed(0)
    return torch.randn(2, 4 * ranks, 16, generator=drawn)


@case
def sequence_parallel(device):
    """Each rank has its part of the sequence where the heads are not split."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    model = Feed().to(device)
    parallelize_module(
        model,
        init_device_mesh(device, (ranks,)),
        {
            "norm": SequenceParallel(),
            "up": ColwiseParallel(input_layouts=Shard(1)),
            "down": RowwiseParallel(output_layouts=Shard(1)),
        },
    )
    x = _sequence(ranks)
    mine = x.chunk(ranks, dim=1)[rank].to(device).requires_grad_()
    y = model(mine)
    y.pow(2).sum().backward()
    return [y.detach(), mine.grad, *(whole(p.grad) for p in model.parameters())]


@case
def whole_output_of_a_sequence(device):
    ranks = dist.get_world_size()
    model, mesh = Feed().to(device), init_device_mesh(device, (ranks,))
    parallelize_module(
        model,
        mesh,
        {
            "up": ColwiseParallel(),
            "down": RowwiseParallel(output_layouts=Shard(1)),
        },
    )
    parallelize_module(
        model,
        mesh,
        PrepareModuleOutput(
            output_layouts=Shard(1), desired_output_layouts=Replicate()
        ),
    )
    y = model(_sequence(ranks).to(device))
    y.pow(2).sum().backward()
    return [y.detach(), *(whole(p.grad) for p in model.parameters())]


@case
def bf16_hook(device):
    """PyTorch has it for no CPU tensors: there, the gradients stay in 32 bits."""
    model = DistributedDataParallel(mlp().to(device))
    if device != "cpu":
        model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    return train(model, mlp, device)
