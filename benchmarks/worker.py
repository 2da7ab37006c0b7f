# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One contender with one workload, in a process of its own.

    python worker.py lazy digits-mlp

Reads one JSON command a line, answers with one JSON object a line.
"""

import json
import os
import statistics
import sys
import time

from contenders import CONTENDERS
from workloads import TRAINING, WORKLOADS


def peak_mib():
    """Return the most memory that this process ever had resident."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


class TrainingWorker:
    """Runs training steps."""

    def __init__(self, contender, work):
        self.contender = contender
        self.step = contender.prepare(work.step)

    def check(self, count=10):
        """Return the first losses, to be compared between contenders."""
        losses = [self.step() for _ in range(count)]
        return {"outputs": [loss.item() for loss in losses]}

    def round(self, count):
        self.contender.finish()
        start = time.perf_counter()
        self.step()
        self.contender.submit()
        host = time.perf_counter() - start
        self.contender.finish()
        start = time.perf_counter()
        for _ in range(count):
            self.step()
        self.contender.finish()
        step = (time.perf_counter() - start) / count
        return {"step_ms": 1e3 * step, "host_ms": 1e3 * host}

    def memory(self):
        return {"peak_mib": peak_mib()}


class ChainWorker:
    """Runs a chain until the host has handed it over."""

    def __init__(self, contender, work):
        self.contender = contender
        self.work = work
        self.run = contender.prepare(work.run)

    def once(self):
        self.work.reset()
        self.contender.submit()
        self.contender.finish()
        start = time.perf_counter()
        self.run()
        self.contender.submit()
        seconds = time.perf_counter() - start
        self.contender.finish()
        return seconds

    def check(self, count=1):
        self.once()
        return {"outputs": self.work.x.tolist()}

    def round(self, count):
        times = [self.once() for _ in range(count)]
        return {"op_us": 1e6 * statistics.median(times) / self.work.ops}

    def memory(self):
        return {}


def main():
    contender_name, workload_name = sys.argv[1:]
    # Whatever the contender prints must not reach the coordinator's pipe.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    contender = CONTENDERS[contender_name]()
    work = WORKLOADS[workload_name](contender.device)
    kind = TrainingWorker if workload_name in TRAINING else ChainWorker
    worker = kind(contender, work)
    for line in sys.stdin:
        command, arguments = json.loads(line)
        answer = getattr(worker, command)(**arguments)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
