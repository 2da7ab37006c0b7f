# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile time against the number of ops in a graph; `make bench` runs it.

What is measured is processor time from a recorded graph to its first result,
with nothing cached. A line is fitted through the logarithms from 100 ops on:
its slope is the power of the number of ops with which the time grows.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from html import escape
from pathlib import Path

from chart import STYLE, dot, line, text

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
SMALL_SIZES = (10, 30, 100)
FITTED_FROM = 100
LEFT, TOP, WIDTH, HEIGHT = 70, 80, 520, 320


def chain(ops, rows):
    """Elementwise ops, each on the one before."""
    import torch

    x = torch.ones(rows, device="lazy")
    for i in range(ops):
        x = (x * 1.5, x + 1, x.relu(), -x)[i % 4]
    return x


def layers(ops, rows):
    """Equal layers: a product, an activation, a scale."""
    import torch

    x, weight = torch.ones(4, rows).to("lazy"), torch.ones(rows, rows).to("lazy")
    for _ in range(ops // 3):
        x = (x @ weight).relu() * 0.1
    return x


def training(ops, rows):
    """Forward, backward and update of equal layers with weights of their own."""
    import torch

    weights = [
        torch.ones(rows, rows).to("lazy").requires_grad_()
        for _ in range(max(1, ops // 12))
    ]
    x = torch.ones(4, rows).to("lazy")
    for weight in weights:
        x = torch.nn.functional.layer_norm(x @ weight, (rows,)).relu()
    x.sum().backward()
    with torch.no_grad():
        for weight in weights:
            weight -= 0.1 * weight.grad
    return weights


KINDS = {"chain": chain, "layers": layers, "training": training}


def compile_times(kind, sizes):
    """Return ``[ops, processor seconds]`` of one new graph for each size."""
    import torch
    import torch_ltc

    points = []
    # The first compile also loads and starts the compiler.
    for number, size in enumerate([sizes[0], *sizes]):
        keep = KINDS[kind](size, 33 + number)
        start = time.process_time()
        torch.lazy.mark_step(wait=True)
        seconds = time.process_time() - start
        points.append([torch_ltc.explain()[-1].ops, seconds])
        del keep
    return points[1:]


def measure(sizes):
    """Run each kind in a process of its own; return ``{kind: points}``."""
    found = {}
    for kind in KINDS:
        print(f"growth of {kind} ...", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--kind", kind, "--sizes"]
        done = subprocess.run(
            [*command, *map(str, sizes)],
            env=os.environ | {"LTC_CACHE": "off"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found[kind] = json.loads(done.stdout)
    return found


def power(points):
    """Return with which power of the ops the time grows."""
    logs = [(math.log(n), math.log(s)) for n, s in points if n >= 0.8 * FITTED_FROM]
    if len(logs) < 2:
        return math.nan
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return above / sum((x - mean_x) ** 2 for x, _ in logs)


def table(result):
    """Return the figures as text."""
    lines = ["compile time by ops, CPU ms (us an op)"]
    for kind, points in result.items():
        cells = (f"{n}: {1e3 * s:.0f} ({1e6 * s / n:.0f})" for n, s in points)
        lines.append(f"{kind:9} {'  '.join(cells)}  grows as n^{power(points):.2f}")
    return "\n".join(lines)


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def draw(result):
    """Return an SVG document: both axes logarithmic, a dashed line is linear."""
    points = [point for each in result.values() for point in each]
    x_low, x_high = decades([n for n, _ in points])
    y_low, y_high = decades([s for _, s in points])

    def at(ops, seconds):
        x = (math.log10(ops) - x_low) / (x_high - x_low)
        y = (math.log10(seconds) - y_low) / (y_high - y_low)
        return round(LEFT + WIDTH * x, 1), round(TOP + HEIGHT * (1 - y), 1)

    bottom = TOP + HEIGHT
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg"'
        f' width="{LEFT + WIDTH + 40}" height="{bottom + 60}">',
        f"<style>{STYLE} path {{ fill: none; stroke-width: 1.5; }}"
        " .linear { stroke: #8d949e; stroke-dasharray: 5 4; }</style>",
        text("title", 24, 30, "Compile time of a graph, by its number of ops"),
    ]
    for exponent in range(x_low, x_high + 1):
        x, _ = at(10.0**exponent, 10.0**y_low)
        parts.append(line("grid", x, TOP, x, bottom))
        parts.append(text("note middle", x, bottom + 20, f"{10**exponent:,}"))
    for exponent in range(y_low, y_high + 1):
        _, y = at(10.0**x_low, 10.0**exponent)
        parts.append(line("grid", LEFT, y, LEFT + WIDTH, y))
        parts.append(text("note end", LEFT - 8, y + 4, f"{10.0**exponent:g} s"))
    parts.append(text("note middle", LEFT + WIDTH // 2, bottom + 44, "ops"))
    for number, (kind, each) in enumerate(result.items()):
        style, places = f"c{number}", [at(*point) for point in each]
        steps = " L".join(f"{x} {y}" for x, y in places)
        # A path's style must not fill it.
        parts.append(f'<path class="{style}" style="fill: none" d="M{steps}"/>')
        parts += [dot(style, x, y, 3.5) for x, y in places]
        left = LEFT + 170 * number
        parts += [dot(style, left + 5, 56, 4.5)]
        label = escape(f"{kind}, n^{power(each):.2f}")
        parts.append(text("", left + 16, 60, label))
    # Through the middle of the first kind, as a linear time would go.
    middle = next(iter(result.values()))[-1]
    ends = [max(10.0**x_low, middle[0] * 10.0**y_low / middle[1]), middle[0]]
    first, last = (at(n, middle[1] * n / middle[0]) for n in ends)
    parts.append(line("linear", *first, *last))
    parts.append(line("linear", LEFT + 478, 56, LEFT + 498, 56))
    parts.append(text("", LEFT + 506, 60, "linear"))
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, help="measure one, write JSON")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    out = Path(__file__).resolve().parent.parent / "build" / "bench" / "growth.svg"
    parser.add_argument("--chart", type=Path, default=out)
    options = parser.parse_args()
    if options.kind:
        print(json.dumps(compile_times(options.kind, options.sizes)))
        return
    result = measure(options.sizes)
    print(table(result))
    options.chart.parent.mkdir(parents=True, exist_ok=True)
    options.chart.write_text(draw(result), encoding="utf-8")
    print(f"wrote {options.chart}")


if __name__ == "__main__":
    main()
