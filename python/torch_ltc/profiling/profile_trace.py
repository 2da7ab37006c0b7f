# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile in the Trace Event Format, which Perfetto and chrome://tracing open.

A row for each thread has its steps, and in them syncs, parts and recorded ops; rows
of the device have runs of graphs, and in them kernels; further ones what its driver
says that it did. Arrows go from each launch to
its run, and from each recorded op to the kernel that computed it.
"""

import itertools
import os
from collections import defaultdict

_DEVICE = 1_000_000  # rows of the device, beside those of threads
_DRIVERS = 2_000_000  # and those that drivers tell of


def events(data):
    """Return the file's object."""
    return {
        "traceEvents": _Trace(data).rows,
        "displayTimeUnit": "ms",
        "otherData": {"made_by": "torch_ltc"},
    }


class _Trace:
    def __init__(self, data):
        self.data = data
        self.rows = []
        self._process = os.getpid()
        self._arrows = itertools.count(1)
        self._lanes = _lanes(data.runs)
        self._name_rows()
        self._add_threads()
        self._add_device()
        self._add_launches()
        self._add_flows()
        self._add_memory()

    def _add(self, name, phase, thread, **more):
        row = {"name": name, "ph": phase, "pid": self._process, "tid": thread, **more}
        self.rows.append(row)

    def _span(self, name, category, thread, row, **args):
        self._add(
            name,
            "X",
            thread,
            cat=category,
            ts=row.start / 1e3,
            dur=(row.end - row.start) / 1e3,
            args=args,
        )

    def _arrow(self, name, category, source, target):
        """Point from a thread at a time to another; both are in spans there."""
        number = next(self._arrows)
        for phase, (thread, time), more in (
            ("s", source, {}),
            ("f", target, {"bp": "e"}),
        ):
            self._add(
                name, phase, thread, cat=category, id=number, ts=time / 1e3, **more
            )

    def _name_rows(self):
        self._add("process_name", "M", 0, args={"name": "torch_ltc"})
        named = _thread_names(self.data)
        for lane in range(max(self._lanes, default=0) + 1):
            named[_DEVICE + lane] = f"device ({lane + 1})" if lane else "device"
        lanes = sorted({(span.device, span.lane) for span in self.data.device_spans})
        self._drivers = {lane: _DRIVERS + at for at, lane in enumerate(lanes)}
        for span in self.data.device_spans:
            named[self._drivers[span.device, span.lane]] = span.row
        for place, (thread, name) in enumerate(sorted(named.items())):
            self._add("thread_name", "M", thread, args={"name": name})
            self._add("thread_sort_index", "M", thread, args={"sort_index": place})

    def _add_threads(self):
        data = self.data
        for step in data.steps:
            parts = {name: time / 1e6 for name, time in step.parts.items()}
            name = f"step {step.number}" if step.whole else "after the last step"
            self._span(name, "step", step.thread, step, ms=parts, line=str(step.place))
        for sync in data.syncs:
            name = f"{sync.cause} {sync.detail}".strip()
            self._span(name, "sync", sync.thread, sync, line=str(sync.place))
        for event in data.events:
            self._span(event.name, "part", event.thread, event)
        for op in data.recorded:
            self._span(op.op, "op", op.thread, op, line=str(op.place))

    def _add_device(self):
        for run, lane in zip(self.data.runs, self._lanes, strict=True):
            if run.ended:
                self._add(
                    f"graph {run.key[:8]}",
                    "X",
                    _DEVICE + lane,
                    cat="run",
                    ts=run.begun / 1e3,
                    dur=run.time / 1e3,
                    args={"graph": run.key, "ops": run.ops, "inputs": run.inputs},
                )
        for span, kernel, lane in self._kernels():
            self._span(
                kernel.label,
                "kernel",
                _DEVICE + lane,
                span,
                kind=kernel.kind,
                flops=kernel.flops,
                bytes=kernel.bytes,
                lines=[str(place) for place in kernel.places],
            )

        for span in self.data.device_spans:
            row = self._drivers[span.device, span.lane]
            self._span(span.name, "device", row, span)

    def _kernels(self):
        """Yield the steps of runs that ended: their spans, kernels and lanes."""
        details = {graph.key: graph.details for graph in self.data.graphs}
        for span in self.data.spans:
            run = self.data.runs[span.run]
            if run.ended:
                kernel = details[run.key].kernels[span.step]
                yield span, kernel, self._lanes[span.run]

    def _add_launches(self):
        for run, lane in zip(self.data.runs, self._lanes, strict=True):
            if run.ended:
                source = run.thread, run.submitted
                self._arrow("launch", "launch", source, (_DEVICE + lane, run.begun))

    def _add_flows(self):
        timed = {span.run for span in self.data.spans}
        recorded = _recorded(self.data, timed)
        for span, kernel, lane in self._kernels():
            for node in kernel.nodes:
                op = recorded[span.run].get(node)
                if op is not None:
                    source = op.thread, (op.start + op.end) / 2
                    self._arrow("op", "op", source, (_DEVICE + lane, span.start))

    def _add_memory(self):
        owners = [
            "parameters",
            "gradients",
            "optimizer",
            "activations",
            "arena",
            "caches",
        ]
        for row in self.data.memory:
            sizes = {name: getattr(row, name) for name in owners}
            self._add("memory", "C", 0, ts=row.time / 1e3, args=sizes)


def _lanes(runs):
    """Return a row for each run, so that those of one row do not overlap."""
    lanes, free = [0] * len(runs), []
    for number in sorted(range(len(runs)), key=lambda number: runs[number].begun):
        run = runs[number]
        if not run.ended:
            continue
        idle = (lane for lane, time in enumerate(free) if time <= run.begun)
        lane = next(idle, len(free))
        free[lane : lane + 1] = [run.ended]
        lanes[number] = lane
    return lanes


def _thread_names(data):
    """Say what each thread does: only those of the program end steps and sync."""
    of_program = {row.thread for row in (*data.steps, *data.syncs, *data.recorded)}
    of_program |= {run.thread for run in data.runs}
    names = {}
    for event in data.events:
        if event.name == "execute":
            names[event.thread] = "queue"
        else:
            names.setdefault(event.thread, f"worker {event.thread}")
    return names | {thread: f"thread {thread}" for thread in of_program}


def _recorded(data, runs):
    """Return, for these runs, the `Recorded` of each of their graphs' nodes.

    A run's ops are those that its thread recorded since the run before; of several
    that one line recorded, the first is the graph's first.
    """
    by_thread = defaultdict(list)
    for op in data.recorded:
        by_thread[op.thread].append(op)
    nodes = {graph.key: graph.details.nodes for graph in data.graphs}
    found, next_op = {}, defaultdict(int)
    for number in sorted(range(len(data.runs)), key=lambda n: data.runs[n].submitted):
        run = data.runs[number]
        ops, at = by_thread[run.thread], next_op[run.thread]
        waiting = defaultdict(list)
        while at < len(ops) and ops[at].end <= run.submitted:
            waiting[ops[at].op, ops[at].place].append(ops[at])
            at += 1
        next_op[run.thread] = at
        if number in runs:
            found[number] = {
                node: waiting[key].pop(0)
                for node, key in enumerate(nodes[run.key])
                if waiting.get(key)
            }
    return found
