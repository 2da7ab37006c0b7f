# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows one graph of a run at each stage, from the files that LTC_DUMP wrote."""

import re
import shutil
from pathlib import Path

# Each stage, and the line around which a few are shown: relu, all the way.
STAGES = [
    (".ltc", "graph: what the program recorded", r"aten::relu"),
    (".import.mlir", "import: the same in the ltc dialect", r"aten::relu"),
    (".lower.mlir", "lower: mathematics on tensors", r"cmpf olt, %in"),
    (".optimize.mlir", "optimize: fused, a loop over vectors", r"cmpf olt.*vector"),
    (".codegen.ll", "codegen: what LLVM gets", r"fcmp \w+ <\d+ x float>"),
]


def fresh_directory(path):
    """Make an empty directory at `path`, for the dumps of this run alone."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def largest_graph(directory):
    """Return the stem of the graph with the most nodes, the training step; or None."""
    graphs = sorted(
        Path(directory).glob("*.ltc"), key=lambda path: (path.stat().st_size, path.name)
    )
    return graphs[-1].with_suffix("") if graphs else None


def excerpt(text, pattern, lines, width=110):
    """Return `lines` lines around the first that matches `pattern`."""
    body = [line.rstrip() for line in text.splitlines() if line.strip()]
    hits = [i for i, line in enumerate(body) if re.search(pattern, line)]
    start = max(0, (hits[0] if hits else 0) - lines // 2)
    window = body[start : start + lines]
    indent = min((len(line) - len(line.lstrip()) for line in window), default=0)
    window = [line[indent:] for line in window]
    return [x if len(x) <= width else x[: width - 1] + "…" for x in window]


def show(directory, lines=5):
    """Print a few lines of each stage of one graph; False if there is none."""
    stem = largest_graph(directory)
    if stem is None:
        return False
    print(f"\none graph of the first run on its way, {stem.name}")
    for suffix, title, pattern in STAGES:
        path = stem.with_name(stem.name + suffix)
        if not path.exists():
            continue
        text = path.read_text()
        print(f"\n  {title} ({len(text.splitlines())} lines, {path.name})")
        for line in excerpt(text, pattern, lines):
            print(f"    {line}")
    return True
