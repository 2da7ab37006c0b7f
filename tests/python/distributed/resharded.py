# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sharded model that some ranks save and others load: prints a sum of it.

... resharded.py DIRECTORY save    # or load
"""

import sys

import torch
import torch.distributed as dist
from networks import Gpt, adamw, loss_of, whole
from torch.distributed import checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def train(model, optimizer, step):
    """Train on the batch of rank 0, so that the number of ranks makes no difference."""
    optimizer.zero_grad()
    loss_of(model, Gpt, step, "lazy", 0).backward()
    optimizer.step()


def main(folder, action):
    dist.init_process_group()
    mesh = init_device_mesh("lazy", (dist.get_world_size(),))
    model = Gpt().to("lazy")
    fully_shard(model, mesh=mesh)
    optimizer = adamw(model)
    if action == "save":
        train(model, optimizer, 0)
    parts = get_state_dict(model, optimizer)
    state = {"model": parts[0], "optimizer": parts[1]}
    if action == "save":
        checkpoint.save(state, checkpoint_id=folder)
    else:
        checkpoint.load(state, checkpoint_id=folder)
        set_state_dict(
            model,
            optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
    train(model, optimizer, 1)
    values = [whole(p).double().abs().sum() for p in model.parameters()]
    if dist.get_rank() == 0:
        print("sum", torch.stack(values).sum().item(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
