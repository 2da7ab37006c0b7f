# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported programs, compiled and written to a bundle."""

import contextlib
import importlib.metadata
import json
import os
import tempfile

import torch
from torch.utils import _pytree as pytree

from torch_ltc import settings, startup
from torch_ltc.aot import model
from torch_ltc.aot.library import error, has_target
from torch_ltc.aot.opened import Opened
from torch_ltc.aot.tracing import Program, Weights, copied, examples_of

_LEVELS = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "baseline": "x86-64-v2"}
_BUNDLE = "bundle"  # while it is made


def write(programs, path, targets, weights):
    """See `torch_ltc.aot.compile`."""
    if isinstance(programs, torch.export.ExportedProgram):
        programs = {"forward": programs}
    if not programs:
        raise error("invalid argument", "a bundle has an entry, and programs is empty")
    if weights not in ("inside", "beside"):
        raise error("invalid argument", f"weights are inside or beside, no {weights!r}")
    levels = _levels(targets)
    with _new_files(os.fspath(path)) as folder:
        _write_tried(_described(programs, levels), programs, folder, weights)


def _described(programs, levels):
    """Compile the programs; return the bundle, as `define_ahead.cpp` reads it."""
    stored = Weights()
    with settings.scope(rng="fast"):  # numbers of eager's would be drawn now
        entries = [
            _entry(name, Program(exported), stored, levels)
            for name, exported in programs.items()
        ]
    return {
        "maker": f"torch_ltc {importlib.metadata.version('torch_ltc')}",
        "targets": levels,
        "weights": [
            (name, tensor, number in stored.states)
            for number, (name, tensor) in enumerate(
                zip(stored.names, stored.tensors, strict=True)
            )
        ],
        "entries": entries,
    }


def _levels(targets):
    if isinstance(targets, str):
        targets = (targets,)
    if not targets:
        raise error("invalid argument", "a bundle has a target, and targets is empty")
    levels = [_LEVELS.get(target, target) for target in targets]
    for level in levels:
        if level not in _LEVELS.values():
            raise error(
                "invalid argument",
                f"{level!r} is no target of bundles; they are {', '.join(_LEVELS)}",
            )
    return sorted(set(levels), reverse=True)


@contextlib.contextmanager
def _new_files(path):
    """Give a folder of this process's own, whose files then become ``path``*."""
    where, name = os.path.split(os.path.abspath(path))
    with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=where) as folder:
        yield folder
        for written in sorted(os.listdir(folder), reverse=True):  # the weights first
            os.replace(os.path.join(folder, written), path + written[len(_BUNDLE) :])


def _write_tried(described, programs, folder, weights):
    """Write the bundle and run the examples: some kernels decline late."""
    path = os.path.join(folder, _BUNDLE)
    beside = f"{path}.weights" if weights == "beside" else ""
    startup.start().write_bundle(path, beside, described)
    for written in filter(None, (path, beside)):
        os.chmod(written, os.stat(written).st_mode & ~0o022)
    if not any(map(has_target, described["targets"])):
        return  # made for other machines
    loaded = model.load(path)
    for name, exported in programs.items():
        args, kwargs = pytree.tree_map(copied, examples_of(exported))
        loaded.entries[name](*args, **kwargs)


def _entry(name, program, weights, levels):
    opened = Opened(program, weights)
    exported = program.exported
    return {
        "name": name,
        "inputs": opened.inputs(),
        "outputs": opened.outputs(),
        "symbols": opened.symbols(),
        "derived": opened.derived_rows,
        "sources": opened.sources,
        "results": opened.results,
        "writes": opened.writes,
        "programs": [opened.program.compile(level) for level in levels],
        "notes": json.dumps(
            {
                "in_spec": _spec(exported.call_spec.in_spec),
                "out_spec": _spec(exported.call_spec.out_spec),
                "constants": [
                    [a.constant] if a.is_constant else None
                    for a in program.arguments
                    if a.weight is None
                ],
                "results": opened.notes(),
            }
        ),
    }


def _spec(spec):
    try:
        return pytree.treespec_dumps(spec)
    except NotImplementedError:  # of a class that nobody has named
        return None
