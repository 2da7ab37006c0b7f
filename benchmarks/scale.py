# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Say how far data parallel training scales: replay a recorded step's collectives.

    torchrun --nproc-per-node=2 benchmarks/scale.py record step.json
    python benchmarks/scale.py replay step.json --ranks 1024 --gbit 100

``record`` trains a workload of data_parallel.py, and writes down when each bucket of
gradients was ready and summed, and how long sums of other sizes take on this link.
``replay`` checks the model below with the recorded ranks, and goes to more.

The model. A sum of b bytes over n ranks takes, with a latency l and w bytes a second,

    ring  2 (n - 1) (l + b / (n w))           each rank sends to the next
    tree  2 ceil(log2 n) l + 2 b / w          up a tree and down again, in a pipeline

With several ranks on a node, these sum first among themselves over the node's own
link, then the nodes do. Sums run one after the other, each when its bucket is ready.
A rank takes its median time, and the slowest of n waits for nobody: the expected
largest of n normal deviates, of the spread that the recorded steps have.
"""

import argparse
import datetime
import json
import math
import statistics
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Link:
    """What messages travel over."""

    latency: float  # seconds
    bandwidth: float  # bytes a second


def ring(size, ranks, link):
    """Return the seconds that a sum of so many bytes takes."""
    return 2 * (ranks - 1) * (link.latency + size / ranks / link.bandwidth)


def tree(size, ranks, link):
    """Return the same along a binary tree."""
    if ranks == 1:
        return 0.0
    depth = math.ceil(math.log2(ranks))
    return 2 * depth * link.latency + 2 * size / link.bandwidth


@dataclass(frozen=True)
class Cluster:
    """Ranks on nodes, and how they sum."""

    inside: Link  # of a node
    between: Link  # nodes
    per_node: int
    topology: callable = ring

    def sum(self, size, ranks):
        """Return the seconds of a sum over the first so many ranks."""
        local = min(ranks, self.per_node)
        nodes = math.ceil(ranks / self.per_node)
        return ring(size, local, self.inside) + self.topology(size, nodes, self.between)


@dataclass(frozen=True)
class Step:
    """A rank's step: buckets in order, seconds from its start."""

    sizes: list  # bytes of each bucket
    ready: list  # when each began to be summed
    tail: float  # from the last sum to the end
    spread: float  # standard deviation of the time without sums

    @classmethod
    def of(cls, recorded):
        """Return the median of recorded steps."""
        steps = recorded["steps"]
        ready = zip(*([b for _, b, _ in s["buckets"]] for s in steps), strict=True)
        tails = [s["end"] - s["buckets"][-1][2] for s in steps]
        own = [s["buckets"][-1][1] + tail for s, tail in zip(steps, tails, strict=True)]
        low, _, high = statistics.quantiles(own, n=4)
        return cls(
            [size for size, _, _ in steps[0]["buckets"]],
            [statistics.median(times) for times in ready],
            statistics.median(tails),
            (high - low) / 1.349,  # quartiles of a normal distribution
        )

    def alone(self):
        """Return the seconds of a step without sums."""
        return self.ready[-1] + self.tail

    def replay(self, cluster, ranks, spread=None, share=1.0):
        """Return the seconds of a step of so many ranks, and those spent in sums.

        ``share`` is the part of the recorded batch that each rank has; the optimizer
        does not gain by it.
        """
        late = (self.spread if spread is None else spread) * largest_of(ranks)
        end = total = 0.0
        for size, ready in zip(self.sizes, self.ready, strict=True):
            took = cluster.sum(size, ranks)
            total += took
            end = max(end, ready * share + late) + took
        return end + self.tail, total


def largest_of(count):
    """Return the largest of so many normal deviates, as Blom expects it."""
    return statistics.NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def measured_link(sums, ranks):
    """Return the link over which sums of (bytes, seconds) took so long, in a ring."""
    (small, latency), (large, took) = sums[0], sums[-1]
    latency = latency / 2 / (ranks - 1)
    moved = 2 * (ranks - 1) / ranks * (large - small)
    return Link(latency, moved / (took - 2 * (ranks - 1) * latency))


def powers(most):
    """Return 1, 2, 4, ... and the last."""
    return [1 << i for i in range(most.bit_length()) if 1 << i < most] + [most]


def check(recorded, step, link):
    """Print the model beside what was recorded."""
    ranks = recorded["ranks"]
    print(
        f"{recorded['workload']} on {recorded['device']}, {ranks} ranks recorded: "
        f"{link.latency * 1e6:.0f} us, {link.bandwidth * 8e-9:.1f} Gbit/s"
    )
    for size, seconds in recorded["sums"]:
        model = ring(size, ranks, link)
        print(
            f"  sum of {size / 1024:8.0f} KiB: {seconds * 1e3:8.2f} ms, "
            f"model {model * 1e3:8.2f} ms"
        )
    measured = statistics.median(s["end"] for s in recorded["steps"])
    model, total = step.replay(Cluster(link, link, ranks), ranks)
    hidden = 1 - (measured - step.alone()) / total
    print(
        f"  step: {measured * 1e3:.1f} ms, model {model * 1e3:.1f} ms "
        f"({model / measured - 1:+.0%}); without sums {step.alone() * 1e3:.1f} ms; "
        f"{max(0, min(1, hidden)):.0%} of the sums' {total * 1e3:.1f} ms hidden"
    )


