# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step costs with a profile on; `make bench ARGS=--profiling` runs it.

Each workload trains in a process of its own, in rounds with a profile and without
one, in turns and in changing order. A ratio is one of two rounds beside each other.
"""

import statistics
import sys

ROUNDS, SMALL_ROUNDS = 9, 2
# A profile looks closely at one launch of sixteen.
LEAST_STEPS = 16
# The most that a step may take, over one without a profile.
GOALS = {"tiny-train": 1.05, "gpt-train": 1.03, "resnet18-train": 1.03}
BEGIN, END = "<!-- made by benchmarks/profile_cost.py -->", "<!-- end of the cost -->"
COLUMNS = ["training", "step, ms", "with a profile", "ratio", "processor time", "goal"]


def measure_one(workload, threads, rounds, seconds, size):
    """Return pairs of rounds, without a profile and with one."""
    from coordinator import Worker  # imports torch, of which the report has no need

    pairs = []
    with Worker("lazy", workload, size, {"OMP_NUM_THREADS": str(threads)}) as worker:
        worker.ask("first")
        for command in ("round", "profiled"):
            worker.ask(command, count=2)  # warms up
        probe = worker.ask("round", count=2)
        count = max(LEAST_STEPS, round(1e3 * seconds / probe["step_ms"]))
        for number in range(rounds):
            order = ["round", "profiled"][:: -1 if number % 2 else 1]
            answers = {name: worker.ask(name, count=count) for name in order}
            pairs.append([answers["round"], answers["profiled"]])
    return pairs


def measure(threads, rounds=ROUNDS, seconds=0.3, size="full"):
    """Return ``{workload: [[off, on], ...]}``."""
    found = {}
    for workload in GOALS:
        print(f"{workload} ...", file=sys.stderr, flush=True)
        found[workload] = measure_one(workload, threads, rounds, seconds, size)
    return found


def ratio(pairs, quantity):
    """Return the quartiles of a quantity's ratio."""
    ratios = [on[quantity] / off[quantity] for off, on in pairs]
    return statistics.quantiles(ratios, n=4, method="inclusive")


def cells(workload, pairs):
    """Return one row of the table."""
    steps = [
        statistics.median(pair[which]["step_ms"] for pair in pairs) for which in (0, 1)
    ]
    ratios = [ratio(pairs, quantity) for quantity in ("step_ms", "cpu_ms")]
    return [
        workload,
        *(f"{ms:.3g}" for ms in steps),
        *(f"{middle:.3f} [{low:.3f}, {high:.3f}]" for low, middle, high in ratios),
        f"{GOALS[workload]:.2f}",
    ]


def rows(found):
    return [COLUMNS, *(cells(workload, pairs) for workload, pairs in found.items())]


def table(found):
    """Return the figures as text."""
    lines = rows(found)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in lines)


def markdown(found, heading):
    """Return the generated part of docs/profiling.md."""
    first, *rest = (f"| {' | '.join(row)} |" for row in rows(found))
    lines = [first, "|---" * len(COLUMNS) + "|", *rest]
    return "\n".join([BEGIN, "", *lines, "", heading[0], END])
