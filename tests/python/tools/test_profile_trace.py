# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""trace.json of a profile: the documented format, and arrows from op to kernel."""

import dataclasses
import json
from pathlib import Path
from threading import Thread

import torch
import torch_ltc
import trace_format
from torch_ltc.profiling import profile_trace

LAZY = torch.device("lazy")


def line_after(marker):
    """Return the number of this file's line that ends with the comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = [n for n, text in enumerate(lines, 1) if text.endswith("# " + marker)]
    return found


def work():
    """Some steps of a product, a loop that fuses, and a read."""
    weight = torch.ones(64, 64, device=LAZY)
    for _ in range(5):
        x = torch.ones(32, 64, device=LAZY) @ weight  # product
        for _ in range(2):
            x = x.sin()  # twice
        x.sum().item()
        torch.lazy.mark_step()


def arrows(trace, category):
    """Return the starts and ends of the arrows of a category."""
    ends = {}
    for event in trace["traceEvents"]:
        if event["ph"] in "sf" and event["cat"] == category:
            ends.setdefault(event["id"], {})[event["ph"]] = event
    return [(arrow["s"], arrow["f"]) for arrow in ends.values()]


def test_the_file_has_the_documented_form_and_arrows_from_op_to_kernel(tmp_path):
    with torch_ltc.profile(tmp_path) as found:
        work()
    trace = json.loads((tmp_path / "trace.json").read_text())
    spans = trace_format.check(trace)
    assert len(arrows(trace, "launch")) == len(found.runs)

    def at(event):
        return trace_format.holding(spans[event["tid"]], event["ts"])[-1]

    # One for each op of each timed run, from its line, to the step that computes it.
    seen = {}
    for source, target in arrows(trace, "op"):
        op, kernel = at(source), at(target)
        assert (op["cat"], kernel["cat"]) == ("op", "kernel")
        assert op["args"]["line"] in kernel["args"]["lines"]
        assert op["name"].removeprefix("aten::") in kernel["name"]
        assert op["ts"] < kernel["ts"]
        seen.setdefault((op["name"], op["args"]["line"]), set()).add(op["ts"])
    runs = 3  # that are timed step by step, of which ops are kept
    (product,) = [ts for (name, _), ts in seen.items() if name == "aten::mm"]
    assert len(product) == runs
    line = f"test_profile_trace.py:{line_after('twice')}"
    (sines,) = [ts for (name, at), ts in seen.items() if line in at]
    assert len(sines) == 2 * runs


def test_kernels_are_spans_inside_of_their_run(tmp_path):
    with torch_ltc.profile(tmp_path) as found:
        work()
    spans = trace_format.check(json.loads((tmp_path / "trace.json").read_text()))
    kernels = [row for rows in spans.values() for row in rows if row["cat"] == "kernel"]
    assert len(kernels) == len(found.data.spans) > 0
    for kernel in kernels:
        middle = kernel["ts"] + kernel["dur"] / 2
        run, inner = trace_format.holding(spans[kernel["tid"]], middle)[-2:]
        assert (run["cat"], inner) == ("run", kernel)
        assert kernel["args"].keys() == {"kind", "flops", "bytes", "lines"}
    steps = [row for rows in spans.values() for row in rows if row["cat"] == "step"]
    assert len(steps) == len(found.steps)


def test_threads_and_memory_have_rows_of_their_own(tmp_path):
    with torch_ltc.profile(tmp_path):
        threads = [Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = json.loads((tmp_path / "trace.json").read_text())
    spans = trace_format.check(trace)
    with_steps = [rows for rows in spans.values() if rows[0]["cat"] == "step"]
    assert len(with_steps) == 3
    counters = [event for event in trace["traceEvents"] if event["ph"] == "C"]
    assert counters
    assert all(sum(event["args"].values()) > 0 for event in counters)


def test_runs_that_overlap_have_rows_of_their_own():
    with torch_ltc.profile() as found:
        work()
    run = found.data.runs[0]
    later = {"begun": run.begun + 1, "ended": run.ended + 1}
    found.data.runs.append(dataclasses.replace(run, **later))
    trace = profile_trace.events(found.data)
    spans = trace_format.check(trace)
    runs = {tid for tid, rows in spans.items() if any(r["cat"] == "run" for r in rows)}
    assert len(runs) == 2
    names = {
        event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    assert {"device", "device (2)"} <= names


def test_a_frozen_step_has_no_op_to_point_from(tmp_path):
    weight = torch.ones(4, device=LAZY)

    @torch_ltc.freeze
    def step():
        weight.mul_(1.5)

    for _ in range(4):
        step()
    with torch_ltc.profile(tmp_path) as found:
        step()
        torch.lazy.synchronize()
    trace = json.loads((tmp_path / "trace.json").read_text())
    trace_format.check(trace)
    assert len(found.runs) == 1
    assert not arrows(trace, "op")
