# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws step times as ratios to eager: a line a workload, a dot a contender."""

import math
from html import escape

LINE, LEFT, WIDTH, TOP = 24, 190, 560, 96
LOW, HIGH = 0.08, 12.0
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
CLASSES = {
    "lazy": "c0",
    "inductor": "c1",
    "eager-fused": "c2",
    "ts": "c3",
    "xla": "c4",
    "jax": "c5",
}
OTHERS = "c6"
STYLE = """
  svg { background: #fff; font: 12px system-ui, sans-serif; }
  text { fill: #3b3f46; } .title { font-size: 18px; font-weight: 600; }
  .note { fill: #7a808a; } .end { text-anchor: end; } .middle { text-anchor: middle; }
  .grid { stroke: #e3e6ea; } .row { stroke: #f0f2f4; } .one { stroke: #8d949e; }
  .target { stroke: #20242a; stroke-width: 2; }
  .c0 { fill: #2563eb; stroke: #2563eb; } .c1 { fill: #d97706; stroke: #d97706; }
  .c2 { fill: #059669; stroke: #059669; } .c3 { fill: #9ca3af; stroke: #9ca3af; }
  .c4 { fill: #7c3aed; stroke: #7c3aed; } .c5 { fill: #db2777; stroke: #db2777; }
  .c6 { fill: #0891b2; stroke: #0891b2; }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c; } text { fill: #d5d9df; } .note { fill: #8d949e; }
    .grid { stroke: #2b2f36; } .row { stroke: #22262c; } .target { stroke: #e6e8eb; }
  }
"""


def x(ratio):
    """Return where a ratio stands, on a logarithmic scale."""
    inside = min(max(ratio, LOW), HIGH)
    return round(LEFT + WIDTH * math.log(inside / LOW) / math.log(HIGH / LOW), 1)


def line(style, x1, y1, x2, y2):
    return f'<line class="{style}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def text(style, at, y, words):
    return f'<text class="{style}" x="{at}" y="{y}">{escape(words)}</text>'


def dot(style, at, y, radius):
    return f'<circle class="{style}" cx="{at}" cy="{y}" r="{radius}"/>'


def legend(names):
    parts, at = [], LEFT
    for name in names:
        style = CLASSES.get(name, OTHERS)
        parts += [dot(style, at + 5, 70, 4.5), text("", at + 16, 74, name)]
        at += 40 + 7 * len(name)
    parts += [line("target", at + 5, 63, at + 5, 77), text("", at + 14, 74, "target")]
    return parts


def draw_row(row, y):
    """Return the spread and the dot of one contender; ours is larger."""
    style, ratio = CLASSES.get(row["contender"], OTHERS), row["ratio"]
    radius = 5 if row["contender"] == "lazy" else 3.8
    return [
        line(style, x(ratio["low"]), y, x(ratio["high"]), y),
        dot(style, x(ratio["median"]), y, radius),
    ]


def draw(result):
    """Return an SVG document of all rows that are not eager's."""
    quantity = "step_ms" if result["machine"]["threads"] > 1 else "cpu_ms"
    words = "wall time, all threads" if quantity == "step_ms" else "CPU time, 1 thread"
    rows = [
        row | {"ratio": row["times"][quantity]["ratio"]}
        for row in result["rows"]
        if row["contender"] != "eager"
    ]
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    bottom = TOP + LINE * len(workloads)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg"'
        f' width="{LEFT + WIDTH + 70}" height="{bottom + 40}">',
        f"<style>{STYLE}</style>",
        text("title", 24, 30, "Time of a step, as a ratio to eager PyTorch"),
        text("note", 24, 50, f"{words}; less is better; lines: quartiles"),
        *legend(dict.fromkeys(row["contender"] for row in rows)),
    ]
    parts.append(text("note", LEFT + WIDTH + 14, TOP - 8, "lazy"))
    for tick in TICKS:
        style = "one" if tick == 1 else "grid"
        parts.append(line(style, x(tick), TOP - 6, x(tick), bottom + 6))
        parts.append(text("note middle", x(tick), bottom + 24, f"{tick:g}"))
    for index, workload in enumerate(workloads):
        y = TOP + LINE * index + LINE // 2
        parts.append(text("end", LEFT - 14, y + 4, workload))
        parts.append(line("row", LEFT, y, LEFT + WIDTH, y))
        here = [row for row in rows if row["workload"] == workload]
        if target := here[0]["targets"].get("step_ms"):
            parts.append(line("target", x(target), y - 8, x(target), y + 8))
        for row in sorted(here, key=lambda row: row["contender"] == "lazy"):
            parts += draw_row(row, y)
        ours = [row for row in here if row["contender"] == "lazy"]
        if ours:
            label = f"{ours[0]['ratio']['median']:.2f}"
            parts.append(text("", LEFT + WIDTH + 14, y + 4, label))
    return "\n".join([*parts, "</svg>", ""])
