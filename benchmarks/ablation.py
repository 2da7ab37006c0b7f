# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each optimization gains: the step without it, over the step with all."""

import report
from contenders.ablations import OPTIMIZATIONS, PREFIX

BEGIN, END = "<!-- made by benchmarks/ablation.py -->", "<!-- end of ablation -->"


def was_run(result):
    return any(row["contender"].startswith(PREFIX) for row in result["rows"])


def gain(result, workload, optimization):
    """Return a cell: processor time, and memory where it is another."""
    full = report.find(result, workload, "lazy")
    rest = report.find(result, workload, PREFIX + optimization)
    if not full or not rest:
        return ""
    # Both are ratios to eager's rounds beside them, which cancels the machine.
    ratios = [row["times"]["cpu_ms"]["ratio"]["median"] for row in (rest, full)]
    words = f"{ratios[0] / ratios[1]:.2f}"
    memory = rest["once"]["peak_mib"] - full["once"]["peak_mib"]
    return words + (f" ({memory:+.0f} MiB)" if abs(memory) > 16 else "")


def markdown(result):
    """Return the generated part of docs/performance.md on optimizations."""
    names = [row["workload"] for row in result["rows"]]
    lines = [
        BEGIN,
        "",
        *report.heading(result),
        "",
        f"| workload | {' | '.join(OPTIMIZATIONS)} |",
        "|---" * (1 + len(OPTIMIZATIONS)) + "|",
    ]
    for workload in dict.fromkeys(names):
        cells = [gain(result, workload, name) for name in OPTIMIZATIONS]
        lines.append(f"| {workload} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", END])
