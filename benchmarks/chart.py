# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the ratios to eager as bars with their spread, as SVG."""

from html import escape

import report

BAR_HEIGHT, LEFT, WIDTH, TOP = 30, 210, 440, 78
STYLE = """
  svg { background: #fff; font: 12px system-ui, sans-serif; }
  text { fill: #3b3f46; } .title { font-size: 18px; font-weight: 600; }
  .note { fill: #7a808a; } .bar { fill: #5b93d1; } .over { fill: #d97b66; }
  .end { text-anchor: end; } .middle { text-anchor: middle; }
  .spread { stroke: #20242a; stroke-width: 1.5; } .one { stroke: #8d949e; }
  .limit { stroke: #c2410c; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c; } text { fill: #d5d9df; } .note { fill: #8d949e; }
    .spread { stroke: #e6e8eb; }
  }
"""


def line(style, x1, y1, x2, y2):
    return f'<line class="{style}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def text(style, x, y, words):
    return f'<text class="{style}" x="{x}" y="{y}">{escape(words)}</text>'


def draw(rows):
    """Return an SVG document with a bar for each row that is not eager's."""
    rows = [row for row in rows if row["contender"] != "eager"]
    highest = max([2.2, *(row["ratio"]["high"] for row in rows)])

    def x(ratio):
        return round(LEFT + WIDTH * ratio / highest, 1)

    bottom = TOP + BAR_HEIGHT * len(rows)
    size = f'width="{LEFT + WIDTH + 90}" height="{bottom + 40}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{STYLE}</style>",
        text("title", 24, 32, "Time and memory, as a ratio to eager PyTorch"),
        text("note", 24, 52, "less is better; thin line: quartiles; red mark: limit"),
    ]
    for index, row in enumerate(rows):
        ratio, y = row["ratio"], TOP + BAR_HEIGHT * index
        middle = y + BAR_HEIGHT / 2 - 2
        limit = report.LIMITS.get(row["quantity"])
        name = f"{row['workload']}  {report.UNITS[row['quantity']]}"
        style = "over" if limit and ratio["median"] > limit else "bar"
        parts += [
            text("end", LEFT - 12, middle + 4, f"{row['contender']}  {name}"),
            f'<rect class="{style}" x="{LEFT}" y="{y + 4}" rx="2"'
            f' width="{x(ratio["median"]) - LEFT:.1f}" height="{BAR_HEIGHT - 12}"/>',
            line("spread", x(ratio["low"]), middle, x(ratio["high"]), middle),
            text(
                "",
                x(max(ratio["high"], limit or 0)) + 10,
                middle + 4,
                f"{ratio['median']:.2f}",
            ),
        ]
        if limit:
            parts.append(line("limit", x(limit), y + 2, x(limit), y + BAR_HEIGHT - 6))
    parts.append(line("one", x(1), TOP - 6, x(1), bottom + 6))
    parts.append(text("note middle", x(1), bottom + 22, "eager = 1"))
    return "\n".join([*parts, "</svg>", ""])
