# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's device-generic tests: the table of what fails, and a sample of them."""

import os
import sys
from itertools import groupby
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "pytorch"))

import run
import table

ENTRIES = table.read()


def row(name, outcome):
    return {"id": f"test_x.py::TestXLAZY::{name}", "outcome": outcome, "message": ""}


def test_entries_are_sorted_below_one_heading_a_reason():
    groups = [(r, [e.pattern for e in g]) for r, g in groupby(ENTRIES, by_reason)]
    assert len(groups) == len({reason for reason, _ in groups})
    for _, patterns in groups:
        assert patterns == sorted(patterns)


def by_reason(entry):
    return entry.reason


def test_no_test_has_two_entries():
    patterns = [entry.pattern for entry in ENTRIES]
    assert len(patterns) == len(set(patterns))
    for entry in ENTRIES:
        bare = entry.pattern.rstrip("*")
        assert [e for e in ENTRIES if e.matches(bare)] == [entry]


def test_an_entry_names_a_file_that_is_run():
    for entry in ENTRIES:
        file, case, name = entry.pattern.split("::")
        name_of_file = file.removesuffix(".py")
        if name_of_file not in run.COMPILED:
            assert name_of_file in run.FILES
            assert case.endswith("LAZY") and "_lazy" in name


def test_an_entry_without_a_reason_is_refused():
    with pytest.raises(ValueError, match=r"line 1: a\.py::T::t has no reason above it"):
        table.parse("  a.py::T::t\n")


def test_a_verdict_names_what_the_table_does_not_say():
    entries = table.parse("Why.\n  *::test_a_*\n  *::test_b_*\n  *::test_c_*\n")
    rows = [
        row("test_a_lazy", "failed"),
        row("test_b_lazy", "passed"),
        row("test_d_lazy", "failed"),
        row("test_e_lazy", "skipped"),
    ]
    verdict = table.judge(rows, entries)
    assert verdict.unexpected == [rows[2]]
    assert [entry.pattern for entry in verdict.passing] == ["*::test_b_*"]


def test_an_id_of_lazy_becomes_the_cpus():
    test = "nn/test_x.py::TestXLAZY::test_lazy_thing_lazy_float32"
    assert run.on_cpu(test) == "nn/test_x.py::TestXCPU::test_lazy_thing_cpu_float32"


@pytest.mark.slow
@pytest.mark.skipif(
    "LTC_PYTORCH_TESTS" not in os.environ,
    reason="PyTorch's tests are in no wheel: set LTC_PYTORCH_TESTS to its folder test",
)
@pytest.mark.parametrize("name", ["test_complex", "test_indexing", "test_view_ops"])
def test_a_sample_fails_as_the_table_says(name, tmp_path):
    folder = Path(os.environ["LTC_PYTORCH_TESTS"]).resolve()
    rows = run.run(folder, name, "float32,int64", tmp_path)
    assert any(r["outcome"] == "passed" for r in rows)
    verdict = table.judge(rows, ENTRIES)
    assert not verdict.unexpected and not verdict.passing
