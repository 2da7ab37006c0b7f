# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/ops.md says what becomes of each ATen op, and is not out of date.

`LTC_UPDATE_DOCS=1 pytest tests/python/values/test_ops_page.py` rewrites it.
"""

import os
import re
from pathlib import Path

import op_facts
import parity
import pytest
import torch
import torch_ltc
from test_op_db import SHAPED_BY_VALUES

PATH = Path(__file__).resolve().parents[3] / "docs/ops.md"
PAGE = """# Ops

What becomes of each ATen op on `device='lazy'`, with PyTorch {version}. Made from \
the dispatcher's tables and `ltc-opt --list-rows` by \
`LTC_UPDATE_DOCS=1 pytest tests/python/values/test_ops_page.py`.

- *row*: lowered to `linalg` by the compiler, where it fuses.
- *library call*: one call inside the graph, into PyTorch's CPU kernel. A row \
becomes one too for an element type that it does not compute in, such as a complex one.
- *fallback*: splits the graph, runs on the CPU and is counted as \
`record.fallback.<op>`; `LTC_FALLBACK=error` refuses it.
- *own kernel*: answers from metadata, moves data, or is made of other ops.

Not listed: {composed} that PyTorch itself composes of others, {writing} that write \
to their arguments or return views of them, which functionalisation turns into ones \
that do not, and {elsewhere} that have no kernel for a CPU's dense tensors.

| how | overloads |
|---|---|
{counts}

Where the overloads of an op differ, each has a line of its own.

| op | how | why |
|---|---|---|
{rows}

## Facts

What the layers know about single ops and no schema says: the tables \
`include/ltc/op_facts.def` and `argument_facts.def`. `sort.*` is all overloads of an \
op, `upsample_*` all ops whose names begin so.

| fact | what it says of an op |
|---|---|
{meanings}

| op | facts |
|---|---|
{facts}

Numbers are operands of a graph, so that a new one never recompiles. These stay \
attributes: {attributes}.

Integers are part of a graph's structure but for these, which may vary in a program \
for [sizes left open](dynamic-shapes.md).

| op | argument | what it is |
|---|---|---|
{integers}

Of an index out of range, PyTorch's kernels speak in words of their own.

| op | words |
|---|---|
{words}
"""
# Where a call's arguments say whether it splits the graph.
SOMETIMES = {
    "aten::index.Tensor": (
        "row",
        "a boolean index splits the graph: it decides the shape",
    ),
    "aten::linalg_lstsq": (
        "library call",
        "gelss and gelsd split the graph for more rows than columns: there are "
        "residuals if the rank is full",
    ),
}
OWN = {
    "aten::_ctc_loss",
    "aten::_ctc_loss_backward",
    "aten::_linalg_check_errors",
    "aten::_copy_from",
    "aten::_copy_from_and_resize",
    "aten::_fused_sdp_choice",
    "aten::_has_same_storage_numel",
    "aten::_local_scalar_dense",
    "aten::allclose",
    "aten::equal",
    "aten::is_same_size",
    "aten::is_set_to",
}
_SPARSE, _QUANTIZED = "its result is sparse", "its result is quantized"
# By the beginnings of their names.
NOT_DENSE = {
    "aten::_to_sparse": _SPARSE,
    "aten::_spdiags": _SPARSE,
    "aten::quantize_per_": _QUANTIZED,
    "aten::_make_per_": _QUANTIZED,
    "aten::_empty_per_channel_affine_quantized": _QUANTIZED,
}


def row_names():
    names = parity.listed_rows()
    return names | {n.replace("::", "::_foreach_", 1).split(".")[0] for n in names}


def overloads():
    """Return the schemas of all ATen ops."""
    schemas = torch._C._jit_get_all_schemas()
    return [schema for schema in schemas if schema.name.startswith("aten::")]


def has_kernel(name, key):
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)


def writes_or_views(schema):
    return any(argument.alias_info for argument in schema.arguments)


def fate(schema, rows):
    """Return (how, why) of one overload; `how` is empty if it is not listed."""
    name, overload = schema.name, schema.overload_name
    full = f"{name}.{overload}" if overload else name
    try:
        registered = has_kernel(full, "Lazy")
    except RuntimeError:  # TorchScript's own, such as aten::append
        return "", "elsewhere"
    if has_kernel(full, "CompositeImplicitAutograd"):
        return "", "composed"
    if writes_or_views(schema):
        return "", "writing"
    if full in SOMETIMES:
        return SOMETIMES[full]
    if full in rows or (name.startswith("aten::_foreach_") and name in rows):
        return "row", ""
    if not registered:
        return "", "elsewhere"
    if name in OWN:
        return "own kernel", ""
    for prefix, why in NOT_DENSE.items():
        if name.startswith(prefix):
            return "fallback", why
    reason = torch_ltc._C.fallback_reason(name, overload)
    return ("fallback", reason) if reason else ("library call", "")


def lines(rows):
    """Return the table's lines, and how many ops there are of each kind."""
    fates, counts = {}, {}
    for schema in overloads():
        how, why = fate(schema, rows)
        if not how:
            counts[why] = counts.get(why, 0) + 1
            continue
        counts[how] = counts.get(how, 0) + 1
        fates.setdefault(schema.name, {})[schema.overload_name] = (how, why)
    made = []
    for name, by_overload in sorted(fates.items()):
        short = name.removeprefix("aten::")
        if len(set(by_overload.values())) == 1:
            how, why = next(iter(by_overload.values()))
            made.append(f"| `{short}` | {how} | {why} |")
            continue
        for overload, (how, why) in sorted(by_overload.items()):
            full = f"{short}.{overload}" if overload else short
            made.append(f"| `{full}` | {how} | {why} |")
    return made, counts


