# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks' workloads compute on lazy what eager computes, and reports say so."""

import copy
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import ablation
import chart
import growth
import page
import profile_cost
import pytest
import report
import torch
import torch_ltc
import tracing
from contenders import CONTENDERS
from coordinator import relative_difference
from workloads import WORKLOADS

BENCH = Path(__file__).resolve().parents[3] / "benchmarks" / "bench.py"

SLOW = {
    "resnet18-train",
    "mobilenet-train",
    "encoder-8-lengths",
    "gpt-8-lengths",
    "gpt",
    "gpt-train-bf16",
}
LONG = {"resnet18-train-bf16"}  # without AVX-512
# The larger sizes of a family are the same when small.
DISTINCT = [name for name in WORKLOADS if not name.endswith(("-1m", "-16m"))]


def marks_of(name):
    return (
        pytest.mark.slow if name in SLOW else pytest.mark.long if name in LONG else ()
    )


def first_outputs(contender, workload):
    contender = CONTENDERS[contender]()
    work = WORKLOADS[workload](contender, "small")
    outputs = []
    for _ in range(work.checked_steps):
        result = work.step()
        outputs += result if isinstance(result, list) else [result]
        contender.submit()
    return [output.detach().cpu() for output in outputs]


@pytest.mark.parametrize(
    "workload",
    [pytest.param(n, marks=marks_of(n)) for n in DISTINCT],
)
def test_workload_computes_what_eager_does(workload):
    wanted = first_outputs("eager", workload)
    fallback = "cpu" if WORKLOADS[workload].shaped_by_values else "error"
    with torch_ltc.settings.scope(rng="eager", fallback=fallback):
        found = first_outputs("lazy", workload)
    assert relative_difference(wanted, found) < WORKLOADS[workload].bound


