# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts the workers of one workload and lets their rounds take turns."""

import contextlib
import dataclasses
import json
import math
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from contenders import EVERY_CONTENDER
from workloads import WORKLOADS

WORKER = Path(__file__).resolve().with_name("worker.py")


@dataclasses.dataclass
class Plan:
    """How much to measure."""

    contenders: list  # eager first
    threads: int
    rounds: int
    round_seconds: float
    size: str = "full"

    @property
    def modes(self):
        """Numbers of threads, the most last."""
        return sorted({1, self.threads})


class Failure(Exception):
    """A contender cannot run a workload; the words go into the table."""


class Worker:
    """A contender's process; ask() sends a command and waits for the answer."""

    def __init__(self, contender, workload, size, environment):
        self.process = subprocess.Popen(
            [EVERY_CONTENDER[contender].python, WORKER, contender, workload, size],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | EVERY_CONTENDER[contender].environment | environment,
            text=True,
        )

    def ask(self, command, **arguments):
        try:
            print(json.dumps([command, arguments]), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failure(f"its process ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "fails" in answer:
            raise Failure(answer["fails"])
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def relative_difference(wanted, found):
    """Return the largest difference of two lists of tensors, by their largest value."""
    import torch

    if [t.shape for t in wanted] != [t.shape for t in found]:
        return math.inf
    largest = 0.0
    for a, b in zip(wanted, found, strict=True):
        a, b = a.double(), b.double()
        if not (torch.isfinite(a).all() and torch.isfinite(b).all()):
            return math.inf
        scale = a.abs().max().clamp(min=1e-30)
        largest = max(largest, ((a - b).abs().max() / scale).item())
    return largest


class Measurement:
    """One workload with its contenders."""

    def __init__(self, workload, plan, directory):
        self.name, self.plan, self.directory = workload, plan, Path(directory)
        self.work = WORKLOADS[workload]
        self.workers = {}  # (contender, threads) to Worker
        self.samples = {}  # contender to a list of answers, one a round
        self.once = {}  # contender to what is measured once
        self.failures = {}
        self.contenders = [
            name
            for name in plan.contenders
            if name != "eager-fused" or self.work.trains
        ]

    def worker(self, contender, threads, environment=None):
        """Start a process; its disk cache is this workload's and contender's own."""
        settings = {"OMP_NUM_THREADS": str(threads)} | (environment or {})
        if variable := EVERY_CONTENDER[contender].cache_variable:
            settings[variable] = str(self.directory / contender)
        return Worker(contender, self.name, self.plan.size, settings)

    def fail(self, contender, error):
        self.failures[contender] = str(error)
        self.contenders.remove(contender)
        for (name, threads), worker in list(self.workers.items()):
            if name == contender:
                worker.__exit__()
                del self.workers[name, threads]

    def begin(self, contender):
        """Start both workers, time the first steps cold and warm, write outputs."""
        worker = self.workers[contender, self.plan.threads] = self.worker(
            contender, self.plan.threads
        )
        self.once[contender] = worker.ask("first")
        if EVERY_CONTENDER[contender].cache_variable:
            with self.worker(contender, self.plan.threads) as second:
                warm = second.ask("first")
            self.once[contender] |= {
                "warm_cpu_s": warm["cold_cpu_s"],
                "warm_peak_mib": warm["peak_mib"],
            }
        for threads in self.plan.modes[:-1]:
            worker = self.workers[contender, threads] = self.worker(contender, threads)
            worker.ask("first")
        path = str(self.directory / f"{contender}.pt")
        numbers = EVERY_CONTENDER[contender].same_numbers
        if not self.work.random or not numbers:
            self.workers[contender, self.plan.threads].ask("check", path=path)
            return
        with self.worker(contender, self.plan.threads, numbers) as other:
            other.ask("first")
            other.ask("check", path=path)

    def differences(self):
        """Return how far each contender's first outputs are from eager's."""
        import torch

        wanted = torch.load(self.directory / "eager.pt")
        return [
            {
                "workload": self.name,
                "contender": name,
                "difference": relative_difference(
                    wanted, torch.load(self.directory / f"{name}.pt")
                ),
                "bound": self.work.bound,
                # Other random numbers give other outputs.
                "comparable": not self.work.random
                or EVERY_CONTENDER[name].same_numbers is not None,
            }
            for name in self.contenders
            if name != "eager"
        ]

    def count(self, threads):
        """Return how many of eager's steps make a round."""
        probe = self.workers["eager", threads].ask("round", count=2)
        unit = probe["step_ms"] / 1e3
        return max(2, min(1000, round(self.plan.round_seconds / unit)))

    def turns(self):
        """Let the rounds take turns."""
        for worker in self.workers.values():
            worker.ask("round", count=2)  # warms up
        counts = {threads: self.count(threads) for threads in self.plan.modes}
        self.samples = {name: [] for name in self.contenders}
        for number in range(self.plan.rounds):
            order = list(self.contenders)
            if number % 2:
                order.reverse()
            answers = {name: {} for name in order}
            for threads in self.plan.modes:
                for name in order:
                    worker = self.workers[name, threads]
                    new = worker.ask("round", count=counts[threads])
                    if threads == 1:
                        answers[name]["cpu_ms"] = new["cpu_ms"]
                    if threads == self.plan.threads:
                        answers[name] |= {k: v for k, v in new.items() if k != "cpu_ms"}
            for name in order:
                self.samples[name].append(answers[name])

    def run(self):
        for contender in list(self.contenders):
            try:
                self.begin(contender)
            except Failure as error:
                if contender == "eager":
                    raise
                self.fail(contender, error)
        differences = self.differences()
        self.turns()
        most = self.plan.threads
        for name in self.contenders:
            self.once[name] |= self.workers[name, most].ask("counts")
        work = self.workers["eager", most].ask("operations")
        return summarize(self, work), differences

    def close(self):
        for worker in self.workers.values():
            worker.__exit__()


def spread(values):
    """Return the median and the quartiles."""
    if len(values) < 2:
        return {"median": values[0], "low": values[0], "high": values[0]}
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def summarize(measurement, work):
    """Return one row for each contender."""
    rows = []
    beside = measurement.samples["eager"]
    for name, rounds in measurement.samples.items():
        row = {"workload": measurement.name, "contender": name, **work}
        row["targets"] = measurement.work.targets
        row["times"] = {}
        for quantity in beside[0]:
            values = [answer[quantity] for answer in rounds]
            ratios = [
                answer[quantity] / eager[quantity]
                for answer, eager in zip(rounds, beside, strict=True)
            ]
            row["times"][quantity] = spread(values) | {"ratio": spread(ratios)}
        row["once"] = overhead(measurement.once[name], measurement.once["eager"])
        rows.append(row)
    return rows


def overhead(once, eager):
    """Return what was measured once; of first steps, what they cost beyond eager's."""
    beyond = {
        "cold_s": "cold_s",
        "cold_cpu_s": "cold_cpu_s",
        "warm_cpu_s": "cold_cpu_s",
    }
    shared = {key: eager[other] for key, other in beyond.items()}
    return {key: value - shared.get(key, 0) for key, value in once.items()}


def measure(workload, plan):
    """Return (rows, differences of outputs, failures by contender)."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        measurement = Measurement(workload, plan, directory)
        try:
            rows, differences = measurement.run()
        finally:
            measurement.close()
    failures = [
        {"workload": workload, "contender": name, "fails": words}
        for name, words in measurement.failures.items()
    ]
    return rows, differences, failures
