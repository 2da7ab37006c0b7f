# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the demo's picture: the loss of every step, both devices, as SVG."""

import dataclasses
import math
from html import escape

PANEL_WIDTH, PANEL_HEIGHT, GAP = 340, 230, 58
LEFT, TOP, BOTTOM = 58, 84, 66

STYLE = """
  svg { background: #fff; font: 12px system-ui, sans-serif; }
  text { fill: #3b3f46; } .title { font-size: 18px; font-weight: 600; }
  .panel { font-size: 13px; font-weight: 600; } .note { fill: #7a808a; }
  .axis { stroke: #c9cdd3; } .grid { stroke: #eceef1; } .end { text-anchor: end; }
  .middle { text-anchor: middle; } polyline { fill: none; }
  .eager { stroke: #f0a202; stroke-width: 5; stroke-opacity: .55; }
  .lazy { stroke: #1f5fa8; stroke-width: 1.4; }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c; } text { fill: #d5d9df; } .note { fill: #8d949e; }
    .axis { stroke: #4a4f57; } .grid { stroke: #262a30; } .lazy { stroke: #74b0f4; }
  }
"""


@dataclasses.dataclass
class Panel:
    """One job's two curves."""

    title: str
    eager: list
    lazy: list
    note: str


def ticks(low, high):
    """Return up to six round numbers on a logarithmic axis over [low, high]."""
    marks = [digit * 10.0**power for power in range(-9, 9) for digit in (1, 2, 5)]
    inside = [mark for mark in marks if low <= mark <= high]
    if len(inside) > 6:
        inside = [mark for mark in inside if f"{mark:e}"[0] == "1"]
    return inside


def line(style, x1, y1, x2, y2):
    return f'<line class="{style}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def text(style, x, y, words):
    return f'<text class="{style}" x="{x}" y="{y}">{escape(words)}</text>'


def draw_panel(panel, left):
    """Return one panel's SVG elements, its left edge at `left`."""
    shown = [v for v in panel.eager + panel.lazy if math.isfinite(v) and v > 0]
    low, high = min(shown, default=1) * 0.9, max(shown, default=1) * 1.1
    count = max(len(panel.eager), len(panel.lazy), 2)
    base = TOP + PANEL_HEIGHT

    def x(step):
        return round(left + PANEL_WIDTH * step / (count - 1), 1)

    def y(value):
        value = min(max(value, low), high) if math.isfinite(value) else high
        return round(TOP + PANEL_HEIGHT * math.log(high / value, high / low), 1)

    def curve(style, values):
        points = " ".join(f"{x(step)},{y(value)}" for step, value in enumerate(values))
        return f'<polyline class="{style}" points="{points}"/>'

    parts = [text("panel", left, TOP - 14, panel.title)]
    for tick in ticks(low, high):
        parts.append(line("grid", left, y(tick), left + PANEL_WIDTH, y(tick)))
        parts.append(text("note end", left - 8, y(tick) + 4, f"{tick:g}"))
    parts.append(line("axis", left, base, left + PANEL_WIDTH, base))
    for step in (0, count // 2, count - 1):
        parts.append(text("note middle", x(step), base + 18, str(step + 1)))
    parts += [curve("eager", panel.eager), curve("lazy", panel.lazy)]
    parts.append(text("note", left, base + 42, panel.note))
    return parts


def draw(panels, title):
    """Return the whole picture, an SVG document."""
    width = LEFT + len(panels) * (PANEL_WIDTH + GAP)
    height = TOP + PANEL_HEIGHT + BOTTOM
    legend = width - GAP - 330
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}">',
        f"<style>{STYLE}</style>",
        text("title", LEFT, 32, title),
        line("eager", legend, 27, legend + 26, 27),
        text("", legend + 33, 31, "eager on cpu"),
        line("lazy", legend + 130, 27, legend + 156, 27),
        text("", legend + 163, 31, "lazy, compiled through MLIR"),
    ]
    for index, panel in enumerate(panels):
        parts += draw_panel(panel, LEFT + index * (PANEL_WIDTH + GAP))
    return "\n".join([*parts, "</svg>", ""])
