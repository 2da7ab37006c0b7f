# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ltc-conformance passes right drivers, and each suite finds what it is for.

tests/conformance/faulty.cpp is a driver around one of ours with one thing wrong.
"""

import os
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
order emulator copy_at_once
order emulator reach_fences_at_once
order emulator skip_nothing
order emulator never_resume
order emulator tell_no_errors
order emulator tell_an_error_once
order emulator forget_fences_when_asked
order emulator wait_for_no_fence
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
"""
CASES = [line.split() for line in FAULTS.split("\n") if line]


def driver(name):
    return BUILD / f"lib/libltc_driver_{name}.so"


def run(*arguments, **environment):
    return subprocess.run(
        [TOOL, *map(str, arguments)],
        env=os.environ | environment,
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


def test_a_late_device_passes():
    options = ["--option", "delay_us=200"]
    done = run("--plugin", driver("emulator"), *options)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("suite", "name", "fault"), CASES)
def test_a_fault_is_found_by_its_suite(suite, name, fault):
    environment = {"FAULTY_DRIVER": str(driver(name)), "FAULTY_BY": fault}
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
