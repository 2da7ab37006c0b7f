# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of a profile: ``profile.json``, ``trace.json``, ``profile.html``."""

import contextlib
import json
import os
import platform
import sys
import time
from pathlib import Path

import torch

from torch_ltc.profiling import (
    profile_advice,
    profile_machine,
    profile_text,
    profile_timeline,
    profile_trace,
)

FORMAT = "torch_ltc.profile"
VERSION = 1

_PAGE = Path(__file__).with_name("profile_page.html")
_TIMELINE = Path(__file__).with_name("profile_timeline.js")
# The compiler's dumps of a graph, in this folder beside the page, by stage.
STAGES = "stages"
_DUMPS = {
    "import": ".import.mlir",
    "lower": ".lower.mlir",
    "optimize": ".optimize.mlir",
    "codegen": ".codegen.ll",
}
_PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
_MOST_STAGED = 12  # graphs, those that ran longest
_MOST_TEXT = 200_000
# A page that holds more opens slowly; the other two files hold all.
_MOST_STEPS = 20_000
_MOST_SAMPLES = 2_000  # of memory: a picture is 900 points wide


def check(directory, stages=False):
    """Make the directories; raise OSError unless files can be written into them."""
    for folder in [directory, os.path.join(directory, STAGES)][: 1 + stages]:
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"cannot write into the directory {folder}")


def write(data, directory):
    """Write all files, each of which is whole or absent."""
    found = as_dict(data)
    _write(directory, "profile.json", _json(found))
    _write(directory, "trace.json", _json(profile_trace.events(data)))
    _write(directory, "profile.html", _page(data, found, directory))


def _json(value):
    """Return JSON; browsers read no NaN or Infinity, which Python would write."""
    return json.dumps(value, allow_nan=False)


def as_dict(data):
    """Return what ``profile.json`` holds."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_by": {
            "torch": torch.__version__,
            "python": platform.python_version(),
            "threads": torch.get_num_threads(),
            "command": list(sys.orig_argv),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        },
        "machine": vars(profile_machine.limits(_reached(data))),
        **data.as_dict(),
    }


def _reached(data):
    """Return the most operations a second of a product, whose operations are known."""
    timed = (row for row in data.kernels if row.time and row.name in _PRODUCTS)
    return max((1e9 * row.flops / row.time for row in timed), default=0.0)


def _page(data, found, directory):
    names = ("runs", "syncs", "steps", "memory")
    shown = {name: value for name, value in found.items() if name not in names}
    thin = max(1, len(found["memory"]) // _MOST_SAMPLES)
    shown["memory"] = found["memory"][::thin]
    shown["peak"] = data.peak and {**vars(data.peak), "total": data.peak.total}
    steps = found["steps"]
    shown["steps"] = steps[:_MOST_STEPS]
    shown["left_out"] = len(steps) - len(shown["steps"])
    shown["summary"] = profile_text.summary(data)
    shown["advice"] = [vars(row) for row in profile_advice.advice(data)]
    shown["fallbacks"] = [
        row | {"remedy": profile_advice.remedy(each)}
        for row, each in zip(found["ledger"], data.ledger, strict=True)
        if each.cause == "fallback"
    ]
    shown["timeline"] = profile_timeline.timeline(data)
    shown["graphs"] = [
        graph | {"stages": _stages(directory, graph["key"], place)}
        for place, graph in enumerate(found["graphs"])
    ]
    # "</script>" in a file's name must not end the script.
    text = _json(shown).replace("<", "\\u003c")
    page = _PAGE.read_text(encoding="utf-8")
    page = page.replace("/*TIMELINE*/", _TIMELINE.read_text(encoding="utf-8"))
    return page.replace("/*PROFILE*/", text)


def _stages(directory, key, place):
    """Return the text of a graph at each stage that was dumped."""
    texts = {}
    for stage, suffix in _DUMPS.items():
        path = Path(directory, STAGES, key + suffix)
        if place < _MOST_STAGED and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            more = f"\n… and more, in {path.name}" if len(text) > _MOST_TEXT else ""
            texts[stage] = text[:_MOST_TEXT] + more
    return texts


def _write(directory, name, text):
    path = Path(directory, name)
    part = path.with_name(f".{name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
