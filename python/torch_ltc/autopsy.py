# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why graphs were compiled, and a guard against compiles that should not be.

    print(torch_ltc.explain())
    with torch_ltc.no_compile():
        train_one_step()

A graph that is not in memory is compared with the nearest that came before; the
first difference is its cause. A graph found in memory costs nothing here.
"""

from typing import NamedTuple

from torch_ltc import step_graphs
from torch_ltc.guards import Guard
from torch_ltc.startup import start

CAUSES = (
    "first_use",
    "shape",
    "dtype",
    "constant",
    "ops",
    "outputs",
    "evicted",
    "disk_entry",
    "own_version",
)


class Place(NamedTuple):
    """A line of the user's program; file "" and line 0 when it is not known."""

    file: str
    line: int
    function: str

    def __str__(self):
        where = f"{self.file}:{self.line}" if self.file else "an unknown line"
        return f"{where} in {self.function}" if self.function else where


class Compile(NamedTuple):
    """One graph that was not in memory, and why; ``str()`` is for people."""

    number: int  # counts from 1 in the process
    cause: str  # one of CAUSES
    what: str  # the difference in words
    op: str  # name of the ATen op in question, or ""
    subject: str  # that op's argument, "input 1" or "result 0"
    was: str
    now: str
    source: Place  # of the difference, in this graph
    earlier: Place  # and in the one it was compared with
    needed_by: Place  # the line that read a value or ended the step
    compared_with: int  # that graph's number; 0: none
    remedy: str
    ops: int
    seconds: float
    from_disk: bool  # loaded, not compiled
    sizes_open: bool  # the program serves other sizes too
    key: str
    text: str

    def __str__(self):
        return self.text


class Interpreted(NamedTuple):
    """Graphs of one structure that run call by call; ``str()`` is for people.

    Times are what the ops are expected to take, in seconds. Once `spent` reaches
    `until`, the next such graph is compiled (docs/tiers.md).
    """

    ops: int
    needed_by: Place
    runs: int  # since the start, or the last compile
    spent: float
    until: float

    def __str__(self):
        share = 100 * self.spent / self.until if self.until else 100
        return (
            f"{self.ops} op{'s' * (self.ops != 1)}, {self.runs} "
            f"run{'s' * (self.runs != 1)} call by call, at {self.needed_by}: "
            f"{share:.0f} % of the time after which a compile is worth it"
        )


class Report(list):
    """Compiles, oldest first: a list for programs, a text for people.

    `interpreted` lists what is not compiled (yet), as `Interpreted`; what has
    taken most comes first. `step_graphs` has a `StepGraphs` for each device in use
    that launches the steps of a graph as one.
    """

    interpreted = ()
    step_graphs = ()
    shown = 10  # of those in the text

    @property
    def causes(self):
        """How many of them were compiled for which cause, loaded ones left out."""
        found = [each.cause for each in self if not each.from_disk]
        return {cause: found.count(cause) for cause in CAUSES if cause in found}

    def __str__(self):
        loaded = sum(each.from_disk for each in self)
        compiled = len(self) - loaded
        head = f"{compiled} graph{'s' * (compiled != 1)} compiled"
        if self.causes:
            counts = (f"{cause} {number}" for cause, number in self.causes.items())
            head += f" ({', '.join(counts)})"
        if loaded:
            head += f", {loaded} loaded from disk"
        lines = [head, *map(str, self)]
        if self.interpreted:
            count = len(self.interpreted)
            lines.append(
                f"{count} graph{'s' * (count != 1)} not compiled: no structure has "
                "come often enough for a compile to be worth its time (docs/tiers.md)"
            )
            lines += map(str, self.interpreted[: self.shown])
        lines += map(str, self.step_graphs)
        return "\n".join(lines)


def explain():
    """Return a `Report` of the last thousand graphs that were not in memory."""
    ltc = start()
    report = _report(ltc.compile_records())
    report.interpreted = [
        Interpreted(ops, Place(*place), *rest)
        for ops, place, *rest in ltc.interpreted_graphs()
    ]
    report.step_graphs = step_graphs.counted(ltc)
    return report


def _report(rows):
    return Report(
        Compile(*row[:7], *(Place(*place) for place in row[7:10]), *row[10:])
        for row in rows
    )


class compile_guard(Guard):
    """Raise when a block or a function compiles more than `max_graphs` graphs.

        @torch_ltc.compile_guard(max_graphs=2)
        def train(): ...

    Each graph beyond raises `torch_ltc.errors.UnexpectedCompileError` at the line
    that needed it, with the autopsies of all that were counted. Nothing is lost:
    the graph was compiled and runs, and its values can be read.

    What counts is compiled by the thread that entered the guard, while it is in
    there: work that is recorded inside and read outside counts outside. In a dry
    run other threads compile for it, and the guard's end waits for them. Graphs
    loaded from disk count only with `loads=True`; a test that must not depend on
    what an earlier run left wants that. Guards nest, and one may be used again,
    also in several threads at once. ``with ... as counted`` gives an object whose
    ``len()`` says how many there were, and ``counted.compiles`` which.
    """

    def __init__(self, max_graphs, *, loads=False):
        if max_graphs < 0:
            raise ValueError(f"max_graphs is {max_graphs}, and must not be negative")
        super().__init__()
        self._limits = max_graphs, loads

    def _make(self):
        return start().CompileGuard(*self._limits)

    def _entering(self, guard):
        return _Counted(guard)

    def _leaving(self):
        start().finish_compiling()


class _Counted:
    """What a guard has counted so far."""

    def __init__(self, guard):
        self._guard = guard

    @property
    def compiles(self):
        """A `Report` of it."""
        return _report(self._guard.records())

    def __len__(self):
        return len(self.compiles)


def no_compile(*, loads=False):
    """Return a `compile_guard` that allows no graph at all.

    with torch_ltc.no_compile():
        for batch in batches:
            serve(batch)
    """
    return compile_guard(0, loads=loads)
