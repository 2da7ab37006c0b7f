# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts the workers of one workload and lets their rounds take turns."""

import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

from contenders import CONTENDERS

WORKER = Path(__file__).resolve().with_name("worker.py")
# Eager's own numbers for dropout, while outputs are compared.
SAME_RANDOM_NUMBERS = {"LTC_RNG": "eager"}
BOUND = 1e-5


class Worker:
    """A contender's process; ask() sends a command and waits for the answer."""

    def __init__(self, contender, workload, environment=None):
        self.name = f"{contender} on {workload}"
        self.process = subprocess.Popen(
            [sys.executable, WORKER, contender, workload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | CONTENDERS[contender].environment | (environment or {}),
            text=True,
        )

    def ask(self, command, **arguments):
        try:
            print(json.dumps([command, arguments]), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SystemExit(f"bench: {self.name} ended during {command}")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def relative_difference(wanted, found):
    if len(wanted) != len(found) or not all(map(math.isfinite, wanted + found)):
        return math.inf
    pairs = zip(wanted, found, strict=True)
    return max(abs(a - b) / max(abs(a), 1e-30) for a, b in pairs)


def check_outputs(workload, contenders):
    """Return how far each contender's first outputs are from eager's."""
    outputs = {}
    for name in ["eager", *contenders]:
        with Worker(name, workload, SAME_RANDOM_NUMBERS) as worker:
            outputs[name] = worker.ask("check")["outputs"]
    return [
        {
            "workload": workload,
            "contender": name,
            "difference": relative_difference(outputs["eager"], outputs[name]),
            "bound": BOUND,
        }
        for name in contenders
    ]


def spread(values):
    """Return the median and the quartiles."""
    if len(values) < 2:
        return {"median": values[0], "low": values[0], "high": values[0]}
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def summarize(workload, samples):
    """Return one row for each contender and quantity."""
    rows = []
    for quantity in samples["eager"][0]:
        beside = [answer[quantity] for answer in samples["eager"]]
        for name, rounds in samples.items():
            values = [answer[quantity] for answer in rounds]
            ratios = [a / b for a, b in zip(values, beside, strict=True)]
            rows.append(
                {
                    "workload": workload,
                    "contender": name,
                    "quantity": quantity,
                    **spread(values),
                    "ratio": spread(ratios),
                }
            )
    return rows


def measure(workload, contenders, rounds, round_seconds):
    """Check the outputs, then time; return the rows and the differences."""
    differences = check_outputs(workload, contenders)
    workers = {name: Worker(name, workload) for name in ["eager", *contenders]}
    samples = {name: [] for name in workers}
    try:
        for worker in workers.values():
            worker.ask("round", count=5)  # warms up: compiles, fills caches
        warm = workers["eager"].ask("round", count=5)
        unit = warm["step_ms"] / 1e3 if "step_ms" in warm else 1e-3
        count = max(2, round(round_seconds / unit))
        for number in range(rounds):
            order = list(workers)
            for name in order if number % 2 else reversed(order):
                samples[name].append(workers[name].ask("round", count=count))
        memory = {name: [worker.ask("memory")] for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.__exit__()
    return summarize(workload, samples) + summarize(workload, memory), differences
