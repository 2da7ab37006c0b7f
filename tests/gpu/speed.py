# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of lazy and of eager steps on one GPU, and whether their values agree.

    python speed.py RESULTS.json [--eager cuda] [--seconds 100] [--small]

Each workload is run for a few blocks of steps, lazy and eager in turns; a row has the
medians, the bytes that have to move a second, and what was launched as graphs. It
ends by itself after so many seconds, with the rows it has by then.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
import torch_ltc

BLOCKS = 5


def chain(device, scale):
    """Eight pointwise ops: one read and one write of all."""
    x = torch.randn(2**26 // scale, device="cpu").to(device)

    def step():
        y = ((x * 1.1 + 0.5).relu() * 0.9 - 0.1).abs()
        return (y + 1.0).neg() * 0.3

    return step, 8 * x.numel()


def softmax(device, scale):
    """Rows of 4096 in bfloat16."""
    x = torch.randn(8192 // scale, 4096).to(torch.bfloat16).to(device)
    return lambda: x.softmax(-1), 4 * x.numel()


def layer_norm(device, scale):
    """Rows of 4096."""
    x = torch.randn(8192 // scale, 4096).to(device)
    weight, bias = torch.randn(4096).to(device), torch.randn(4096).to(device)
    return lambda: F.layer_norm(x, (4096,), weight, bias), 8 * x.numel()


def column_sum(device, scale):
    """A sum along columns."""
    x = torch.randn(8192 // scale, 4096).to(device)
    return lambda: x.sum(0), 4 * x.numel()


def copies(device, scale):
    """Parts side by side: copies among the steps."""
    x = torch.randn(2**24 // scale).to(device)
    return lambda: torch.cat([x.flip(0), x * 2]), 12 * x.numel()


def many_small(device, scale):
    """A hundred tiny ops that cannot be one kernel."""
    x = torch.randn(64, 64).to(device)

    def step():
        y = x
        for _ in range(50):
            y = (y - y.mean(0)).softmax(1) * 3
        return y

    return step, 0


def adamw(device, scale):
    """An optimizer's update of 50 tensors."""
    size = 2**18 // scale
    weights = [torch.nn.Parameter(torch.randn(size).to(device)) for _ in range(50)]
    optimizer = torch.optim.AdamW(weights, lr=1e-3)
    gradients = [torch.randn(size).to(device) for _ in weights]

    def step():
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        optimizer.step()
        return weights[0].detach()

    return step, 28 * size * len(weights)


WORKLOADS = (chain, softmax, layer_norm, column_sum, copies, many_small, adamw)


def synchronize(device):
    """Wait for a device."""
    if device == "lazy":
        torch.lazy.mark_step()
        torch.lazy.synchronize()
    elif device != "cpu":
        torch.accelerator.synchronize()


class Runner:
    """One workload on one device."""

    def __init__(self, workload, device, scale):
        torch.manual_seed(0)
        self.device = device
        self.step, self.bytes = workload(device, scale)
        begin = time.perf_counter()
        self.first = self.step().float().cpu()
        self.cold = time.perf_counter() - begin
        self.block(4)  # from the third on steps are graphs
        self.steps = max(3, min(50, int(0.2 / max(self.block(2), 1e-5))))
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


def measure(workload, eager, scale):
    """Return a row on one workload."""
    runners = {name: Runner(workload, name, scale) for name in ("lazy", eager)}
    lazy, other = runners["lazy"], runners[eager]
    torch.testing.assert_close(lazy.first, other.first, rtol=2e-2, atol=1e-2)
    for _ in range(BLOCKS):
        for runner in runners.values():
            runner.seconds.append(runner.block(runner.steps))
    took = {name: statistics.median(r.seconds) for name, r in runners.items()}
    return {
        "workload": workload.__name__,
        "lazy_ms": 1e3 * took["lazy"],
        "eager_ms": 1e3 * took[eager],
        "ratio": took["lazy"] / took[eager],
        "gb_per_s": lazy.bytes / took["lazy"] / 1e9,
        "first_s": lazy.cold,
    }


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--eager", default="cuda")
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--small", action="store_true", help="to try the script")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    rows, failed = [], False
    for workload in WORKLOADS:
        if time.monotonic() > end:
            print("no time is left for", workload.__name__)
            break
        try:
            row = measure(workload, options.eager, 64 if options.small else 1)
            print(*(f"{v:.3g}" if isinstance(v, float) else v for v in row.values()))
        except (AssertionError, RuntimeError) as error:
            row = {"workload": workload.__name__, "error": str(error)}
            print(row["workload"], "failed:", row["error"].splitlines()[0])
            failed = True
        rows.append(row)
        graphs = [str(row) for row in torch_ltc.explain().step_graphs]
        with open(options.results, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "step_graphs": graphs}, file, indent=1)
    print(*graphs, sep="\n")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
