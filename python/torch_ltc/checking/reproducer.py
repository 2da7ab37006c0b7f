# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reproducers: a graph, its inputs and a script that fails without the program.

    path = reproducer.write(graph, what, inputs)

Its directory has

DIRECTORY/repro.py     run it: exits with 1 while the graph is wrong, else with 0
DIRECTORY/graph.ltc    the graph, or the part of it that is enough
DIRECTORY/inputs.pt    its inputs, for torch.load()
DIRECTORY/whole.ltc    the graph that the program ran
DIRECTORY/cache        the entry of the cache on disk, if that is at fault
"""

import contextlib
import importlib.metadata
import itertools
import os
import sys
import tempfile
from pathlib import Path

import torch

from torch_ltc import cache, settings
from torch_ltc.checking.mismatch import mismatch
from torch_ltc.startup import start

# A program that compiles wrong graphs compiles many.
_MOST = 20
_written = itertools.count(1)
_running = []  # reproducers, which need no other one

# Settings that say where things go, or what this module is for.
_NOT_KEPT = ("cache", "cache_dir", "dump", "log", "profile", "repro_dir", "verify")

_SCRIPT = '''\
"""{what}

Made by torch_ltc {version} with PyTorch {torch}. `python repro.py` exits with 1 while
this is so.
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
os.environ.update({environment})
{cache}
from torch_ltc.checking import reproducer

sys.exit(reproducer.run(HERE))
'''


def write(graph, what, inputs=None, whole=None, cache=False):
    """Write a reproducer; return its directory, or None if it cannot be written."""
    number = next(_written)
    if number > _MOST or _running:
        return None
    try:
        directory = _directory(number)
        (directory / "graph.ltc").write_text(graph.text())
        if whole is not None:
            (directory / "whole.ltc").write_text(whole.text())
        if inputs is not None:
            torch.save(list(inputs), directory / "inputs.pt")
        if cache:
            _copy_entry(directory / "cache", graph)
        (directory / "repro.py").write_text(_script(what, cache))
    except OSError as error:  # what was trained is worth more
        print(f"torch_ltc: no reproducer: {error}", file=sys.stderr)
        return None
    return directory


def _directory(number):
    chosen = settings.repro_dir
    if not chosen:
        return Path(tempfile.mkdtemp(prefix="ltc-repro-"))
    directory = Path(chosen).absolute() / f"{os.getpid()}-{number}"
    directory.mkdir(parents=True)
    return directory


def _script(what, cache):
    values = {
        f"LTC_{row.name.upper()}": str(row.value)
        for row in settings.table()
        if row.value != row.initial and row.name not in _NOT_KEPT
    }
    values["LTC_CACHE"] = "ro" if cache else "off"
    return _SCRIPT.format(
        what=what.replace("\\", "\\\\").replace('"""', "'''"),
        version=importlib.metadata.version("torch_ltc"),
        torch=torch.__version__,
        environment=values,
        cache='os.environ["LTC_CACHE_DIR"] = str(HERE / "cache")\n' if cache else "",
    )


def _copy_entry(directory, graph):
    """Copy the entry of the cache on disk that the graph was loaded from."""
    directory.mkdir(mode=0o700)
    wanted = _without_lines(graph.text())
    for entry in reversed(cache.entries()):
        with contextlib.suppress(Exception):  # a bad one
            if _without_lines(cache.read(entry.key)["graph"]) == wanted:
                bundle = directory / "entry.tar"
                cache.export_bundle(bundle, [entry.key])
                cache.import_bundle(bundle, directory)
                bundle.unlink()
                return


def _without_lines(text):
    return "\n".join(line.split(' loc "')[0] for line in text.splitlines())


def run(directory):
    """Run a reproducer; return its exit status."""
    directory = Path(directory)
    c = start()
    _running.append(directory)
    try:
        return _run(c, directory)
    finally:
        _running.pop()


def _run(c, directory):
    graph = c.TrialGraph((directory / "graph.ltc").read_text())
    saved = directory / "inputs.pt"
    inputs = torch.load(saved) if saved.exists() else _draw(graph)
    try:
        with settings.scope(fallback="error"):  # a compiler that fails is at fault
            results = graph.compiled(inputs, c.current_device())
    except RuntimeError as error:
        print(error)
        return 1
    values = graph.reference(inputs, None)
    numbers = [value for value, _ in graph.outputs()]
    found = mismatch(graph, inputs, numbers, results, values)
    if found is None:
        print("it is right: compiled as by ATen's kernels")
        return 0
    print(f"value {found.value}, {found.type}: {found.difference}")
    return 1


def _draw(graph):
    """Return inputs of the graph's types."""
    generator = torch.Generator("cpu").manual_seed(0)
    inputs = []
    for text, is_scalar, _, dims in graph.inputs():
        if is_scalar:
            bits = torch.ones((), dtype=torch.float64, device="cpu").view(torch.int64)
            inputs.append(bits if text.endswith("f64") else torch.ones_like(bits))
            continue
        dtype = _DTYPES[text.split("[")[0]]
        drawn = torch.rand(dims, generator=generator, dtype=torch.float64, device="cpu")
        inputs.append(drawn.to(dtype))
    return inputs


_DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "c64": torch.complex64,
    "c128": torch.complex128,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f8e4m3fn": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "c32": torch.complex32,
}
