# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ltc-conformance passes right drivers, and each suite finds what it is for.

tests/conformance/faulty.cpp is a driver around one of ours with one thing wrong.
"""

import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch_ltc

BUILD = (Path(torch_ltc.__file__).parent / "lib").resolve().parent
TOOL = BUILD / "bin/ltc-conformance"
FAULTY = BUILD / "tests/faulty_driver.so"

if not TOOL.exists() or not FAULTY.exists():
    pytest.skip("this build has no ltc-conformance", allow_module_level=True)

# The suite that must find it, the driver that has it, the fault.
FAULTS = """
table null accept_any_option
table cpu open_any_ordinal
table null name_no_target
memory null write_at_the_start
memory cpu read_all_but_the_last
memory null ignore_writes_outside
memory cpu ignore_zeros
memory cpu forget_the_limit
memory null count_nothing_freed
memory emulator keep_the_peak
memory cpu copy_without_offsets
memory emulator lend_unaligned_memory
memory emulator copy_between_without_offsets
memory null cut_offsets
memory emulator cut_offsets
memory cpu cut_sizes
order emulator copy_at_once
order emulator reach_fences_at_once
order emulator skip_nothing
order emulator never_resume
order emulator tell_no_errors
order emulator tell_an_error_once
order emulator forget_fences_when_asked
order emulator wait_for_no_fence
order emulator keep_old_spans
order emulator tell_another_clock
order board tell_spans_of_one_lane
program cpu run_all_steps
program emulator drop_scalars
program null run_nothing
program cpu run_nothing
faults cpu know_no_sites
faults emulator know_no_sites
faults cpu fail_alike
faults null fail_without_words
faults cpu run_with_any_operands
faults cpu break_at_a_failure
handover emulator take_calls_by_turns
handover emulator forget_the_arena
handover board compile_anything
training cpu skip_every_seventh_launch
training emulator skip_every_seventh_launch
training cpu write_before_it_fails
training cpu round_scalars
"""
CASES = [line.split() for line in FAULTS.split("\n") if line]
assert len(CASES) >= 25

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """Build the example of a vendor's device, which has a compiler of its own."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler")
    path = tmp_path_factory.mktemp("board") / "libltc_driver_board.so"
    sources = sorted((ROOT / "examples/vendor_plugin").glob("*.c"))
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC"]
    command = [compiler, *flags, f"-I{ROOT / 'include'}", *sources]
    subprocess.run([*command, "-lpthread", "-lm", "-o", path], check=True)
    return path


def driver(name, board=None):
    if name == "board":
        return board
    return BUILD / f"lib/libltc_driver_{name}.so"


def run(*arguments, **environment):
    return subprocess.run(
        [TOOL, *map(str, arguments)],
        env=os.environ | {"LTC_CPU_DEVICES": "2"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("name", ["null", "cpu", "emulator"])
def test_right_drivers_pass(name, tmp_path):
    report = tmp_path / "report.xml"
    done = run("--plugin", driver(name), "--junit", report)
    assert done.returncode == 0, done.stdout
    suites = {
        suite.get("name") for suite in ElementTree.parse(report).iter("testsuite")
    }
    assert {"Table", "Memory", "Order", "Program", "Faults"} <= suites
    assert {"Handover", "Training"} <= suites


def test_a_report_in_json_has_each_test(tmp_path):
    report, junit = tmp_path / "report.json", tmp_path / "report.xml"
    suites = ["--suite", "training,handover,order"]
    files = ["--json", report, "--junit", junit]
    done = run("--plugin", driver("cpu"), *suites, *files)
    assert done.returncode == 0, done.stdout
    found = json.loads(report.read_text())
    tests = found["tests"]
    assert found["name"] == "cpu" and found["failed"] == 0
    assert {test["suite"] for test in tests} == {"training", "handover", "order"}
    outcomes = [test["outcome"] for test in tests]
    assert outcomes.count("passed") == found["passed"] >= 9
    assert outcomes.count("skipped") == found["skipped"] > 0
    queues = next(test for test in tests if test["suite"] == "order")
    assert queues["outcome"] == "skipped" and "no queues" in queues["said"]
    assert len(list(ElementTree.parse(junit).iter("testcase"))) == len(tests)
    done = run(
        "--plugin",
        FAULTY,
        "--suite",
        "training",
        "--json",
        report,
        FAULTY_DRIVER=str(driver("cpu")),
        FAULTY_BY="skip_every_seventh_launch",
    )
    assert done.returncode == 1
    failed = [t for t in json.loads(report.read_text())["tests"] if t["said"]]
    assert "the losses" in failed[0]["said"] and failed[0]["outcome"] == "failed"


def test_a_late_device_passes():
    options = ["--option", "delay_us=200"]
    done = run("--plugin", driver("emulator"), *options)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("suite", "name", "fault"), CASES)
def test_a_fault_is_found_by_its_suite(suite, name, fault, board):
    environment = {"FAULTY_DRIVER": str(driver(name, board)), "FAULTY_BY": fault}
    options = ["--option", "delay_us=200"] if name == "emulator" else []
    if fault in ("forget_the_limit", "accept_any_option"):
        options = []
    done = run("--plugin", FAULTY, "--suite", suite, *options, **environment)
    crashed = done.returncode < 0  # a fence that lies leaves memory in use
    assert done.returncode == 1 or crashed, done.stdout + done.stderr
    assert "Failure" in done.stdout
    assert f"[  FAILED  ] {suite.capitalize()}" in done.stdout or crashed


@pytest.mark.parametrize("name", ["null", "cpu", "emulator"])
def test_the_faulty_driver_is_right_but_for_its_fault(name):
    done = run("--plugin", FAULTY, FAULTY_DRIVER=str(driver(name)), FAULTY_BY="none")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no plugin is named"),
        (["--plugin"], "there is no value for --plugin"),
        (["--plugin", "x.so", "--suite", "memory,nonsense"], "there is no suite"),
        (["--plugin", "/nonexistent.so"], "cannot open shared object"),
        (
            ["--plugin", BUILD / "lib/libltc_kernels_cpu.so"],
            "no symbol ltc_plugin_query",
        ),
        (["--plugin", FAULTY], "does not serve ABI major 1"),
        (["--speed", "9"], "cannot read --speed 9"),
    ],
)
def test_what_it_cannot_run_is_told(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


MARK = """
import os, time, torch

x = torch.ones(4).to("lazy")
torch.lazy.synchronize()
start = time.monotonic()
y = x + 1
torch.lazy.mark_step()
time.sleep(0.3)  # the device has begun
os.environ["FAULTY_NOW"] = "1"
event = torch.lazy.Event()
event.record()
event.synchronize()
print(time.monotonic() - start)
del os.environ["FAULTY_NOW"]
print(y.tolist())
"""


def test_a_marker_without_a_fence_is_reached_after_what_is_queued_before(run_python):
    done = run_python(
        MARK,
        LTC_DEVICE=str(FAULTY),
        LTC_DEVICE_OPTIONS="delay_us=1500000",
        FAULTY_DRIVER=str(driver("emulator")),
        FAULTY_BY="refuse_fences_on_demand",
    )
    passed, values = done.stdout.splitlines()
    assert float(passed) >= 1.5 and values == "[2.0, 2.0, 2.0, 2.0]"
