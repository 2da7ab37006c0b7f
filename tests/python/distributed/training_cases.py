# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main ways to train on several ranks: losses and parameters as on cpu."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from networks import Gpt, adamw, batch, cnn, mlp, sgd, train
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

CASES = {}


def tolerance(name):
    return {"rtol": 2e-5, "atol": 2e-6}


def case(run):
    CASES[run.__name__] = run
    return run


@case
def data_parallel(device):
    model = DistributedDataParallel(mlp().to(device), bucket_cap_mb=0.0005)
    return train(model, mlp, device, adamw(model))


@case
def data_parallel_gpt_in_bucket_views(device):
    model = Gpt().to(device)
    parallel = DistributedDataParallel(model, gradient_as_bucket_view=True)
    return train(parallel, Gpt, device)


@case
def synchronized_batch_norm(device):
    """PyTorch has none for the CPU: there, one process sees all ranks' images."""
    ranks = dist.get_world_size()
    model = cnn().to(device)
    if device != "cpu":
        model = DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(model))
        found = train(model, cnn, device)
        norm = model.module[1]
        return [*found, norm.running_mean, norm.running_var]
    optimizer, losses = sgd(model), []
    for step in range(3):
        parts = [batch(cnn, step, rank, device) for rank in range(ranks)]
        optimizer.zero_grad()
        results = model(torch.cat([x for x, _ in parts])).chunk(ranks)
        each = [
            F.cross_entropy(y, labels)
            for y, (_, labels) in zip(results, parts, strict=True)
        ]
        torch.stack(each).mean().backward()
        optimizer.step()
        losses.append(each[dist.get_rank()].detach())
    means = model[1].running_mean, model[1].running_var
    return [torch.stack(losses), *(p.detach() for p in model.parameters()), *means]


@case
def fully_sharded(device):
    """Over all ranks, since it is given no mesh."""
    model = Gpt().to(device)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return train(model, Gpt, device)


@case
def tensor_parallel(device):
    model, mesh = Gpt().to(device), init_device_mesh(device, (dist.get_world_size(),))
    columns, rows = ("q", "k", "v", "up"), ("out", "down")
    plan = {name: ColwiseParallel() for name in columns}
    plan |= {name: RowwiseParallel() for name in rows}
    for block in model.blocks:
        parallelize_module(block, mesh, dict(plan))
    return train(model, Gpt, device, rank=0)
