# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch_xla's metrics, profiler and debug variable, in torch_ltc.compat."""

import gc
import inspect
import json
import subprocess
import sys
import threading
import time

import pytest
import torch
import torch_ltc
import torch_ltc.compat.metrics as met
import torch_ltc.compat.profiler as xp
import torch_ltc.compat.xla_model as xm


def test_counters_have_torch_xlas_names():
    met.clear_all()
    x = torch.ones(3, 5, device=xm.xla_device())
    kept = x * 2 + 1
    xm.mark_step()
    torch.nonzero(kept.sum(1) > 3)
    assert met.counter_value("MarkStep") == 1
    assert met.counter_value("xla::mul") == 1
    assert met.counter_value("aten::nonzero") == 1
    assert met.executed_fallback_ops() == ["aten::nonzero"]
    assert met.counter_value("record.ops") >= 2
    assert met.counter_value("no such counter") is None
    assert set(met.counter_names()) >= {"MarkStep", "xla::mul", "aten::nonzero"}
    met.clear_counters()
    assert "xla::mul" not in met.counter_names()
    assert torch.lazy.metrics()["record.ops"] >= 2  # stays


def test_metrics_have_samples_and_sums():
    met.clear_all()
    x = torch.ones(3, 11, device=xm.xla_device())
    for _ in range(4):
        (x.exp() * 1.375).sum().item()
    count, total, samples = met.metric_data("ExecuteTime")
    assert count == 4
    assert 0 < total < 60e9
    assert samples == []
    assert met.metric_data("TransferFromDeviceTime")[0] == 4
    assert met.metric_data("TensorsGraphSize")[0] == 4
    assert met.metric_data("CompileTime")[0] >= 1
    assert met.metric_data("no such metric") is None
    assert "ExecuteTime" in met.metric_names()
    met.clear_metrics()
    assert met.metric_names() == []


def test_reports_are_as_torch_xla_prints_them():
    met.clear_all()
    (torch.ones(3, 12, device=xm.xla_device()).exp() * 1.5).cpu()
    lines = met.metrics_report().splitlines()
    start = lines.index("Metric: ExecuteTime")
    assert lines[start + 1] == "  TotalSamples: 1"
    assert lines[start + 2].startswith("  Accumulator: ")
    assert lines[start + 2].endswith("us")
    start = lines.index("Counter: xla::exp")
    assert lines[start + 1] == "  Value: 1"
    torch.nonzero(torch.ones(3, device=xm.xla_device()))
    short = met.short_metrics_report(["xla::exp"], ["CompileTime"])
    named = [line for line in short.splitlines() if not line.startswith(" ")]
    assert named == [
        "Metric: CompileTime",
        "Counter: aten::nonzero",
        "Counter: xla::exp",
    ]


def test_durations():
    assert met._duration(1_234_567_891) == "01s234ms567.891us"
    assert met._duration(5_000) == "000ms005.000us"


def test_traces_are_spans_in_both_profilers():
    x = torch.ones(4, device=xm.xla_device())
    kept = []
    with torch_ltc.profile() as ours, torch.profiler.profile() as theirs:
        for number in range(2):
            step = xp.StepTrace("train_step", step_num=number)
            with step, xp.Trace("forward"):
                kept.append(x * 2)
    assert [event.name for event in ours.data.events].count("forward") == 2
    steps = [step for step in ours.steps if step.whole]
    assert [step.cause for step in steps] == ["mark_step"] * 2
    rows = {row.key: row.count for row in theirs.key_averages()}
    assert rows["forward"] == 2
    assert rows["train_step (step_num=1)"] == 1

    @xp.Trace("whole")
    def work():
        return 3

    assert work() == 3


def test_a_trace_that_is_older_than_the_profile_has_no_negative_time():
    with xp.Trace("around"):
        time.sleep(0.05)
        profile = torch_ltc.profile()
        profile.__enter__()
    profile.__exit__(None, None, None)
    (event,) = [e for e in profile.data.events if e.name == "around"]
    assert 0 <= event.start <= event.end


def test_a_step_that_cannot_end_ends_its_span(monkeypatch):
    def fails():
        raise RuntimeError("no step")

    monkeypatch.setattr(xm, "mark_step", fails)
    with torch.profiler.profile() as found:
        with pytest.raises(RuntimeError, match="no step"), xp.StepTrace("train_step"):
            pass
        with xp.Trace("after"):
            pass
    (step,) = [event for event in found.events() if event.name == "train_step"]
    assert not step.cpu_children  # the span has ended before the next one


def test_a_server_profiles_what_other_threads_do(tmp_path):
    server = xp.start_server(9012)
    with pytest.raises(RuntimeError, match="has a profiler server"):
        xp.start_server(9012)
    with pytest.raises(RuntimeError, match="from 1 to 65535"):
        xp.start_server(0)
    began, ended = threading.Event(), threading.Event()

    def train():
        x = torch.ones(4, device=xm.xla_device())
        while not ended.is_set():
            kept = x * 2
            xm.mark_step()
            began.set()
            time.sleep(0.001)
            del kept

    worker = threading.Thread(target=train)
    worker.start()
    try:
        assert began.wait(60)  # the first step compiles
        xp.trace("localhost:9012", str(tmp_path), duration_ms=200)
    finally:
        ended.set()
        worker.join()
    steps = json.loads((tmp_path / "profile.json").read_text())["steps"]
    assert sum(step["whole"] for step in steps) > 2
    with pytest.raises(RuntimeError, match=r"no profiler server.*LTC_PROFILE"):
        xp.trace("localhost:9013", str(tmp_path))
    assert server.port == 9012
    del server
    gc.collect()
    xp.start_server(9012)


SCRIPT = inspect.cleandoc("""
    import torch
    import torch_ltc.compat.xla_model as xm
    x = torch.ones(3, device=xm.xla_device())
    for size in (3, 4):
        y = torch.ones(size, 2, device=xm.xla_device()).exp() * 1.25
        xm.mark_step()
    torch.nonzero(x)
    print(y.sum().item())
""")


@pytest.mark.parametrize(
    ("variables", "compiles", "syncs"),
    [
        ({}, False, False),
        ({"PT_XLA_DEBUG": "0"}, False, False),
        ({"PT_XLA_DEBUG_LEVEL": "1"}, True, False),
        ({"PT_XLA_DEBUG": "1"}, True, True),
    ],
)
def test_the_debug_variable_prints_compiles_and_syncs(
    tmp_path, monkeypatch, variables, compiles, syncs
):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    run = [sys.executable, script]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert ("Compilation Analysis" in done.stderr) == compiles, done.stderr
    assert ("Execution Analysis" in done.stderr) == syncs, done.stderr
    if compiles:
        assert "train.py:6" in done.stderr
    if syncs:
        assert "Op(s) not lowered: aten::nonzero (1)" in done.stderr
        assert "train.py:8" in done.stderr
