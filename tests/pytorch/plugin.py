# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pytest plugin: chooses PyTorch's tests of one device and records each result.

The device "compiled" is all tests of a file, with backend="ltc" in the place of
other backends; "aot_eager" has that one there, and "stock" the tests as they are.
"""

import faulthandler
import fnmatch
import json
import re
import signal
from pathlib import Path

import compiled
import older_names
import pytest

WHOLE_FILES = ("compiled", "aot_eager", "stock")


def pytest_addoption(parser):
    parser.addoption("--device", default="lazy", help="run the tests of this device")
    parser.addoption("--dtypes", default="", help="those of these dtypes, or of none")
    parser.addoption("--only", default="", help="those of this file's patterns")
    parser.addoption("--every", type=int, default=1, help="one in so many of them")
    parser.addoption("--without", default="", help="leave out this file's patterns")
    parser.addoption("--record", default="", help="write a line of JSON a test here")
    parser.addoption("--seconds", type=float, default=60, help="limit of a test")


def apply_to_lazy_what_cpu_has():
    """Apply the tolerances and skips that an OpInfo has for the CPU."""
    from torch.testing._internal.opinfo import core

    def is_active_for_cpu(self, cls_name, test_name, device_type, *rest):
        if device_type == "lazy" and self.device_type == "cpu":
            device_type = "cpu"
        return is_active(self, cls_name, test_name, device_type, *rest)

    is_active = core.DecorateInfo.is_active
    core.DecorateInfo.is_active = is_active_for_cpu


def install(device):
    """Prepare the process for what its tests import."""
    older_names.install()
    apply_to_lazy_what_cpu_has()
    if device in WHOLE_FILES:
        older_names.install_for_compiled()
    if device in ("compiled", "aot_eager"):
        compiled.install(device)


def pytest_configure(config):
    is_controller = config.getoption("numprocesses", None) and not hasattr(
        config, "workerinput"
    )
    if not is_controller:  # which runs no test
        install(config.getoption("--device"))
    record = config.getoption("--record")
    config.record_file = None
    if record and not hasattr(config, "workerinput"):
        config.record_file = open(record, "a", buffering=1)  # noqa: SIM115


def dtypes_of(item, device):
    """Return the dtypes that the name of a test ends with."""
    found = re.search(rf"_{device}_([a-z]+\d*(?:_[a-z]+\d+)*)$", item.name)
    return set(found.group(1).split("_")) if found else set()


def pytest_collection_modifyitems(config, items):
    device = config.getoption("--device")
    dtypes = set(filter(None, config.getoption("--dtypes").split(",")))
    only = config.getoption("--only")
    listed = Path(only).read_text().split() if only else ["*"]
    without = config.getoption("--without")
    left_out = Path(without).read_text().split() if without else []

    def matches(item, patterns):
        return any(fnmatch.fnmatchcase(item.nodeid, pattern) for pattern in patterns)

    def wanted(item):
        if device in WHOLE_FILES:
            return matches(item, listed)
        if getattr(item.cls, "device_type", None) != device:
            return False
        if not matches(item, listed):
            return False
        return not dtypes or dtypes_of(item, device) <= dtypes

    # What is left out moves no other test into the sample.
    sample = [item for item in items if wanted(item)][:: config.getoption("--every")]
    items[:] = [item for item in sample if not matches(item, left_out)]


class TookTooLong(Exception):
    """Raised in a test that is not over in time."""


def stop(signum, frame):
    raise TookTooLong("the test was not over in time")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    seconds = item.config.getoption("--seconds")
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    # A test that hangs outside of Python takes its process along; xdist says which.
    faulthandler.dump_traceback_later(seconds + 30, exit=True)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


def message_of(report):
    """Return what a failed test said, in one line, or why one was skipped."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr or "")
    return " ".join(text.split())[:600]


class Recorder:
    """Writes results in the process that hears of all of them."""

    def __init__(self, config):
        self.file = config.record_file

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        row = {
            "id": report.nodeid,
            "outcome": report.outcome,
            "seconds": round(report.duration, 3),
            "message": message_of(report) if report.outcome != "passed" else "",
        }
        self.file.write(json.dumps(row) + "\n")


def pytest_sessionstart(session):
    if session.config.record_file:
        session.config.pluginmanager.register(Recorder(session.config))
