# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a profile holds: steps, syncs and graphs, as plain dataclasses.

Times are nanoseconds since the profile began.
"""

import bisect
import dataclasses
from collections import defaultdict
from dataclasses import dataclass, field

from torch_ltc.autopsy import Compile, Place

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
        }


def _plain(row, **more):
    fields = {f.name: getattr(row, f.name) for f in dataclasses.fields(row)}
    if "place" in fields:
        fields["place"] = fields["place"]._asdict()
    return fields | more


def _graph(graph):
    names = ("cause", "what", "remedy", "seconds", "from_disk", "text")
    compiles = [
        {name: getattr(each, name) for name in names}
        | {"needed_by": each.needed_by._asdict()}
        for each in graph.compiles
    ]
    return _plain(graph, compiles=compiles)


def read(parts, rows, compiles):
    """Make a `Data` of what ``_C.profile_end()`` returns."""
    duration, dropped, steps, syncs, runs, events = rows
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
        _graphs(runs, compiles),
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
    steps = defaultdict(list)
    for step in data.steps:
        steps[step.thread].append(step)
    for run in data.runs:
        of_thread = steps[run.thread]
        index = bisect.bisect_left(of_thread, run.submitted, key=lambda step: step.end)
        if index == len(of_thread):
            continue
        step = of_thread[index]
        step.launches += 1
        step.ops += run.ops
        step.running += run.time
        if run.begun:
            step.queued += run.begun - run.submitted


def _graphs(runs, compiles):
    graphs = {}
    for run in runs:
        row = graphs.setdefault(
            run.key, Graph(run.key, run.ops, run.inputs, run.results)
        )
        row.launches += 1
        row.running += run.time
    for each in compiles:
        if each.key in graphs:
            graphs[each.key].compiles.append(each)
    return sorted(graphs.values(), key=lambda graph: -graph.running)
