# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts for several devices carry along, run by one process."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

rank = int(os.environ.get("RANK", 0))
local_rank = int(os.environ.get("LOCAL_RANK", 0))
world_size = int(os.environ.get("WORLD_SIZE", 1))


def is_main():
    """Whether this process prints and saves."""
    return rank == 0


def pick_device():
    """Return the device of this process."""
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        return torch.device(f"cuda:{local_rank}")
    return torch.device(f"lazy:{local_rank}")


def main():
    """Train on this process's share."""
    torch.manual_seed(7)
    device = pick_device()
    model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 1)).to(device)
    if world_size > 1:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    data = TensorDataset(torch.randn(48, 6), torch.randn(48, 1))
    sampler = DistributedSampler(data, num_replicas=world_size, rank=rank)
    loader = DataLoader(data, batch_size=12, sampler=sampler)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.mse_loss(
                model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.lazy.mark_step()
        if is_main():
            print(f"epoch {epoch}: {loss.item():.4f}")
    torch.lazy.synchronize()


main()
