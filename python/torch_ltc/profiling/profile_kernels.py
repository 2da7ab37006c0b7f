# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a profile holds of programs: kernels, results and memory, as dataclasses."""

import bisect
from collections import Counter
from dataclasses import dataclass, field

from torch_ltc.autopsy import Place


@dataclass
class Kernel:
    """One step of a graph's program: a kernel, a library call or a copy.

    `flops` and `bytes` are what one run does by the shapes: a product, a convolution
    and attention by their formulas, anything else an operation for each element; each
    operand and result is counted once. `time` is the mean of the runs that were timed.
    """

    graph: str
    step: int  # its number in the program
    name: str  # "kernel_3", "aten::mm", "copy"
    label: str  # for people: "kernel_3 (mul, add)"
    kind: str  # "pointwise", "row_reduce", "column_reduce", "serial", "call", "copy"
    flops: float
    bytes: float
    ops: list[str]  # of the graph's nodes that it computes
    places: list[Place]  # the lines that recorded them, most ops first
    timed: int
    time: float  # nanoseconds a run
    fastest: int
    launches: int = 0  # of its graph in the profile
    nodes: list[int] = field(default_factory=list)  # of the graph, by number

    @property
    def total(self):
        """About how long all its runs took."""
        return self.time * self.launches

    @property
    def place(self):
        """Return the line that recorded most of it."""
        return self.places[0] if self.places else Place("", 0, "")


@dataclass
class Value:
    """A value of a graph that stands in memory."""

    op: str
    place: Place
    bytes: int


@dataclass
class Result(Value):
    """A result of a graph; of `seen` runs that were looked at, `held` are kept."""

    seen: int
    held: int


def _ops(text):
    """Return the lines of a graph's text that are ops."""
    rows = (line for line in text.splitlines() if line.startswith("  %"))
    return [row for row in rows if " = input" not in row]


@dataclass
class Details:
    """What the program of a graph does; lists are empty of one that never ran."""

    text: str = ""
    listing: str = ""
    place: Place = Place("", 0, "")  # noqa: RUF009 (a tuple)
    arena: int = 0  # bytes of its scratch memory
    nodes: list[tuple[str, Place]] = field(default_factory=list)  # ops and lines
    kernels: list[Kernel] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    peak_step: int = 0  # of the program, where its values take most memory
    at_peak: list[Value] = field(default_factory=list)  # the largest ones, then

    def place_of_difference(self, other):
        """Return the line of the first op that differs in another graph, or None."""
        rows = zip(self.nodes, _ops(self.text), _ops(other.text), strict=False)
        return next((node[1] for node, mine, its in rows if mine != its), None)


@dataclass
class Transfers:
    """All copies of one direction at one line."""

    place: Place
    upload: bool
    first: int
    last: int
    count: int = 0
    bytes: int = 0
    time: int = 0
    repeated: int = 0  # that moved what the one before had moved


@dataclass
class NotANumber:
    """The first result of a graph that was NaN."""

    submitted: int  # its run
    thread: int
    op: str
    place: Place


@dataclass
class Recorded:
    """One op that became a node, of some steps."""

    start: int
    end: int
    thread: int
    op: str
    place: Place


@dataclass
class KernelSpan:
    """One step of one run."""

    run: int  # counts from 0
    step: int
    start: int
    end: int


@dataclass
class DeviceSpan:
    """Something that a device did, as its driver tells."""

    device: str  # "emulator:0"
    lane: int  # a row of that device's
    name: str
    start: int
    end: int

    @property
    def row(self):
        """Name its row of a timeline."""
        return f"{self.device} lane {self.lane}"


@dataclass
class Owners:
    """Bytes of what optimizers know of, when one stepped."""

    time: int
    parameters: int
    gradients: int
    optimizer: int


@dataclass
class Memory:
    """Bytes of device memory by owner, when a launch had all that it needs."""

    time: int
    parameters: int
    gradients: int
    optimizer: int
    activations: int  # and whatever else is held
    arena: int  # values inside of graphs
    caches: int  # taken from the system, and free
    graph: str

    @property
    def total(self):
        """All but what is free."""
        owned = self.parameters + self.gradients + self.optimizer
        return owned + self.activations + self.arena


def read_details(row, launches):
    """Make the `Details` of what ``_C.profile_end()`` returns of a graph."""
    key, text, listing, place, arena, timed, nodes, kernels, results, step, peak = row
    nodes = [(op, Place(*where)) for op, where in nodes]

    def value(node, size):
        op, where = nodes[node] if node is not None else ("", Place("", 0, ""))
        return op, where, size

    return Details(
        text,
        listing,
        Place(*place),
        arena,
        nodes,
        [
            _kernel(key, number, kernel, nodes, timed, launches)
            for number, kernel in enumerate(kernels)
        ],
        [Result(*value(node, size), seen, held) for node, size, seen, held in results],
        step,
        [Value(*value(node, size)) for node, size in peak],
    )


def _kernel(key, number, row, nodes, timed, launches):
    name, label, kind, flops, size, of, total, fastest = row
    computed = [nodes[node] for node in of]
    lines = Counter(place for _, place in computed if place.file)
    return Kernel(
        key,
        number,
        name,
        label,
        kind,
        flops,
        size,
        [op for op, _ in computed],
        [place for place, _ in lines.most_common()],
        timed,
        total / timed if timed else 0,
        fastest,
        launches,
        of,
    )


def transfers(rows):
    """Sum copies up by line, those that took longest first."""
    found = {}
    for start, end, _, upload, size, place, repeated in rows:
        where = Place(*place)
        row = found.setdefault((where, upload), Transfers(where, upload, start, start))
        row.last = end
        row.count += 1
        row.bytes += size
        row.time += end - start
        row.repeated += repeated
    return sorted(found.values(), key=lambda row: -row.time)


def memory(runs, owners):
    """Return the `Memory` at each run that has told its own."""
    rows = []
    times = [each.time for each in owners]
    for run in sorted(runs, key=lambda run: run.begun):
        if not run.allocated:
            continue
        # Optimizers step after the first launch: what they know then was there.
        known = max(0, bisect.bisect_right(times, run.begun) - 1)
        of = owners[known] if owners else Owners(0, 0, 0, 0)
        owned = of.parameters + of.gradients + of.optimizer
        arena = min(run.arena, run.allocated)
        rows.append(
            Memory(
                run.begun,
                of.parameters,
                of.gradients,
                of.optimizer,
                max(0, run.allocated - owned - arena),
                arena,
                max(0, run.reserved - run.allocated),
                run.key,
            )
        )
    return rows
