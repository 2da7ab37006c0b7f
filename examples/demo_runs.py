# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of the demo: a worker process each, and what two of them say together."""

import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

FIRST_STEPS = 20  # networks amplify rounding: later losses are only shown
# In single precision even 20 steps do: where two values of a pooling window are
# equal but for rounding, the other one may get the gradient. The CNN on cpu alone,
# with another kernel for its convolutions, came to 1e-5 to 2e-4 with seven seeds.
# So a fault is looked for in double precision as well, where 20 steps agree to
# 1e-14, and in the first few.
LOSS_BOUNDS = {
    ("single", 5): 1e-5,
    ("single", FIRST_STEPS): 1e-3,
    ("double", FIRST_STEPS): 1e-11,
}
ACCURACY_BOUND = 0.03
COMPILE_STAGES = ("import", "lower", "optimize", "codegen")
WORKER = Path(__file__).resolve().with_name("demo_worker.py")


@dataclasses.dataclass
class Job:
    """One script with its options, and the accuracy that it must reach."""

    title: str
    script: str
    options: list
    least_accuracy: float

    @property
    def in_double(self):
        options = [*self.options, "--dtype", "float64"]
        return dataclasses.replace(self, options=options)


class Run:
    """A worker process and the epochs it has reported."""

    def __init__(self, job, device, environment):
        self.device = device
        self.epochs = []
        self.process = subprocess.Popen(
            [sys.executable, WORKER, job.script, *job.options, "--device", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | environment,
            text=True,
        )

    def advance(self):
        """Let one epoch run and return it; None after the last one."""
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            self.epochs.append(json.loads(line))
            return self.epochs[-1]
        status = self.process.wait()
        if status:
            raise RuntimeError(f"the run on {self.device} ended with status {status}")
        return None

    def advance_to(self, steps):
        """Let epochs run until there are so many losses, or no more epochs."""
        while len(self.losses) < steps and self.advance():
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    @property
    def losses(self):
        return [loss for epoch in self.epochs for loss in epoch["losses"]]

    @property
    def accuracy(self):
        return self.epochs[-1]["accuracy"]

    @property
    def metrics(self):
        return self.epochs[-1]["metrics"]

    @property
    def graphs(self):
        return self.metrics.get("codegen.graphs", 0)

    @property
    def cached(self):
        return self.metrics.get("cache.hit.memory", 0)

    @property
    def step_ms(self):
        """Median over the epochs after the first one, which compiles."""
        return statistics.median(epoch["step_ms"] for epoch in self.epochs[1:])


def relative_difference(a, b):
    """Return the largest |a - b| / |a|; infinity if anything is not finite."""
    if len(a) != len(b) or not all(map(math.isfinite, a + b)):
        return math.inf
    pairs = zip(a, b, strict=True)
    return max(abs(x - y) / max(abs(x), 1e-30) for x, y in pairs)


@dataclasses.dataclass
class Comparison:
    """Eager's run of a job beside the other device's."""

    job: Job
    eager: Run
    lazy: Run
    eager_double: Run
    lazy_double: Run

    def loss_difference(self, precision="single", steps=FIRST_STEPS):
        pair = {
            "single": (self.eager, self.lazy),
            "double": (self.eager_double, self.lazy_double),
        }[precision]
        return relative_difference(*(run.losses[:steps] for run in pair))

    @property
    def step_ratio(self):
        pairs = zip(self.eager.epochs[1:], self.lazy.epochs[1:], strict=True)
        return statistics.median(b["step_ms"] / a["step_ms"] for a, b in pairs)

    @property
    def fallbacks(self):
        """Name of an op that fell back to eager: how often."""
        prefix = "record.fallback."
        return {
            name.removeprefix(prefix): count
            for name, count in self.lazy.metrics.items()
            if name.startswith(prefix) and count
        }

    @property
    def compile_seconds(self):
        names = [f"{stage}.microseconds" for stage in COMPILE_STAGES]
        return sum(self.lazy.metrics.get(name, 0) for name in names) / 1e6

    def failures(self):
        for (precision, steps), bound in LOSS_BOUNDS.items():
            difference = self.loss_difference(precision, steps)
            if not difference < bound:
                yield (
                    f"in {precision} precision the loss differs by {difference:.1e} "
                    f"in the first {steps} steps, more than {bound:.0e}"
                )
        if not self.lazy.accuracy >= self.job.least_accuracy:
            yield (
                f"accuracy {self.lazy.accuracy:.3f} is below {self.job.least_accuracy}"
            )
        if abs(self.lazy.accuracy - self.eager.accuracy) > ACCURACY_BOUND:
            yield (
                f"accuracy is {self.lazy.accuracy:.3f} on lazy, "
                f"{self.eager.accuracy:.3f} on cpu"
            )
        if not self.lazy.graphs and not self.lazy.metrics.get("cache.hit.disk"):
            yield "nothing was compiled"
        for op, count in self.fallbacks.items():
            yield f"{op} fell back to eager {count} times"
