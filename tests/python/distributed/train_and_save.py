# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that goes on from its checkpoint, and prints the loss of each step.

... train_and_save.py FILE [--end STEP] [--pause SECONDS] [--timeout SECONDS]
"""

import argparse
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument(
        "--end", type=int, help="rank 1 ends in this step of a first start"
    )
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--pause", type=float, default=0, help="after each step")
    parser.add_argument("--timeout", type=float, default=60)
    return parser.parse_args()


def main():
    options = parse()
    dist.init_process_group(timeout=timedelta(seconds=options.timeout))
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4).to("lazy")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    first = 0
    if os.path.exists(options.file):
        saved = torch.load(options.file)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    parallel = DistributedDataParallel(model)
    for step in range(first, options.steps):
        if rank == 1 and step == options.end and first == 0:
            os._exit(7)
        optimizer.zero_grad()
        x = torch.full((2, 4), 1.0 + step + rank, device="lazy")
        loss = parallel(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print("loss", step, loss.item(), flush=True)
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step + 1}, options.file + ".new")
            os.replace(options.file + ".new", options.file)
        dist.barrier()
        time.sleep(options.pause)
    print("finished", flush=True)


if __name__ == "__main__":
    main()
