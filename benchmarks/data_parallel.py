# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time DistributedDataParallel on lazy beside eager's, in the same processes.

    torchrun --nproc-per-node=2 benchmarks/data_parallel.py --workload gpt-train

Each process has one thread. Rounds of the contenders take turns; a ratio is of a
round to eager's beside it, and the median is told with its quartiles. With
``--inductor`` there is a third: torch.compile of the wrapped model, which cuts its
graphs at the buckets, and of the optimizer's step. Of the time from the begin to the
end of the sums, the part is told in which lazy's queue did not wait for them.
delayed_links.py runs this over links that delay.
"""

import argparse
import statistics
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from workloads.gpt import GptTrain
from workloads.resnet import ResNetTrain

WORKLOADS = {workload.name: workload for workload in (GptTrain, ResNetTrain)}


class Trainer:
    """A workload's model and batches of a contender, in data parallel."""

    def __init__(self, workload, contender, size):
        device = "lazy" if contender == "lazy" else "cpu"
        torch.manual_seed(0)
        self.workload = workload.__new__(workload)  # without a contender
        self.workload.build(**workload.sizes[size])
        torch.manual_seed(dist.get_rank())
        self.batches = [
            [part.to(device) for part in batch] for batch in self.workload.batches
        ]
        self.model = DistributedDataParallel(self.workload.model.to(device))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.workload.model, self.update = self.model, self.optimizer.step
        if contender == "inductor":
            self.workload.model = torch.compile(self.model)
            self.update = torch.compile(self.update)

    def step(self, number):
        x, y = self.batches[number % len(self.batches)]
        self.optimizer.zero_grad()
        loss = self.workload.loss(x, y)
        loss.backward()
        self.update()
        return loss.detach()

    def round(self, steps):
        """Return the wall and the processor time of a step, in ms, and the loss."""
        dist.barrier()
        wall, processor = time.perf_counter(), time.process_time()
        for number in range(steps):
            loss = self.step(number)
        value = loss.item()
        dist.barrier()
        scale = 1e3 / steps
        return (
            scale * (time.perf_counter() - wall),
            scale * (time.process_time() - processor),
            value,
        )


class Hidden:
    """What share of the time of lazy's sums is hidden, in each round."""

    def __init__(self):
        self.shares = []
        self.before = self._times()

    @staticmethod
    def _times():
        metrics = torch.lazy.metrics()
        names = "collective_microseconds", "collective_wait_microseconds"
        return [metrics.get(f"execute.{name}", 0) for name in names]

    def end_round(self):
        """Note the share since the last round."""
        now = self._times()
        took, waited = (b - a for a, b in zip(self.before, now, strict=True))
        self.before = now
        self.shares.append(1 - waited / max(took, 1))


def quartiles(values):
    return "{:.2f} ({:.2f} to {:.2f})".format(
        statistics.median(values), *statistics.quantiles(values, n=4)[::2]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=WORKLOADS, default="gpt-train")
    parser.add_argument("--size", default="full", help="or small, to try the program")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=8, help="in a round")
    parser.add_argument("--inductor", action="store_true", help="time it as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group()
    trainers = {
        name: Trainer(WORKLOADS[options.workload], name, options.size)
        for name in ("eager", "lazy", *(["inductor"] if options.inductor else []))
    }
    for trainer in trainers.values():
        trainer.round(4)
    rounds, hidden = [], Hidden()
    for _ in range(options.rounds):
        rounds.append({n: t.round(options.steps) for n, t in trainers.items()})
        hidden.end_round()
    if dist.get_rank() == 0:
        print(f"{options.workload}, {dist.get_world_size()} ranks, rank 0:")
        for i, clock in enumerate(("wall", "processor")):
            for name in trainers:
                times = [each[name][i] for each in rounds]
                print(f"  {clock} ms a step, {name}: {quartiles(times)}")
            for name in list(trainers)[1:]:
                ratios = [each[name][i] / each["eager"][i] for each in rounds]
                print(f"  {clock}, {name} / eager: {quartiles(ratios)}")
        print(f"  share of lazy's sums that is hidden: {quartiles(hidden.shares)}")
        losses = [f"{each[2]:.6f}" for each in rounds[-1].values()]
        print(f"  last losses: {' '.join(losses)}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