def short(ops):
    return f"`{ops.removeprefix('aten::')}`" if ops != "*" else "all"


def fact_tables():
    """Return the parts of the page that the tables of facts fill."""
    attributes = (
        f"`{argument}` of {short(ops)}" for ops, argument in op_facts.ATTRIBUTES
    )
    return {
        "meanings": "\n".join(
            f"| *{fact}* | {meaning} |" for fact, meaning in op_facts.FACTS.items()
        ),
        "facts": "\n".join(
            f"| {short(ops)} | {', '.join(facts)} |"
            for ops, facts in op_facts.OPS.items()
        ),
        "attributes": ", ".join(attributes),
        "integers": "\n".join(
            f"| {short(ops)} | `{argument}` | {kind} |"
            for ops, argument, kind in op_facts.INTEGERS
        ),
        "words": "\n".join(
            f"| {short(ops)} | {words} |" for ops, words in op_facts.INDEX_WORDS.items()
        ),
    }


def test_the_page_is_what_the_dispatcher_says():
    torch.zeros(1, device="lazy").cpu()
    rows = row_names()
    if not rows:
        pytest.skip("ltc-opt is not beside the libraries")
    made, counts = lines(rows)
    kinds = ("row", "library call", "fallback", "own kernel")
    page = PAGE.format(
        version=".".join(torch.__version__.split(".")[:2]),
        composed=counts["composed"],
        writing=counts["writing"],
        elsewhere=counts["elsewhere"],
        counts="\n".join(f"| {kind} | {counts[kind]} |" for kind in kinds),
        rows="\n".join(made),
        **fact_tables(),
    )
    if os.environ.get("LTC_UPDATE_DOCS"):
        PATH.write_text(page, encoding="utf-8")
    assert PATH.read_text(encoding="utf-8") == page


def test_the_page_agrees_with_the_ops_that_split():
    page = PATH.read_text(encoding="utf-8").splitlines()
    page = page[: page.index("## Facts")]
    lines = {line.split("`")[1]: line for line in page if line.startswith("| `")}
    for op in SHAPED_BY_VALUES:
        name = op.removeprefix("aten::")
        line = lines.get(name) or lines[name.split(".")[0]]
        assert re.search(r"\| fallback \||splits? the graph", line), line
