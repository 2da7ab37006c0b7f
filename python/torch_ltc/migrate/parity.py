# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a script in eager, on the lazy device and compiled, and compares.

Each in a process of its own. In the first, calls that name a lazy device get the
CPU; in the third, modules go through Dynamo (``LTC_FRONTEND=dynamo``), or another
script runs, such as what ``migrate rewrite`` made of this one.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

import torch

MODES = ("eager", "lazy", "compiled")
# By which values may differ from eager's, relative to the largest of a tensor: what
# another order of sums makes of some dozen steps.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
_OTHER_DTYPES = 1e-4
_LAST_LINES = 12


class Compared(NamedTuple):
    """How a mode's run differs from eager's. Differences are relative."""

    losses: float
    parameters: float
    sums: float  # of the parameters' norms in the midst of training
    first_step: int | None  # whose loss is beyond the tolerance
    streams: int | None  # the first step whose random numbers are others
    problems: list  # sentences; none: parity holds


class Script(NamedTuple):
    """A script to run in each mode; `after` is what runs as the compiled one."""

    path: str
    arguments: tuple = ()
    after: str | None = None


def run(scripts, timeout=None, modes=MODES):
    """Return, for each `Script`, what each mode saw: a dictionary by its name."""
    with tempfile.TemporaryDirectory() as directory:
        jobs = [
            _job(os.path.join(directory, f"{number}-{mode}"), mode, script, timeout)
            for number, script in enumerate(scripts)
            for mode in modes
        ]
        path = os.path.join(directory, "jobs.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(jobs, file)
        module = "torch_ltc.migrate.parity_worker"
        subprocess.run(
            [sys.executable, "-m", module, path], stdin=subprocess.DEVNULL, check=True
        )
        found = [_result(job["work"]["directory"]) for job in jobs]
    rows = [found[i : i + len(modes)] for i in range(0, len(found), len(modes))]
    return [dict(zip(modes, row, strict=True)) for row in rows]


def _job(directory, mode, script, timeout):
    os.mkdir(directory)
    is_other = mode == "compiled" and script.after
    by_dynamo = mode == "compiled" and not script.after
    work = {
        "mode": mode,
        "directory": directory,
        "script": script.after if is_other else script.path,
        "arguments": list(script.arguments),
        "environment": {
            "LTC_RNG": "eager",
            "LTC_LAZY_USE": "silent",
            "LTC_FRONTEND": "dynamo" if by_dynamo else "record",
        },
    }
    return {"timeout": timeout, "work": work}


def _result(directory):
    def text(name):
        with open(os.path.join(directory, name), errors="replace") as file:
            return file.read()

    said = text("said").splitlines()[-_LAST_LINES:]
    try:
        result = json.loads(text("result.json"))
        result["parameters"] = torch.load(os.path.join(directory, "parameters.pt"))
    except OSError:
        error = text("end") or "the process left no result"
        result = {"failed": {"error": error, "line": None}}
    return {**result, "said": said}


def tolerance_of(dtype, rtol=None):
    """Return the relative tolerance of a dtype's name."""
    return TOLERANCES.get(dtype, _OTHER_DTYPES) if rtol is None else rtol


def compare(found, mode, rtol=None):
    """Return a `Compared` of a mode with eager; both have run."""
    eager, other = found["eager"], found[mode]
    problems = []
    if len(eager["losses"]) != len(other["losses"]):
        counts = len(eager["losses"]), len(other["losses"])
        problems.append(f"eager took {counts[0]} steps, {mode} {counts[1]}")
    dtypes = eager["loss_dtypes"] or ["float32"]
    allowed = max(tolerance_of(dtype, rtol) for dtype in dtypes)
    worst, first = _losses(eager, other, allowed)
    if first is not None:
        problems.append(
            f"losses differ from step {first} on, by {worst:.1e} at most; "
            f"allowed are {allowed:.0e} for {' and '.join(dtypes)}"
        )
    sums = _sums(eager, other)
    parameters, told = _parameters(eager, other, rtol)
    problems += told
    streams = _streams(eager, other)
    if streams is not None:
        problems.append(f"random numbers are others from step {streams} on")
    return Compared(worst, parameters, sums, first, streams, problems)


def difference(a, b, scale=None):
    """Return the difference of two numbers, relative to the first."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a) if scale is None else scale, 1e-12)


def _losses(eager, other, allowed):
    """Return the worst difference, and the first step beyond what is allowed."""
    everything = [abs(x) for step in eager["losses"] for x in step if math.isfinite(x)]
    # A loss near zero is compared with what losses are.
    floor = 1e-2 * statistics.median(everything) if everything else 0.0
    worst, first = 0.0, None
    pairs = zip(eager["losses"], other["losses"], strict=False)
    for number, (one, two) in enumerate(pairs):
        here = math.inf if len(one) != len(two) else 0.0
        for a, b in zip(one, two, strict=False):
            here = max(here, difference(a, b, max(abs(a), floor)))
        worst = max(worst, here)
        if first is None and here > allowed:
            first = number
    return worst, first


def _sums(eager, other):
    pairs = [
        difference(a, b)
        for step, norms in eager["sums"].items()
        for a, b in zip(norms, other["sums"].get(step, []), strict=False)
    ]
    return max(pairs, default=0.0)


def _parameters(eager, other, rtol):
    """Return the worst difference at the end, and a sentence if it is too much."""
    worst, told = 0.0, []
    ours, theirs = eager["parameters"], other["parameters"]
    if len(ours) != len(theirs):
        told.append(f"eager trained {len(ours)} parameters, the other {len(theirs)}")
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        dtype = str(a.dtype).removeprefix("torch.")
        if a.shape != b.shape or a.dtype != b.dtype:
            told.append(f"parameter {number} has another shape or dtype")
            continue
        wide = torch.complex128 if a.is_complex() else torch.float64
        a, b = a.to(wide), b.to(wide)
        scale = a.abs().max().item() if a.numel() else 1.0
        gap = (a - b).abs().max().item() if a.numel() else 0.0
        here = 0.0 if torch.equal(a, b) else difference(scale, scale + gap, scale)
        worst = max(worst, here)
        allowed = tolerance_of(dtype, rtol)
        if here > allowed:
            told.append(
                f"parameter {number} {tuple(a.shape)} differs by {here:.1e} of its "
                f"largest value; allowed are {allowed:.0e} for {dtype}"
            )
    return worst, told[:3]


def _streams(eager, other):
    pairs = zip(eager["streams"], other["streams"], strict=False)
    for number, (a, b) in enumerate(pairs):
        if any(a[name] != b[name] for name in a.keys() & b.keys()):
            return number
    return None
