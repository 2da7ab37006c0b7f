# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two ranks that do not do the same: each says what became of its call.

A case has a process group of its own, so that one start serves all.
"""

import json
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

CASES = {}
# Of a group; what differs has to be told sooner.
TIMEOUT = 20
SHORT = 3


def case(run):
    CASES[run.__name__] = run
    return run


@case
def another_op(rank, x, group):
    if rank == 0:
        dist.all_reduce(x, group=group)
    else:
        dist.broadcast(x, 1, group=group)


@case
def another_shape(rank, x, group):
    dist.all_reduce(x if rank == 0 else x[:2] + 1, group=group)


@case
def another_dtype(rank, x, group):
    dist.all_reduce(x if rank == 0 else x.int(), group=group)


@case
def another_reduction(rank, x, group):
    dist.all_reduce(x, (dist.ReduceOp.SUM, dist.ReduceOp.MAX)[rank], group=group)


@case
def another_order(rank, x, group):
    y = torch.ones(3, 2, device="lazy")
    for part in (x, y) if rank == 0 else (y, x):
        dist.all_reduce(part, group=group)


@case
def another_message(rank, x, group):
    if rank == 0:
        dist.send(x, 1, group=group, tag=3)
    else:
        dist.recv(torch.empty(2, device="lazy"), 0, group=group, tag=3)


@case
def seen_in_the_future(rank, x, group):
    y = x if rank == 0 else x[:2] + 1
    dist.all_reduce(y, group=group, async_op=True).get_future().wait()


@case
def known_calls(rank, x, group):
    """Both have been made before, so that graphs begin them and wait for them."""
    y = torch.ones(2, 4, device="lazy")
    for _ in range(2):
        dist.all_reduce(x, group=group)
        dist.all_reduce(y, group=group)
    (x + y).cpu()
    for part in (x, y) if rank == 0 else (y, x):
        dist.all_reduce(part, group=group)


@case
def behind(rank, x, group):
    if rank == 1:
        time.sleep(SHORT + 2)
    dist.all_reduce(x, group=group)


@case
def late_to_the_barrier(rank, x, group):
    if rank == 1:
        time.sleep(SHORT)
    dist.monitored_barrier(group, timeout=timedelta(seconds=1))


def run(name, rank):
    """Return the kind of error, its words, and how long it took to come."""
    seconds = SHORT if name == "behind" else TIMEOUT
    group = dist.new_group(timeout=timedelta(seconds=seconds))
    x = torch.ones(4, device="lazy")
    dist.all_reduce(x, group=group)
    began = time.monotonic()
    try:
        CASES[name](rank, x, group)
        x.cpu()
    except Exception as error:
        return [type(error).__name__, str(error), time.monotonic() - began]
    return ["", "nothing was wrong", time.monotonic() - began]


def main(folder):
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank, told = dist.get_rank(), {}
    for name in CASES:
        told[name] = run(name, rank)
        dist.barrier()
    Path(folder, f"{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