def replay(options):
    """Print how steps of more ranks would go."""
    recorded = json.loads(Path(options.file).read_text())
    step = Step.of(recorded)
    link = measured_link(recorded["sums"], recorded["ranks"])
    check(recorded, step, link)
    inside = Link(options.node_latency_us * 1e-6, options.node_gbit * 1.25e8)
    between = Link(options.latency_us * 1e-6, options.gbit * 1.25e8)
    spread = None if options.spread is None else options.spread * step.alone()
    print(
        f"nodes of {options.per_node}, {options.gbit:g} Gbit/s and "
        f"{options.latency_us:g} us between them, spread "
        f"{(step.spread if spread is None else spread) / step.alone():.1%} of a step"
    )
    for topology in ring, tree:
        cluster = Cluster(inside, between, options.per_node, topology)
        scale(step, cluster, options, spread)


def scale(step, cluster, options, spread):
    """Print one topology: a batch for each rank, and one batch shared by all."""
    name, counts = cluster.topology.__name__, powers(options.ranks)
    print(
        f"{name:>8} {'sums ms':>9} {'step ms':>9} {'efficiency':>11} {'shared ms':>10}"
    )
    efficiency, shared = {}, {}
    for ranks in counts:
        took, total = step.replay(cluster, ranks, spread)
        efficiency[ranks] = step.alone() / took
        shared[ranks], _ = step.replay(cluster, ranks, spread, 1 / ranks)
        print(
            f"{ranks:8} {total * 1e3:9.2f} {took * 1e3:9.1f} "
            f"{efficiency[ranks]:11.2f} {shared[ranks] * 1e3:10.1f}"
        )
    low = next((n for n in counts if efficiency[n] < options.efficiency), None)
    print(
        f"  {name}, a batch for each rank: efficiency "
        + (f"falls below {options.efficiency:g} at {low} ranks" if low else "holds")
        + f"; one batch shared: shortest at {min(shared, key=shared.get)} ranks"
    )


def record(options):
    """Train on the ranks of this process group, and write down the steps."""
    import torch
    import torch.distributed as dist
    from data_parallel import WORKLOADS, Trainer

    torch.set_num_threads(1)
    dist.init_process_group()
    trainer = Trainer(WORKLOADS[options.workload], options.device, options.size)
    buckets, start, watchers = [], 0.0, []

    def sum_bucket(state, bucket):
        buffer = bucket.buffer().div_(dist.get_world_size())
        wait_for_device()  # which may only have recorded it
        work = dist.all_reduce(buffer, async_op=True)
        entry = [buffer.nbytes, time.perf_counter() - start, None]
        buckets.append(entry)
        future = work.get_future()

        def watch():
            work.wait(datetime.timedelta(minutes=10))
            entry[2] = time.perf_counter() - start

        watchers.append(threading.Thread(target=watch))
        watchers[-1].start()
        return future.then(lambda done: done.value()[0])

    def wait_for_device():
        if options.device == "lazy":
            torch.lazy.synchronize()

    trainer.model.register_comm_hook(None, sum_bucket)
    trainer.round(4)
    steps = []
    for number in range(options.steps):
        dist.barrier()
        buckets, start = [], time.perf_counter()
        trainer.step(number).item()
        wait_for_device()
        while watchers:
            watchers.pop().join()
        steps.append({"buckets": buckets, "end": time.perf_counter() - start})
    sums = [time_sum(1 << bits, options) for bits in range(10, 25, 2)]
    if dist.get_rank() == 0:
        found = {
            "workload": options.workload,
            "device": options.device,
            "ranks": dist.get_world_size(),
            "steps": steps,
            "sums": sums,
        }
        Path(options.file).write_text(json.dumps(found))
    dist.destroy_process_group()


def time_sum(size, options):
    """Return the bytes and the median seconds of a sum of CPU tensors."""
    import torch
    import torch.distributed as dist

    x, times = torch.zeros(size // 4), []
    for _ in range(options.steps):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(x)
        times.append(time.perf_counter() - start)
    return size, statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("record", help="under torchrun")
    command.set_defaults(run=record)
    command.add_argument("file")
    command.add_argument("--workload", default="gpt-train")
    command.add_argument("--size", default="full", help="or small")
    command.add_argument("--device", default="lazy")
    command.add_argument("--steps", type=int, default=20)
    command = commands.add_parser("replay")
    command.set_defaults(run=replay)
    command.add_argument("file")
    command.add_argument("--ranks", type=int, default=1024)
    command.add_argument("--per-node", type=int, default=8)
    command.add_argument("--gbit", type=float, default=100, help="between nodes")
    command.add_argument("--latency-us", type=float, default=20)
    command.add_argument("--node-gbit", type=float, default=100, help="inside a node")
    command.add_argument("--node-latency-us", type=float, default=20)
    command.add_argument("--efficiency", type=float, default=0.8, help="to look for")
    command.add_argument("--spread", type=float, help="of a step, not the recorded")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
