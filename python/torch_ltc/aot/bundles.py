# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported programs, compiled and written to a bundle."""

import contextlib
import importlib.metadata
import json
import os
import re

import torch
from torch.utils import _pytree as pytree

from torch_ltc import settings, startup
from torch_ltc.aot import model, sizes
from torch_ltc.aot.library import NO_LIMIT, error
from torch_ltc.aot.tracing import Program, Trace, Weights
from torch_ltc.errors import UnsupportedOpError

_LEVELS = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "baseline": "x86-64-v2"}
_LINEAR = re.compile(r"(?:(\d+)\*)?s(\d+)([+-]\d+)?")


def write(programs, path, targets, weights):
    """See `torch_ltc.aot.compile`."""
    path = os.fspath(path)
    if isinstance(programs, torch.export.ExportedProgram):
        programs = {"forward": programs}
    if weights not in ("inside", "beside"):
        raise error("invalid argument", f"weights are inside or beside, no {weights!r}")
    levels = _levels(targets)
    stored = Weights()
    with settings.scope(rng="fast"):  # numbers of eager's would be drawn now
        entries = [
            _entry(name, Program(exported), stored, levels)
            for name, exported in programs.items()
        ]
    spec = {
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
    _write_tried(spec, programs, path, weights == "beside")


def _levels(targets):
    levels = [_LEVELS.get(target, target) for target in targets]
    for level in levels:
        if level not in _LEVELS.values():
            raise error(
                "invalid argument",
                f"{level!r} is no target of bundles; they are {', '.join(_LEVELS)}",
            )
    return sorted(set(levels), reverse=True)


def _write_tried(spec, programs, path, is_beside):
    """Write the bundle where it runs the examples: some kernels decline late."""
    trial = f"{path}.trial"
    ends = ("", ".weights") if is_beside else ("",)
    try:
        beside = f"{trial}.weights" if is_beside else ""
        startup.start().write_bundle(trial, beside, spec)
        os.chmod(trial, os.stat(trial).st_mode & ~0o022)
        if is_beside:
            os.chmod(beside, os.stat(beside).st_mode & ~0o022)
        _try(trial, programs)
        for end in reversed(ends):
            os.replace(trial + end, path + end)
    finally:
        for end in ends:
            with contextlib.suppress(FileNotFoundError):
                os.remove(trial + end)


def _try(path, programs):
    try:
        loaded = model.load(path)
    except UnsupportedOpError as refused:
        if "processor" in str(refused):
            return  # made for others
        raise
    for name, exported in programs.items():
        args, kwargs = exported.example_inputs
        args, kwargs = pytree.tree_map(_copy, (args, kwargs))
        loaded.entries[name](*args, **kwargs)


def _copy(value):
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone(memory_format=torch.contiguous_format)


def _entry(name, program, weights, levels):
    opened = _Opened(program, weights)
    exported = program.exported
    return {
        "name": name,
        "inputs": opened.inputs(),
        "outputs": opened.outputs(),
        "symbols": opened.symbols(),
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


class _Opened:
    """A program for all sizes, from the traces of some."""

    def __init__(self, program, weights):
        self.source = program
        values = [argument.value for argument in program.inputs]
        self.sizes = sizes.Sizes(program.exported, values)
        hints = sizes.hints_of(values, program.examples())
        trials = self.sizes.trials(hints)
        self.shapes = [
            [tuple(sizes.at(d, trial) for d in v.shape) for v in values]
            for trial in trials
        ]
        self.traces = [Trace(program, shapes, weights) for shapes in self.shapes]
        self.first = self.traces[0]
        self._check_alike()
        self._open(weights)

    def _check_alike(self):
        """Raise if a source, a result or a write differs between the traces."""
        for trace in self.traces[1:]:
            for mine, others in (
                (self.first.sources, trace.sources),
                (self.first.results, trace.results),
                (self.first.writes, trace.writes),
            ):
                if _structure(mine) != _structure(others):
                    raise error(
                        "unsupported",
                        "the program takes other values for other sizes; export it "
                        "with fixed ones",
                    )

    def _open(self, weights):
        first = self.first
        self.varying = [
            i
            for i, (kind, what) in enumerate(first.sources)
            if kind in ("real", "integer")
            and any(trace.sources[i][1] != what for trace in self.traces)
        ]
        self.numbers = [
            i
            for i, value in enumerate(first.outputs)
            if isinstance(value, int)
            and any(trace.outputs[i] != value for trace in self.traces)
        ]
        rows = [
            (trace.built, self._integers(trace, shapes))
            for trace, shapes in zip(self.traces, self.shapes, strict=True)
        ]
        self.program = startup.start().open_traces(rows)
        self.formulas = self.program.formulas
        self.sources = list(first.sources)
        rest = iter(self.formulas[self._count(self.shapes[0], first) :])
        for i in self.varying:
            is_double = first.sources[i][0] == "real"
            self.sources[i] = ("number", next(rest), is_double)
        self.number_formulas = dict(zip(self.numbers, rest, strict=True))
        self.results = list(first.results)
        self.writes = list(first.writes)
        self.written = {to for to, _ in self.writes}
        weights.states.update(i for kind, i in self.written if kind == "weight")

    def _count(self, shapes, trace):
        return sum(map(len, shapes)) + sum(map(len, trace.shapes))

    def _integers(self, trace, shapes):
        """Return what may be a formula of the sizes besides the graph's own."""
        found = [size for shape in (*shapes, *trace.shapes) for size in shape]
        for i in self.varying:
            number = trace.sources[i][1]
            if number != int(number):
                raise error(
                    "unsupported",
                    f"the program computes with {number}, which depends on a size "
                    "that is open; compute it from a tensor",
                )
            found.append(int(number))
        return found + [trace.outputs[i] for i in self.numbers]

    def inputs(self):
        rest = iter(self.formulas)
        rows = []
        for number, argument in enumerate(self.source.inputs):
            dims = [
                (next(rest), *self.sizes.limits(size)) for size in argument.value.shape
            ]
            like = torch.empty(0, dtype=argument.value.dtype)
            rows.append((argument.name, like, dims, ("input", number) in self.written))
        return rows

    def outputs(self):
        rest = iter(self.formulas[sum(map(len, self.shapes[0])) :])
        names = [
            name
            for name, value in zip(self._names(), self.first.outputs, strict=True)
            if isinstance(value, torch.Tensor)
        ]
        return [
            (
                name,
                torch.empty(0, dtype=dtype),
                [(next(rest), 0, NO_LIMIT) for _ in shape],
                False,
            )
            for name, dtype, shape in zip(
                names, self.first.dtypes, self.first.shapes, strict=True
            )
        ]

    def _names(self):
        """Return those of the outputs that the user gets."""
        count = len(self.first.outputs)
        return self.source.output_names[-count:] if count else []

    def symbols(self):
        """Return an input's dimension, factor and offset for each symbol."""
        found = {}
        rest = iter(self.formulas)
        for number, shape in enumerate(self.shapes[0]):
            for dim in range(len(shape)):
                match = _LINEAR.fullmatch(next(rest))
                if match:
                    factor, symbol, offset = match.groups()
                    row = (number, dim, int(factor or 1), int(offset or 0))
                    found.setdefault(int(symbol), row)
        for symbol in range(self.program.symbols):
            if symbol not in found:
                raise error(
                    "unsupported",
                    "a size of the program is no formula of its inputs' sizes that "
                    "is found: docs/aot.md says which are",
                )
        return [found[symbol] for symbol in range(self.program.symbols)]

    def notes(self):
        """Return for each result None, if it is a tensor, or what it is."""
        rows = []
        for i, value in enumerate(self.first.outputs):
            if isinstance(value, torch.Tensor):
                rows.append(None)
            elif i in self.number_formulas:
                rows.append(("size", *self._dimension(self.number_formulas[i])))
            else:
                rows.append(("value", value))
        return rows

    def _dimension(self, formula):
        rest = iter(self.formulas)
        for number, shape in enumerate(self.shapes[0]):
            for dim in range(len(shape)):
                if next(rest) == formula:
                    return number, dim
        raise error(
            "unsupported",
            f"a result is {formula} of the sizes, and no tensor; return a tensor",
        )


def _structure(origins):
    return [
        origin[:1] if origin[0] in ("real", "integer") else origin for origin in origins
    ]
