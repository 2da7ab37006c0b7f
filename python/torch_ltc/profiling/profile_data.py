# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a profile holds: steps, syncs and graphs, as plain dataclasses.

Times are nanoseconds since the profile began.
"""

import bisect
import dataclasses
import functools
from collections import defaultdict
from dataclasses import dataclass, field

from torch_ltc.autopsy import Compile, Place
from torch_ltc.profiling import profile_kernels
from torch_ltc.profiling.profile_kernels import Details
from torch_ltc.step_graphs import StepGraphs

# What the program did outside the backend: Python, PyTorch's dispatcher, autograd.
OUTSIDE = "outside"


@dataclass
class Step:
    """What one thread did from one end of a step to the next."""

    number: int  # counts from 1 in the profile
    start: int
    end: int
    thread: int  # counts from 1
    whole: bool  # false: what came after the last step's end
    cause: str  # of its end: "mark_step" or "optimizer_step"
    place: Place
    parts: dict[str, int]  # by name; with OUTSIDE they add up to the step
    launches: int = 0
    ops: int = 0
    queued: int = 0  # until its launches began on the device
    running: int = 0  # of its launches on the device

    @property
    def time(self):
        """How long it took."""
        return self.end - self.start


@dataclass
class Sync:
    """One place where a thread stopped recording, or read a value."""

    start: int
    end: int
    thread: int
    cause: str
    detail: str  # the op that fell back or was checked
    place: Place
    parts: dict[str, int]
    graphs: int  # that it ended

    @property
    def time(self):
        """How long it took."""
        return self.end - self.start


@dataclass
class Reason:
    """All syncs of one cause at one line."""

    cause: str
    detail: str
    place: Place
    count: int = 0
    time: int = 0  # compiles of its graphs left out
    wait: int = 0
    graphs: int = 0


@dataclass
class Run:
    """One launch of a graph; `begun` and `ended` are 0 if it did not."""

    key: str
    ops: int
    inputs: int
    results: int
    thread: int  # that ended the graph
    submitted: int
    begun: int
    ended: int
    interpreted: bool = False  # call by call, on that thread
    allocated: int = 0  # bytes on the device when it had all that it needs
    reserved: int = 0  # and taken from the system
    arena: int = 0  # of the allocated ones, scratch memory of the queue

    @property
    def time(self):
        """How long it ran on the device."""
        return self.ended - self.begun if self.ended else 0


@dataclass
class Graph:
    """One graph that was launched."""

    key: str
    ops: int
    inputs: int
    results: int
    launches: int = 0
    running: int = 0  # of all its launches
    interpreted: int = 0  # of its launches, call by call
    details: Details = field(default_factory=Details)
    compiles: list[Compile] = field(default_factory=list)  # why, oldest first


@dataclass
class Event:
    """A span of a timeline."""

    name: str
    start: int
    end: int
    thread: int


@dataclass
class Data:
    """A whole profile."""

    duration: int
    dropped: int  # rows beyond the most that are kept
    steps: list[Step]
    syncs: list[Sync]
    runs: list[Run]
    events: list[Event]
    graphs: list[Graph]
    transfers: list[profile_kernels.Transfers] = field(default_factory=list)
    not_numbers: list[profile_kernels.NotANumber] = field(default_factory=list)
    memory: list[profile_kernels.Memory] = field(default_factory=list)
    recorded: list[profile_kernels.Recorded] = field(default_factory=list)
    spans: list[profile_kernels.KernelSpan] = field(default_factory=list)
    device_spans: list[profile_kernels.DeviceSpan] = field(default_factory=list)
    step_graphs: list[StepGraphs] = field(default_factory=list)

    @property
    def kernels(self):
        """Return the `Kernel`s of all graphs, those that took longest first."""
        found = [each for graph in self.graphs for each in graph.details.kernels]
        return sorted(found, key=lambda kernel: -kernel.total)

    @property
    def peak(self):
        """Return the `Memory` when most was held, or None."""
        return max(self.memory, key=lambda row: row.total, default=None)

    def step_of(self, thread, time):
        """Return the step of a thread that something at this time belongs to."""
        steps = self._steps_by_thread.get(thread, [])
        index = bisect.bisect_left(steps, time, key=lambda step: step.end)
        return steps[index] if index < len(steps) else None

    @functools.cached_property
    def _steps_by_thread(self):
        steps = defaultdict(list)
        for step in self.steps:
            steps[step.thread].append(step)
        return steps

    @property
    def ledger(self):
        """Syncs by cause and line, those that took longest first."""
        rows = {}
        for sync in self.syncs:
            key = sync.cause, sync.detail, sync.place
            row = rows.setdefault(key, Reason(*key))
            row.count += 1
            row.time += sync.time - sync.parts["compile"]
            row.wait += sync.parts["wait"]
            row.graphs += sync.graphs
        return sorted(rows.values(), key=lambda row: -row.time)

    @property
    def settled(self):
        """Whole steps that compiled nothing; all whole ones if each did."""
        whole = [step for step in self.steps if step.whole]
        return [step for step in whole if not step.parts["compile"]] or whole

    def as_dict(self):
        """Return what `profile.json` holds of it."""
        return {
            "duration": self.duration,
            "dropped": self.dropped,
            "steps": [_plain(step, time=step.time) for step in self.steps],
            "syncs": [_plain(sync, time=sync.time) for sync in self.syncs],
            "ledger": [_plain(row) for row in self.ledger],
            "graphs": [_graph(graph) for graph in self.graphs],
            "runs": [_plain(run) for run in self.runs],
            "transfers": [_plain(row) for row in self.transfers],
            "not_numbers": [_plain(row) for row in self.not_numbers],
            "memory": [_plain(row) for row in self.memory],
            "device_spans": [_plain(row) for row in self.device_spans],
        }

    def rows(self, name):
        """Return the rows of that name as dicts without others inside."""
        if name == "step_graphs":
            return [dict(_flat(_plain(row))) for row in self.step_graphs]
        found = self.as_dict()
        kernels = (row for graph in found["graphs"] for row in graph["kernels"])
        rows = kernels if name == "kernels" else found[name]
        return [dict(_flat(row)) for row in rows]


def _plain(row, **more):
    fields = {f.name: getattr(row, f.name) for f in dataclasses.fields(row)}
    if "place" in fields:
        fields["place"] = fields["place"]._asdict()
    if "places" in fields:
        fields["places"] = [place._asdict() for place in fields["places"]]
    return fields | more


def _flat(row, prefix=""):
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _graph(graph):
    names = ("cause", "what", "remedy", "seconds", "from_disk", "text")
    compiles = [
        {name: getattr(each, name) for name in names}
        | {"needed_by": each.needed_by._asdict()}
        for each in graph.compiles
    ]
    details = graph.details
    row = _plain(graph, compiles=compiles)
    del row["details"]
    return row | {
        "text": details.text,
        "listing": details.listing,
        "place": details.place._asdict(),
        "arena": details.arena,
        "kernels": [_plain(kernel, total=kernel.total) for kernel in details.kernels],
        "outputs": [_plain(result) for result in details.results],
        "peak_step": details.peak_step,
        "at_peak": [_plain(value) for value in details.at_peak],
    }


def read(parts, rows, compiles, owners=()):
    """Make a `Data` of what ``_C.profile_end()`` returns, and `Owners`."""
    duration, dropped, steps, syncs, runs, events, *rest = rows
    transfers, not_numbers, recorded, details, spans, device_spans = rest
    runs = [Run(*row) for row in runs]
    data = Data(
        duration,
        dropped,
        [_step(number, row, parts) for number, row in enumerate(steps, 1)],
        [
            Sync(*row[:5], Place(*row[5]), _named(parts, row[6]), row[7])
            for row in syncs
        ],
        runs,
        [Event(*row) for row in events],
        _graphs(runs, compiles, {row[0]: row for row in details}),
        profile_kernels.transfers(transfers),
        [profile_kernels.NotANumber(*row[:3], Place(*row[3])) for row in not_numbers],
        profile_kernels.memory(runs, list(owners)),
        [profile_kernels.Recorded(*row[:4], Place(*row[4])) for row in recorded],
        [profile_kernels.KernelSpan(*row) for row in spans],
        [profile_kernels.DeviceSpan(*row) for row in device_spans],
    )
    _count_runs(data)
    return data


def _named(parts, times):
    return dict(zip(parts, times, strict=True))


def _step(number, row, parts):
    start, end, thread, whole, cause, place, times = row
    named = _named(parts, times)
    named[OUTSIDE] = end - start - sum(times)
    return Step(number, start, end, thread, whole, cause, Place(*place), named)


def _count_runs(data):
    """Give each run to the step of its thread in which it was launched."""
    for run in data.runs:
        step = data.step_of(run.thread, run.submitted)
        if step is None:
            continue
        step.launches += 1
        step.ops += run.ops
        step.running += run.time
        if run.begun:
            step.queued += run.begun - run.submitted


def _graphs(runs, compiles, details):
    graphs = {}
    for run in runs:
        row = graphs.setdefault(
            run.key, Graph(run.key, run.ops, run.inputs, run.results)
        )
        row.launches += 1
        row.running += run.time
        row.interpreted += run.interpreted
    for key, row in details.items():
        if key in graphs:
            graphs[key].details = profile_kernels.read_details(
                row, graphs[key].launches
            )
    for each in compiles:
        if each.key in graphs:
            graphs[each.key].compiles.append(each)
    return sorted(graphs.values(), key=lambda graph: -graph.running)
