# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/egress.md has the tables that the dialects are written by.

`LTC_UPDATE_DOCS=1 pytest tests/python/tools/test_egress_page.py -m ''` rewrites it.
"""

import os
from pathlib import Path

import pytest
import torch_ltc
from egress_samples import export, names, programs
from foreign_compilers import call

PATH = Path(__file__).resolve().parents[3] / "docs/egress.md"
MARK = "<!-- made by tests/python/tools/test_egress_page.py -->\n"
REFUSED = "## What is refused\n"


def listed():
    """Return the rows of `ltc-opt --list-egress` by kind."""
    tool = (Path(torch_ltc.__file__).parent / "lib").resolve().parent / "bin/ltc-opt"
    if not tool.exists():
        pytest.skip("ltc-opt is not beside the libraries")
    rows = {}
    for line in call(tool, "--list-egress").splitlines():
        kind, *cells = line.split("|")
        rows.setdefault(kind, []).append(cells)
    return rows


def spelled(cell, dialect):
    """Return how a dialect says an op on elements."""
    words = {"": "", "*": "several ops", "formula": "a formula"}
    return words.get(cell) if cell in words else f"`{cell.removeprefix(dialect)}`"


def tables():
    rows = listed()
    elements = "\n".join(
        f"| `{op}` | {spelled(hlo, 'stablehlo.')} | {spelled(tosa, 'tosa.')} |"
        for op, hlo, tosa in rows["element"]
    )
    tensors = "\n".join(f"| {' | '.join(cells)} |" for cells in rows["tensor"])
    whole, made = (
        ", ".join(f"`{op.removeprefix('aten::')}`" for (op,) in rows[kind])
        for kind in ("whole", "decomposed")
    )
    return f"""## Ops on tensors

| what | StableHLO | TOSA |
|---|---|---|
{tensors}

## Ops on elements

An empty cell is an op that the dialect does not say.

| op | StableHLO | TOSA |
|---|---|---|
{elements}

## ATen ops beside the rows

Besides the [rows of the compiler](ops.md) these are written, as ops on tensors: \
{whole}. Made of products and rows: {made}.

"""


def refusals(folder):
    """Return the section on what the dialects refuse of OpInfo's first samples."""
    refused, count = {"stablehlo": [], "tosa": []}, 0
    for name in names():
        for program, tensors in programs(name, limit=1):
            found = {d: export(program, tensors, folder / "m", d) for d in refused}
            if any(made is None and not why for made, why in found.values()):
                continue
            count += 1
            for dialect, (made, _) in found.items():
                if made is None:
                    refused[dialect].append(f"`{name}`")
    hlo, tosa = refused["stablehlo"], refused["tosa"]
    more = [name for name in tosa if name not in hlo]
    return f"""{REFUSED}
Of the first sample, in float32, of {count} ops of PyTorch's OpInfo, StableHLO says \
{count - len(hlo)} and TOSA {count - len(tosa)}.

Refused by both: {", ".join(name for name in hlo if name in tosa)}.

By TOSA alone: {", ".join(more)}.
"""


def test_the_page_has_the_tables():
    text = PATH.read_text(encoding="utf-8")
    head, rest = text.split(MARK)
    made = tables()
    tail = rest[rest.index(REFUSED) :] if REFUSED in rest else ""
    if os.environ.get("LTC_UPDATE_DOCS"):
        PATH.write_text(head + MARK + made + tail, encoding="utf-8")
    assert PATH.read_text(encoding="utf-8") == head + MARK + made + tail


@pytest.mark.long
def test_the_page_says_what_is_refused(tmp_path):
    text = PATH.read_text(encoding="utf-8")
    head = text[: text.index(REFUSED)] if REFUSED in text else text
    made = head + refusals(tmp_path)
    if os.environ.get("LTC_UPDATE_DOCS"):
        PATH.write_text(made, encoding="utf-8")
    assert PATH.read_text(encoding="utf-8") == made
