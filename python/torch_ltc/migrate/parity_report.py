# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ``migrate parity`` found, as text, JSON and a page that needs no network."""

import json
import statistics
from pathlib import Path

from torch_ltc.migrate import parity

FORMAT, VERSION = "torch_ltc.parity", 1
_PAGE = Path(__file__).with_name("parity_page.html")
_MARK = "/*PARITY*/"


def as_dict(found, script, rtol=None):
    """Return everything, for programs."""
    modes = {}
    for mode, seen in found.items():
        row = {name: value for name, value in seen.items() if name != "parameters"}
        if not _failed(found["eager"]) and not _failed(seen) and mode != "eager":
            row["compared"] = parity.compare(found, mode, rtol)._asdict()
        modes[mode] = row
    return {
        "format": FORMAT,
        "version": VERSION,
        "script": script.path,
        "arguments": list(script.arguments),
        "after": script.after,
        "rtol": rtol,
        "verdict": verdict(modes),
        "rows": _rows(modes),
        "modes": modes,
    }


def verdict(modes):
    """Return ``"parity"``, ``"differs"`` or ``"failed"``."""
    if any(_failed(row) for row in modes.values()):
        return "failed"
    if not modes["eager"]["losses"]:
        return "failed"
    told = [row["compared"]["problems"] for row in modes.values() if "compared" in row]
    return "differs" if any(told) else "parity"


def _failed(row):
    return row.get("failed")


def sentences(data):
    """Return what is wrong, a sentence each."""
    for mode, row in data["modes"].items():
        if _failed(row):
            where = row["failed"]["line"] or "no line of the script"
            yield f"{mode} failed at {where}: {row['failed']['error']}"
        for problem in row.get("compared", {}).get("problems", ()):
            yield f"{mode}: {problem}"
    eager = data["modes"]["eager"]
    if not _failed(eager) and not eager["losses"]:
        yield "no optimizer took a step: there is nothing to compare"


def _rows(modes):
    """Return (title, a text for each mode)."""
    table = (
        ("steps", lambda row: str(len(row["losses"]))),
        ("first loss", lambda row: _loss(row, 0)),
        ("last loss", lambda row: _loss(row, -1)),
        ("losses differ by", lambda row: _compared(row, "losses")),
        ("parameters differ by", lambda row: _compared(row, "parameters")),
        ("their norms on the way", lambda row: _compared(row, "sums")),
        ("random numbers", _random),
        ("graphs compiled", lambda row: str(row["graphs"]["codegen.graphs"])),
        ("fallbacks", lambda row: str(row["graphs"]["fallbacks"])),
        ("Dynamo's graphs, breaks", _dynamo),
        ("first step, ms", lambda row: _ms(row["step_seconds"][:1])),
        ("a step, ms", lambda row: _ms(row["step_seconds"][len(row["losses"]) // 2 :])),
        ("peak memory, MiB", lambda row: f"{row['peak_bytes'] / 2**20:.0f}"),
    )
    return [
        (title, ["failed" if _failed(row) else cell(row) for row in modes.values()])
        for title, cell in table
    ]


def _loss(row, place):
    losses = [loss for step in row["losses"] for loss in step]
    return f"{losses[place]:.6g}" if losses else "-"


def _compared(row, name):
    return f"{row['compared'][name]:.1e}" if "compared" in row else "-"


def _random(row):
    if "compared" not in row:
        return "-"
    step = row["compared"]["streams"]
    return "equal" if step is None else f"others from step {step}"


def _dynamo(row):
    graphs = row["graphs"]
    if "dynamo.graphs" not in graphs:
        return "-"
    return f"{graphs['dynamo.graphs']}, {graphs['dynamo.breaks']}"


def _ms(seconds):
    if not seconds:
        return "-"
    value = 1e3 * statistics.median(seconds)
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def text(data):
    """Return a table, what is wrong, and a verdict."""
    modes, lines = data["modes"], []
    if not all(map(_failed, modes.values())):
        lines.append(f"{'':24}" + "".join(f"{name:>22}" for name in modes))
        for title, cells in data["rows"]:
            lines.append(f"{title:24}" + "".join(f"{cell:>22}" for cell in cells))
        lines.append("")
    lines += sentences(data)
    told = []
    for mode, row in modes.items():
        if _failed(row) and row.get("said") and _failed(row) not in told:
            told.append(_failed(row))
            lines += [f"{mode} said last:", *(f"  {line}" for line in row["said"])]
    return "\n".join([*lines, f"parity: {_VERDICTS[data['verdict']]}"])


_VERDICTS = {
    "parity": "ok",
    "differs": "the runs differ",
    "failed": "not all of it ran",
}


def page(data):
    """Return the page: one file, which loads nothing."""
    shown = {**data, "sentences": list(sentences(data))}
    # "</script>" in a path must not end the script.
    held = json.dumps(shown).replace("<", "\\u003c")
    return _PAGE.read_text(encoding="utf-8").replace(_MARK, held)
