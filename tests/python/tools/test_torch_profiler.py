# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.profiler shows our stages, graphs and kernels beside PyTorch's own spans."""

import inspect
import json

import torch
import torch_ltc
from torch.profiler import ProfilerActivity, profile

LAZY = torch.device("lazy")


def step(x, weight):
    """Compute a product and a loop, and read one number."""
    return ((x @ weight).sin() * 2).sum().item()


def operands(size=64):
    return torch.ones(size, size, device=LAZY), torch.ones(size, size, device=LAZY)


def names_of(found):
    return {row.key: row for row in found.key_averages()}


def test_stages_graphs_and_kernels_have_rows(tmp_path):
    x, weight = operands()
    step(x, weight)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for _ in range(3):
            step(x, weight)
    rows = names_of(found)
    assert rows["aten::mm"].count >= 3  # PyTorch's own: the call is recorded
    for stage in ("graph", "lookup", "queue", "execute"):
        assert rows[f"ltc::{stage}"].count >= 3, sorted(rows)
    (run,) = [name for name in rows if name.startswith("ltc::run ")]
    assert rows[run].count == 3
    assert rows["ltc::call aten::mm"].count == 3
    assert any(
        name.startswith("ltc::kernel_") and "sin" in name and rows[name].count == 3
        for name in rows
    ), sorted(rows)
    found.export_chrome_trace(str(tmp_path / "trace.json"))
    check_nesting(json.loads((tmp_path / "trace.json").read_text())["traceEvents"], run)


def check_nesting(events, run):
    """Kernels lie in the run of their graph, on its thread, in the exported trace."""
    spans = [event for event in events if event.get("ph") == "X"]
    runs = [event for event in spans if event["name"] == run]
    calls = [event for event in spans if event["name"] == "ltc::call aten::mm"]
    assert len(calls) == len(runs) == 3
    for call in calls:
        assert any(
            call["tid"] == around["tid"]
            and around["ts"] <= call["ts"] <= around["ts"] + around["dur"]
            for around in runs
        )
    assert any(event["name"] == "aten::mm" for event in spans)


def test_a_compile_shows_its_stages():
    x = torch.ones(7, 13, device=LAZY)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        (x.cosh() * 1.625 + 3).cpu()
    rows = names_of(found)
    for stage in ("compile", "import", "lower", "optimize", "codegen", "transfer"):
        assert rows[f"ltc::{stage}"].count >= 1, sorted(rows)


def test_runs_of_the_queues_thread_are_there_when_the_profiler_ends():
    x, weight = operands(512)
    y = x
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for _ in range(6):
            y = (y @ weight).sin()
            torch.lazy.mark_step()
    rows = names_of(found)
    runs = [row.count for name, row in rows.items() if name.startswith("ltc::run ")]
    assert sum(runs) == 6
    threads = {
        event.thread for event in found.events() if event.name.startswith("ltc::run ")
    }
    mine = {event.thread for event in found.events() if event.name == "aten::mm"}
    assert threads - mine  # another thread than the one that records


def test_a_graph_without_a_program_shows_its_calls(run_python):
    code = inspect.cleandoc("""
        import torch
        from torch.profiler import profile
        x = torch.ones(5, 70, device="lazy")
        with profile() as found:
            (x.t() @ x).sum().item()
        rows = {row.key: row.count for row in found.key_averages()}
        assert rows["ltc::call aten::mm"] == 1, rows
        assert not torch.lazy.metrics().get("codegen.graphs")
    """)
    run_python(code, LTC_TIERS="auto")


def test_the_device_may_start_within_the_profiler(run_python):
    code = inspect.cleandoc("""
        import torch
        from torch.profiler import profile
        with profile() as found:
            torch.ones(5, device="lazy").exp().sum().item()
        assert any(row.key.startswith("ltc::run") for row in found.key_averages())
        with profile() as again:
            torch.ones(5, device="lazy").exp().sum().item()
        assert any(row.key.startswith("ltc::run") for row in again.key_averages())
    """)
    run_python(code)


def test_off_there_are_no_spans_and_values_are_the_same():
    x, weight = operands()
    before = step(x, weight)
    with profile() as found:
        inside = step(x, weight)
    assert before == inside == step(x, weight)
    count = sum(row.count for row in found.key_averages())
    step(x, weight)
    assert sum(row.count for row in found.key_averages()) == count


def test_both_profilers_at_once():
    x, weight = operands()
    with torch_ltc.profile() as ours, profile() as theirs:
        step(x, weight)
        torch.lazy.mark_step()
    assert ours.data.spans
    assert any(row.key.startswith("ltc::run ") for row in theirs.key_averages())