def test_a_run_writes_table_json_and_chart(tmp_path):
    command = [sys.executable, BENCH, "add-mul", "--small"]
    command += ["--threads", "1", "--rounds", "2", "--round-seconds", "0.01"]
    command += ["--json", tmp_path / "new.json", "--chart", tmp_path / "new.svg"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "new.json").read_text())
    assert result["failures"] == []
    rows = result["rows"]
    assert [row["contender"] for row in rows] == ["eager", "lazy"]
    assert rows[1]["once"]["fallbacks"] == 0
    assert "add-mul   lazy" in done.stdout
    ElementTree.parse(tmp_path / "new.svg")
    command[2:3] = ["add-mul", "in-place", "--resume"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in-place ..." in done.stderr and "add-mul ..." not in done.stderr
    resumed = json.loads((tmp_path / "new.json").read_text())
    assert resumed["rows"][:2] == rows
    assert [row["workload"] for row in resumed["rows"][2:]] == ["in-place"] * 2


@pytest.mark.parametrize("name", ["xla", "jax"])
def test_a_contender_without_its_python_is_refused(name):
    command = [sys.executable, BENCH, "add-mul", "--contenders", name]
    variable = f"BENCH_{name.upper()}_PYTHON"
    environment = {k: v for k, v in os.environ.items() if k != variable}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert f"no Python was given for {name}" in done.stderr


def test_growth_is_measured_and_drawn(tmp_path):
    points = growth.compile_times("training", [12, 24])
    assert [ops for ops, _ in points] == sorted({ops for ops, _ in points})
    assert all(seconds > 0 for _, seconds in points)
    document = ElementTree.fromstring(growth.draw({"training": points}))
    dots = document.findall("{http://www.w3.org/2000/svg}circle")
    legend = 1
    assert len(dots) == legend + 2


def test_tracing_is_measured_and_shown(monkeypatch, tmp_path):
    monkeypatch.setattr(tracing, "KINDS", {"view": ["x.t()"], "in place": ["z.t_()"]})
    result = tracing.measure(rounds=1)
    assert all(
        nanoseconds > 0
        for calls in result.values()
        for times in calls.values()
        for mode in tracing.MODES
        for nanoseconds in times[mode]
    )
    result["view"]["x.t()"]["gradients"] = [1000, 1700]
    (tmp_path / "performance.md").write_text(f"{tracing.BEGIN}\n{tracing.END}\n")
    monkeypatch.setattr(report, "heading", lambda result: ["on a machine"])
    page.renew(tmp_path, {"tracing": result})
    text = (tmp_path / "performance.md").read_text()
    assert "on a machine" in text
    assert "| view | gradients | 1 | 1.70 | 0 % | 0 % | 0 % |" in text
    line = next(x for x in text.splitlines() if x.startswith("| x.t() |"))
    assert line.endswith("| 1.70 |")
    assert "x.t()" in tracing.table(result)


@pytest.mark.parametrize("kind", tracing.KINDS)
def test_calls_whose_tracing_is_measured_compute_what_eagers_do(kind):
    drawn = ("dropout", "rand", "normal_", "uniform_", "empty")
    for call in tracing.KINDS[kind]:
        results = [
            tracing.Loop(call, device, mode).call()
            for device in ("cpu", "lazy")
            for mode in tracing.MODES[1:]
        ]
        if not any(word in call for word in drawn):
            eager, lazy = results[:2], results[2:]
            torch.testing.assert_close(lazy, eager, check_device=False, msg=call)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_growth_finds_the_power(exponent):
    points = [[n, 3e-5 * n**exponent] for n in (10, 100, 300, 1000, 10_000)]
    points[0][1] = 1  # before the fit
    assert growth.power(points) == pytest.approx(exponent)
    assert f"grows as n^{exponent:.2f}" in growth.table({"chain": points})


def times(median, ratio):
    spread = {"median": ratio, "low": 0.95 * ratio, "high": 1.05 * ratio}
    return {"median": median, "low": median, "high": median, "ratio": spread}


def row(contender, ratio, cold_s):
    quantities = ("cpu_ms", "step_ms", "host_ms")
    return {
        "workload": "gpt-train",
        "contender": contender,
        "flops": 10**9,
        "bytes": None,
        "targets": {"step_ms": 0.85, "cold_s": 0.1},
        "times": {quantity: times(10 * ratio, ratio) for quantity in quantities},
        "once": {"cold_s": cold_s, "cold_cpu_s": 2, "peak_mib": 100, "graphs": 2},
    }


@pytest.fixture
def result():
    limits = {"triad_gbs": 20.0, "gemm_gflops": 200.0}
    return {
        "machine": {
            "cpu": "a CPU",
            "vectors": "AVX-512",
            "threads": 2,
            "torch": "2.13",
            "revision": "abc",
            "when": "now",
            "load": "0.1",
            "limits": {"1": limits, "2": limits},
        },
        "rows": [row("eager", 1, 0), row("inductor", 0.9, 30), row("lazy", 1.0, 4)],
        "outputs": [],
        "failures": [{"workload": "gpt-train", "contender": "ts", "fails": "no op"}],
    }


def test_table_says_which_targets_are_missed_and_who_is_faster(result):
    text = report.table(result)
    assert "gpt-train, step_ms: 1.00, wanted 0.85" in text
    assert "gpt-train, cold_s: 0.13, wanted 0.1" in text
    assert "gpt-train, cpu_ms: 1.11 times inductor" in text
    assert "fails: no op" in text
    assert "0.50 gemm" in text


def test_code_for_all_sizes_is_compared_with_code_for_each(result):
    result["rows"].append(row("lazy-static", 0.8, 4))
    result["rows"][2]["targets"] = {"static": 1.15, "graphs": 1}
    text = report.table(result)
    assert "gpt-train, static: 1.25, wanted 1.15" in text
    assert "gpt-train, graphs: 2.00, wanted 1" in text


def test_comparison_names_what_moved_beyond_the_spread(result):
    new = copy.deepcopy(result)
    new["rows"][2]["times"]["step_ms"] = times(8, 0.8)
    new["rows"][2]["times"]["cpu_ms"] = times(10.2, 1.02)
    lines = report.comparison(result, new).splitlines()
    moved = [line for line in lines if line.startswith(("faster", "slower"))]
    assert len(moved) == 1
    assert moved[0].split()[:4] == ["faster", "gpt-train", "lazy", "step_ms"]


def test_page_keeps_what_was_written_by_hand(result, tmp_path):
    path = tmp_path / "performance.md"
    path.write_text(f"before\n{page.BEGIN}\nan older table\n{page.END}\nafter\n")
    page.renew(tmp_path, result)
    text = path.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "an older table" not in text
    assert "| gpt-train | lazy |" in text


def test_machines_without_avx512_have_a_table_of_their_own(result, tmp_path):
    path = tmp_path / "performance.md"
    begin, end = page.BEGIN_AVX2, page.END_AVX2
    kept = f"{page.BEGIN}\nkept\n{page.END}\n{begin}\n"
    path.write_text(f"{kept}an older table\n{end}\nafter\n")
    result["machine"]["vectors"] = "AVX2"
    page.renew(tmp_path, result)
    text = path.read_text()
    assert text.startswith(kept)
    assert text.endswith(f"{end}\nafter\n")
    assert "a CPU with AVX2, 2 threads" in text
    assert "| gpt-train | lazy |" in text
    assert "an older table" not in text


def test_ablation_is_relative_to_lazy_and_keeps_the_page(result, tmp_path):
    worse = row("without-fuse", 1.5, 4)
    worse["once"]["peak_mib"] += 64
    result["rows"].append(worse)
    path = tmp_path / "performance.md"
    path.write_text(f"before\n{ablation.BEGIN}\nold\n{ablation.END}\nafter\n")
    page.renew(tmp_path, result)
    text = path.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    column = 1 + ablation.OPTIMIZATIONS.index("fuse")
    cells = next(x for x in text.splitlines() if x.startswith("| gpt-train")).split("|")
    assert cells[1 + column] == " 1.50 (+64 MiB) "
    assert "old" not in text


def test_chart_has_a_dot_for_each_contender_but_eager(result):
    document = ElementTree.fromstring(chart.draw(result))
    dots = document.findall("{http://www.w3.org/2000/svg}circle")
    legend = 2
    assert len(dots) == legend + 2


def test_the_cost_of_a_profile_is_measured_and_shown(monkeypatch, tmp_path):
    monkeypatch.setattr(profile_cost, "GOALS", {"tiny-train": 1.05})
    found = profile_cost.measure(1, rounds=2, seconds=0.01, size="small")
    (pairs,) = found.values()
    assert all(each["step_ms"] > 0 for pair in pairs for each in pair)
    off, on = {"step_ms": 2.0, "cpu_ms": 4.0}, {"step_ms": 2.02, "cpu_ms": 4.0}
    begin, end = profile_cost.BEGIN, profile_cost.END
    (tmp_path / "profiling.md").write_text(f"{begin}\nold\n{end}\n")
    monkeypatch.setattr(report, "heading", lambda result: ["on a machine"])
    page.renew(tmp_path, {"profiling": {"tiny-train": [[off, on]] * 3}})
    text = (tmp_path / "profiling.md").read_text()
    assert "old" not in text
    assert "on a machine" in text
    row = "| tiny-train | 2 | 2.02 | 1.010 [1.010, 1.010] | 1.000 [1.000, 1.000] |"
    assert f"{row} 1.05 |" in text
