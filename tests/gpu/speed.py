# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of lazy and of eager steps on one GPU, and whether their values agree.

    python speed.py RESULTS.json [NAME ...] [--eager cuda] [--compiled] [--seconds 100]

Each workload (workloads.py) is run for a few blocks of steps, lazy and eager in turns.
A row has the medians, their ratio and the one that is wanted, the bytes that have to
move a second, the first step's seconds over eager's, the peak memory's ratio, and what
a step did: graphs launched, and library calls on the GPU and on the host. It ends by
itself after so many seconds, with the rows it has by then.
"""

import argparse
import gc
import json
import statistics
import time

import torch
import torch_ltc
from workloads import WANTED

BLOCKS = 5
HEAD = "  lazy ms  eager ms  ratio (wanted)  GB/s  first s  memory  a lazy step"


def synchronize(device):
    """Wait for a device."""
    if device == "lazy":
        torch.lazy.mark_step()
        torch.lazy.synchronize()
    elif device != "cpu":
        torch.accelerator.synchronize()


def counted():
    """Return what the device and the host have done so far."""
    done = torch.lazy.get_device_properties().statistics
    host = torch_ltc.metrics.snapshot().get("execute.host_calls", 0)
    return {
        "graphs": done.get("graphs", 0),
        "launches": done.get("launches", 0),
        "calls": done.get("calls", 0),
        "host calls": host,
    }


class Peak:
    """The most bytes that were in use since it was made."""

    def __init__(self, device):
        self.of = {"lazy": torch.lazy, "cuda": torch.cuda}.get(device)
        if self.of:
            self.of.reset_peak_memory_stats()
            self.before = self.of.memory_allocated()

    def bytes(self):
        """Return them, or None where nobody counts."""
        return self.of and self.of.max_memory_allocated() - self.before


class Runner:
    """One workload on one device."""

    def __init__(self, workload, device, small, compiled=False):
        torch.manual_seed(0)
        self.device = device
        self.peak = Peak(device)
        self.step, self.bytes = workload(device, small)
        if compiled:
            torch._dynamo.reset()
            self.step = torch.compile(self.step)
        begin = time.perf_counter()
        self.first = self.step().float().cpu()
        self.cold = time.perf_counter() - begin
        self.block(4)  # from the third on steps are graphs
        took = max(self.block(2), 1e-5)
        self.steps = 1 if small else max(1, min(50, int(0.2 / took)))
        self.used = self.peak.bytes()
        self.seconds = []

    def block(self, steps):
        """Return the seconds of one step, of so many."""
        synchronize(self.device)
        begin = time.perf_counter()
        for _ in range(steps):
            result = self.step()
            if self.device == "lazy":
                torch.lazy.mark_step()
            del result  # until here lazy must compute it
        synchronize(self.device)
        return (time.perf_counter() - begin) / steps

    def does(self):
        """Return what one step has the device do."""
        before = counted()
        self.block(1)
        return {name: count - before[name] for name, count in counted().items()}


def measure(workload, options):
    """Return a row on one workload."""
    lazy = Runner(workload, "lazy", options.small)
    other = Runner(workload, options.eager, options.small)
    runners = {"lazy": lazy, "eager": other}
    if options.compiled:
        runners["compiled"] = Runner(workload, options.eager, options.small, True)
    torch.testing.assert_close(lazy.first, other.first, rtol=2e-2, atol=1e-2)
    for _ in range(BLOCKS):
        for runner in runners.values():
            runner.seconds.append(runner.block(runner.steps))
    took = {name: statistics.median(r.seconds) for name, r in runners.items()}
    row = {f"{name}_ms": 1e3 * seconds for name, seconds in took.items()}
    return row | {
        "workload": workload.__name__,
        "ratio": took["lazy"] / took["eager"],
        "wanted": WANTED[workload],
        "gb_per_s": lazy.bytes / took["lazy"] / 1e9,
        "first_over_eager_s": lazy.cold - other.cold,
        "memory": other.used and lazy.used / other.used,
        "step": lazy.does(),
    }


def line(row):
    """Return a row for people."""
    does = ", ".join(f"{count} {name}" for name, count in row["step"].items() if count)
    memory = f"{row['memory']:6.2f}" if row["memory"] else "     -"
    verdict = " " if row["ratio"] <= row["wanted"] else "!"
    text = (
        f"{row['lazy_ms']:9.3f} {row['eager_ms']:9.3f} {row['ratio']:6.2f}"
        f" ({row['wanted']:.2f}) {verdict}   {row['gb_per_s']:6.0f}"
        f" {row['first_over_eager_s']:7.2f}  {memory}  {does}"
    )
    if compiled := row.get("compiled_ms"):
        text += f"; compiled {compiled:.3f}, {compiled / row['eager_ms']:.2f}"
    return text


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("names", nargs="*", help="only these workloads")
    parser.add_argument("--eager", default="cuda")
    parser.add_argument("--compiled", action="store_true", help="torch.compile, too")
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--small", action="store_true", help="to try the script")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    rows, failed, graphs = [], False, []
    chosen = [w for w in WANTED if not options.names or w.__name__ in options.names]
    print(f"{'':24}{HEAD}")
    for workload in chosen:
        if time.monotonic() > end:
            print("no time is left for", workload.__name__)
            break
        try:
            row = measure(workload, options)
            print(f"{workload.__name__:24}{line(row)}", flush=True)
        except (AssertionError, RuntimeError) as error:
            row = {"workload": workload.__name__, "error": str(error)}
            print(row["workload"], "failed:", row["error"].splitlines()[0], flush=True)
            failed = True
        gc.collect()
        rows.append(row)
        graphs = [str(row) for row in torch_ltc.explain().step_graphs]
        with open(options.results, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "step_graphs": graphs}, file, indent=1)
    print(*graphs, sep="\n")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
