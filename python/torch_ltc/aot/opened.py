# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An exported program for all sizes that it leaves open."""

import re

import torch

from torch_ltc import startup
from torch_ltc.aot import sizes
from torch_ltc.aot.library import NO_LIMIT, error
from torch_ltc.aot.tracing import Trace, shape_of

_PLAIN, _WRITTEN, _INTEGER = range(3)  # Bundle::Value::Role
_DERIVED = 2**32 - 1  # Bundle::Symbol::kDerived
_SYMBOL = re.compile(r"s(\d+)")
_LINEAR = re.compile(r"(?:(\d+)\*)?s(\d+)([+-]\d+)?")


class Opened:
    """A program for all sizes, from the traces of some."""

    def __init__(self, program, weights):
        self.source = program
        values = [argument.value for argument in program.inputs]
        self.sizes = sizes.Sizes(program)
        hints = sizes.hints_of(values, program.examples())
        trials = self.sizes.trials(hints)
        self.sizes.check_guards([hints, *trials])
        self.derived = [self.sizes.derived_at(trial) for trial in trials]
        self.shapes = [
            [tuple(sizes.at(d, trial) for d in shape_of(v)) for v in values]
            for trial in trials
        ]
        near = [Trace(program, shapes, weights) for shapes in self.shapes[: sizes.NEAR]]
        self.first = near[0]
        self._check_alike(near)
        # Of a program with a copy of some calls for each row, a far trace is huge.
        rows = zip(near, self.derived, strict=False)
        startup.start().open_traces([(t.built, derived) for t, derived in rows] * 2)
        far = [Trace(program, shapes, weights) for shapes in self.shapes[sizes.NEAR :]]
        self._check_alike(far)
        self.traces = near + far
        self._open(weights)

    def _check_alike(self, traces):
        """Raise if a source, a result or a write differs from the first trace's."""
        for trace in traces:
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
            for i, (kind, _) in enumerate(first.sources)
            if kind in ("real", "integer")
            and _differ(trace.sources[i][1] for trace in self.traces)
        ]
        self.numbers = self._varying_results()
        rows = [
            (trace.built, self._integers(trace, shapes) + derived)
            for trace, shapes, derived in zip(
                self.traces, self.shapes, self.derived, strict=True
            )
        ]
        self.program = startup.start().open_traces(rows)
        self.formulas = self.program.formulas
        self.sources = list(first.sources)
        rest = iter(self.formulas[self._count(self.shapes[0], first) :])
        for i in self.varying:
            is_double = first.sources[i][0] == "real"
            self.sources[i] = ("number", next(rest), is_double)
        self.number_formulas = {number: next(rest) for number in self.numbers}
        self.derived_rows = self.sizes.derived_rows([*rest])
        self.results = list(first.results)
        self.writes = list(first.writes)
        self.written = {to for to, _ in self.writes}
        weights.states.update(i for kind, i in self.written if kind == "weight")

    def _varying_results(self):
        """Return which results are integers that depend on a size."""
        found = []
        for i, value in enumerate(self.first.outputs):
            if isinstance(value, torch.Tensor) or not _differ(
                trace.outputs[i] for trace in self.traces
            ):
                continue
            if type(value) is not int:
                raise error(
                    "unsupported",
                    f"result {i} is a number that depends on a size; return a tensor",
                )
            found.append(i)
        return found

    def _count(self, shapes, trace):
        return sum(map(len, shapes)) + sum(map(len, trace.shapes))

    def _integers(self, trace, shapes):
        """Return what may be a formula of the sizes besides the graph's own."""
        found = [size for shape in (*shapes, *trace.shapes) for size in shape]
        for i in self.varying:
            number = trace.sources[i][1]
            if number % 1 != 0:
                raise error(
                    "unsupported",
                    f"the program computes with {number}, which depends on a size "
                    "that is open; compute it from a tensor",
                )
            found.append(int(number))
        return found + [trace.outputs[i] for i in self.numbers]

    def inputs(self):
        """Return (name, dtype's example, dimensions, role) of each input."""
        rest = iter(self.formulas)
        rows = []
        for number, argument in enumerate(self.source.inputs):
            dims = [
                (next(rest), *self.sizes.limits(size))
                for size in shape_of(argument.value)
            ]
            if argument.is_integer:
                like, role = _like(torch.int64), _INTEGER
            else:
                like = _like(argument.value.dtype)
                role = _WRITTEN if ("input", number) in self.written else _PLAIN
            rows.append((argument.name, like, dims, role))
        return rows

    def outputs(self):
        """Return the same of each result that is a tensor."""
        rest = iter(self.formulas[sum(map(len, self.shapes[0])) :])
        names = [
            name
            for name, value in zip(self._names(), self.first.outputs, strict=True)
            if isinstance(value, torch.Tensor)
        ]
        return [
            (
                name,
                _like(dtype),
                [(next(rest), 0, NO_LIMIT) for _ in shape],
                _PLAIN,
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
        for number, (_, _, formula) in enumerate(self.derived_rows):
            if match := _SYMBOL.fullmatch(formula):
                found.setdefault(int(match.group(1)), (_DERIVED, number, 1, 0))
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


def _like(dtype):
    return torch.empty(0, dtype=dtype, device="cpu")


def _differ(numbers):
    """Return whether they are not all one; a NaN is the same as another."""
    return len(set(map(repr, numbers))) > 1


def _structure(origins):
    return [
        origin[:1] if origin[0] in ("real", "integer") else origin for origin in origins
    ]
