# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renews what docs/performance.md takes from a run; the rest is written by hand."""

import re

import chart
import report

BEGIN, END = "<!-- made by benchmarks/page.py -->", "<!-- end -->"


def markdown(result):
    """Return the table, what is behind a peer, and where it was measured."""
    lines = [BEGIN, "", *report.heading(result), "", "![step times](performance.svg)"]
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
    lines += ["", END]
    return "\n".join(lines)


def renew(docs, result):
    """Rewrite the generated part of the page, and its chart."""
    path = docs / "performance.md"
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"bench: {path} has lost the marks around its table")
    new = pattern.sub(lambda _: markdown(result), text)
    path.write_text(new, encoding="utf-8")
    (docs / "performance.svg").write_text(chart.draw(result), encoding="utf-8")
