# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every compile says why it happened, at the right lines."""

import inspect
import re

import pytest
import recompiling
import torch
import torch_ltc
from recompiling import PROGRAMS, ones


def marked(program, mark):
    """Return the line of `program`, or of what it calls, that has the mark."""
    for function in (program, recompiling.twice_with_a_cache_on_disk):
        lines, first = inspect.getsourcelines(function)
        for number, line in enumerate(lines, first):
            if f"# {mark}:" in line or "# both:" in line:
                return number
    return 0


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_cause_is_named_with_its_lines(program, tmp_path, counts):
    cause, op, words = PROGRAMS[program]
    program(tmp_path)
    found = torch_ltc.explain()[-1]
    assert found.cause == cause, str(found)
    assert op in ("", found.op)
    assert re.search(words, found.what), found.what
    assert found.source.file.endswith("recompiling.py")
    assert found.source.line == marked(program, "now"), str(found)
    if cause != "first_use":
        assert found.earlier.line == marked(program, "before"), str(found)
        assert found.remedy and 0 < found.compared_with < found.number
    assert found.ops >= 1 and found.seconds > 0 and not found.from_disk
    assert counts[f"cache.cause.{cause}"] >= 1


def test_every_cause_has_a_program():
    assert {cause for cause, _, _ in PROGRAMS.values()} == set(torch_ltc.autopsy.CAUSES)


def test_counters_add_up_to_the_compiles(counts):
    for size in (70, 71, 70):
        ones(size, 3).exp().cpu()
    causes = [counts[f"cache.cause.{cause}"] for cause in torch_ltc.autopsy.CAUSES]
    assert sum(causes) == counts["codegen.graphs"] == 2
    assert counts["cache.cause.shape"] == counts["cache.cause.first_use"] == 1


def test_what_comes_from_disk_is_no_compile(tmp_path, counts):
    scope = {"cache": "rw", "cache_dir": str(tmp_path), "cache_memory_bytes": 1}
    x = ones(72, 3)
    with torch_ltc.settings.scope(**scope):
        for op in (torch.sin, torch.cos, torch.sin):
            op(x).cpu()
    last = torch_ltc.explain()[-1]
    assert last.from_disk and last.cause == "evicted"
    assert "loaded from disk" in str(last)
    assert counts["codegen.graphs"] == 2 and counts["cache.cause.evicted"] == 0
    assert "1 loaded from disk" in str(torch_ltc.autopsy.Report([last]))


def test_the_report_is_for_people_and_programs():
    before = len(torch_ltc.explain())
    with torch_ltc.settings.scope(dynamic="off"):
        for size in (73, 74):
            ones(size, 3).exp().cpu()
    report = torch_ltc.autopsy.Report(torch_ltc.explain()[before:])
    assert report.causes["shape"] == 1
    text = str(report)
    assert text.splitlines()[0].endswith("compiled (first_use 1, shape 1)")
    assert "was 73 and is 74" in text
    assert "recompiling.py" in text or "test_autopsy.py" in text
    assert "try " in text


def test_a_compile_with_sizes_left_open_says_so():
    for size in (76, 77):
        ones(size, 9).exp().sinh().cpu()
    one, open_ = torch_ltc.explain()[-2:]
    assert not one.sizes_open and open_.sizes_open
    assert open_.cause == "shape" and "was 76 and is 77" in open_.what
    assert "compiled with sizes left open in" in str(open_)
    assert "mark_dynamic" in open_.remedy and "drop_last" not in open_.remedy


def test_a_compile_for_one_size_says_what_helps():
    with torch_ltc.settings.scope(dynamic="off"):
        for size in (78, 79):
            ones(size, 9).cosh().sinh().cpu()
        off = torch_ltc.explain()[-1]
    assert off.cause == "shape" and not off.sizes_open
    assert "drop_last" in off.remedy and "LTC_DYNAMIC=auto" in off.remedy


def test_values_recompile_nothing(counts):
    model = torch.nn.Linear(75, 2).to("lazy")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    x = ones(3, 75)
    for step in range(6):
        if step == 3:
            counts.restart()
        optimizer.param_groups[0]["lr"] = 0.1 / (step + 1)
        loss = (model(x) * (step + 0.5)).square().mean() + step
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert counts["codegen.graphs"] == 0


LOOP = """
import torch
import torch_ltc
for size in (3, 3, 4):
    torch.ones(size, 5).to("lazy").exp().sum().item()
print(torch_ltc.explain())
"""


def test_the_log_has_a_line_for_each_compile(run_python):
    lines = run_python(LOOP, LTC_LOG="cache=info").stderr.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(
        r"\[ltc info cache\] graph 1 \(2 ops\), compiled in .* s: first_use, .*"
        r"program.py:5 in <module>",
        lines[0],
    )
    assert "shape, dim 0 of input 0, 'self' of aten::exp, was 3 and is 4" in lines[1]
    assert "; try: " in lines[1]


def test_without_source_lines_the_cause_is_still_found(run_python):
    text = run_python(LOOP, LTC_SOURCE_LINES="0").stdout
    assert "shape: dim 0 of input 0, 'self' of aten::exp, was 3 and is 4" in text
    assert "program.py" not in text


STEADY = """
import torch
x = torch.ones(8, 8).to("lazy")
for step in range(100):
    y = x.exp() * step
    torch.lazy.mark_step()
    if step % 2:
        y.cpu()
"""


def test_the_log_says_once_who_waits_in_a_loop(run_python):
    lines = run_python(STEADY, LTC_LOG="execute=info").stderr.splitlines()
    assert len(lines) == 1
    pattern = (
        r"\[ltc info execute\] (host|device)-bound: the device idles (\d+) % of a step "
        r"of \S+ ms, in a loop that launches a graph of 2 ops for .*program.py:6 in .*"
    )
    word, share = re.fullmatch(pattern, lines[0]).groups()
    assert (word == "host") == (int(share) > 50) or int(share) == 50


def test_a_quiet_program_says_nothing(run_python):
    assert run_python(STEADY).stderr == ""
