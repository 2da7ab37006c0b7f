# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renews what the documents take from a run; the rest is written by hand."""

import re

import ablation
import chart
import profile_cost
import report
import tracing

BEGIN, END = "<!-- made by benchmarks/page.py -->", "<!-- end -->"
#: Of a machine without AVX-512, or one told to do without.
BEGIN_AVX2 = "<!-- made by benchmarks/page.py with AVX2 -->"
END_AVX2 = "<!-- end of AVX2 -->"


def markdown(result):
    """Return the table, what is behind a peer, and where it was measured."""
    lines = ["", *report.heading(result), ""]
    lines += [
        "",
        f"| {' | '.join(report.COLUMNS)} |",
        "|---" * len(report.COLUMNS) + "|",
    ]
    for row in report.all_cells(result):
        padded = row + [""] * (len(report.COLUMNS) - len(row))
        lines.append(f"| {' | '.join(padded)} |")
    for title, *entries in (report.missed(result), report.behind_peers(result)):
        lines += ["", title.capitalize()]
        lines += ["", *[f"- {words}" for words in entries]] if entries else []
    return "\n".join([*lines, ""])


def replace_part(path, begin, end, part):
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"bench: {path} has lost the marks around its table")
    path.write_text(pattern.sub(lambda _: part, text), encoding="utf-8")


def renew(docs, result):
    """Rewrite what this run measured: the tables and charts, or one of the others."""
    path = docs / "performance.md"
    if "profiling" in result:
        part = profile_cost.markdown(result["profiling"], report.heading(result))
        begin, end = profile_cost.BEGIN, profile_cost.END
        return replace_part(docs / "profiling.md", begin, end, part)
    if "tracing" in result:
        part = tracing.markdown(result["tracing"], report.heading(result))
        return replace_part(path, tracing.BEGIN, tracing.END, part)
    if ablation.was_run(result):
        part = ablation.markdown(result)
        return replace_part(path, ablation.BEGIN, ablation.END, part)
    part = markdown(result)
    if result["machine"]["vectors"] != "AVX-512":
        part = f"{BEGIN_AVX2}\n{part}\n{END_AVX2}"
        return replace_part(path, BEGIN_AVX2, END_AVX2, part)
    chart_line = "\n![step times](performance.svg)\n"
    replace_part(path, BEGIN, END, f"{BEGIN}\n{chart_line}{part}\n{END}")
    (docs / "performance.svg").write_text(chart.draw(result), encoding="utf-8")
