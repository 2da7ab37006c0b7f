# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A script of torch_xla."""

import torch
import torch.nn.functional as F
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_multiprocessing as xmp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def _mp_fn(index, flags):
    torch.manual_seed(flags["seed"])
    device = xm.xla_device()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
    loader = DataLoader(data, batch_size=16)
    device_loader = pl.MpDeviceLoader(loader, device)

    for epoch in range(2):
        for step, (x, y) in enumerate(device_loader):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            xm.optimizer_step(optimizer)
            if step % 2 == 0:
                xm.add_step_closure(report, args=(epoch, step, loss))
        xm.mark_step()
        xm.master_print(f"epoch {epoch} done by {xm.get_ordinal()}", flush=True)
    xm.rendezvous("end")


def report(epoch, step, loss):
    """Print a loss."""
    print(epoch, step, f"{loss.item():.4f}")


if __name__ == "__main__":
    xmp.spawn(_mp_fn, args=({"seed": 10},), nprocs=1)
