# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One contender with one workload, in a process of its own.

    python worker.py lazy digits-mlp full

Reads one JSON command a line, answers with one JSON object a line; an answer
{"fails": words} says what was raised.
"""

import contextlib
import json
import os
import resource
import statistics
import sys
import time

import torch
from contenders import EVERY_CONTENDER
from workloads import WORKLOADS

FIRST_STEPS = 3  # a training loop's first steps differ: the optimizer begins
HOST_SECONDS = 0.05


def cpu_seconds():
    """Return what this process and the compilers it called have used."""
    used = [resource.getrusage(who) for who in (0, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def peak_mib():
    """Return the most memory that this process ever had resident."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def forget_peak():
    """Let peak_mib() begin anew, where the kernel can do that."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")


class Worker:
    """Holds the workload between commands."""

    def __init__(self, contender, workload, size):
        self.contender = EVERY_CONTENDER[contender]()
        self.workload, self.size = WORKLOADS[workload], size
        self.work = None
        self.outputs = []
        self.peak_before_check = 0

    def step(self):
        self.result = self.work.step()
        self.contender.submit()

    def first(self):
        """Build, and run the first steps; return what that took."""
        import torch._dynamo  # noqa: F401  optimizers import it in any case

        wall, cpu = time.perf_counter(), cpu_seconds()
        self.contender.start()
        kind = self.contender.translate(self.workload)
        self.work = kind(self.contender, self.size)
        for _ in range(FIRST_STEPS):
            self.step()
            self.outputs.append(self.result)
        self.contender.finish()
        return {
            "cold_s": time.perf_counter() - wall,
            "cold_cpu_s": cpu_seconds() - cpu,
            "peak_mib": peak_mib(),
        }

    def check(self, path):
        """Write the outputs of the first steps to `path`."""
        while len(self.outputs) < self.work.checked_steps:
            self.step()
            self.outputs.append(self.result)
        self.peak_before_check = peak_mib()
        kept = map(self.contender.outputs, self.outputs)
        torch.save([tensor for tensors in kept for tensor in tensors], path)
        self.outputs = []
        forget_peak()  # other contenders' outputs were copied, eager's not
        return {}

    def operations(self):
        """Return the floating-point operations of a step's contractions."""
        from torch.utils.flop_counter import FlopCounterMode

        known = self.work.flop_counts
        with FlopCounterMode(display=False, custom_mapping=known) as counter:
            self.step()
        return {"flops": counter.get_total_flops(), "bytes": self.work.traffic}

    def host_seconds(self):
        """Return how long the host is busy with one step, nothing waiting."""
        times = []
        while not times or sum(times) < HOST_SECONDS:
            self.contender.finish()
            start = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - start)
        self.contender.finish()
        return statistics.median(times)

    def round(self, count):
        host = self.host_seconds()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            self.step()
        self.contender.finish()
        answer = {
            "step_ms": 1e3 * (time.perf_counter() - wall) / count,
            "cpu_ms": 1e3 * (time.process_time() - cpu) / count,
            "host_ms": 1e3 * host,
        }
        if self.work.ops:
            answer["op_us"] = 1e6 * host / self.work.ops
        return answer

    def profiled(self, count):
        """Do a round with a profile on, after the steps that it looks at closely."""
        import torch_ltc

        with torch_ltc.profile():
            for _ in range(FIRST_STEPS):
                self.step()
            self.contender.finish()
            return self.round(count)

    def counts(self):
        """Return graphs so far, and what one more step launches."""
        self.contender.finish()
        before = self.contender.counts()
        self.step()
        self.contender.finish()
        after = self.contender.counts()
        per_step = {
            key: after[key] - before[key]
            for key in ("kernels", "fallbacks")
            if key in after
        }
        peak = max(self.peak_before_check, peak_mib())
        return {"peak_mib": peak, **after, **per_step}


def main():
    # Whatever the contender prints must not reach the coordinator's pipe.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(*sys.argv[1:])
    for line in sys.stdin:
        command, arguments = json.loads(line)
        try:
            answer = getattr(worker, command)(**arguments)
        except Exception as error:  # the table says so, the other rows go on
            words = [line for line in str(error).splitlines() if line.strip()]
            answer = {"fails": f"{type(error).__name__}: {' '.join(words)[:400]}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
