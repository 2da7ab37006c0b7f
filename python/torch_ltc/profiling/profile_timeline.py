# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The timeline of a profile's page: rows of spans, in few bytes."""

from collections import defaultdict

# Of one row; trace.json has all.
_MOST = 20_000


def timeline(data):
    """Return rows with their spans, as start, length and number of a name."""
    rows = _Rows()
    for step in data.steps:
        title = f"step {step.number}" if step.whole else "after the last step"
        rows.add(f"thread {step.thread}: steps", step.start, step.end, title)
    for sync in data.syncs:
        name = f"{sync.cause} {sync.detail}".strip() + f" at {sync.place}"
        rows.add(f"thread {sync.thread}: syncs", sync.start, sync.end, name)
    of_program = {step.thread for step in data.steps}
    of_program |= {sync.thread for sync in data.syncs}
    for event in data.events:
        if event.thread in of_program:
            row = f"thread {event.thread}: stages"
            rows.add(row, event.start, event.end, event.name)
    for op in data.recorded:
        row = f"thread {op.thread}: ops"
        rows.add(row, op.start, op.end, f"{op.op} at {op.place}")
    _add_device(rows, data)
    return rows.as_dict()


def _add_device(rows, data):
    for run in data.runs:
        if run.ended:
            name = f"graph {run.key[:8]}, {run.ops} ops"
            rows.add("queue: waiting", run.submitted, run.begun, name)
            rows.add("device: graphs", run.begun, run.ended, name)
    details = {graph.key: graph.details for graph in data.graphs}
    for span in data.spans:
        kernel = details[data.runs[span.run].key].kernels[span.step]
        name = f"{kernel.label} at {kernel.place}"
        rows.add("device: kernels", span.start, span.end, name)
    for span in data.device_spans:
        rows.add(f"device: {span.row}", span.start, span.end, span.name)


class _Rows:
    def __init__(self):
        self.spans = defaultdict(list)
        self.names = {}

    def add(self, row, start, end, name):
        number = self.names.setdefault(name, len(self.names))
        self.spans[row].append((start, max(0, end - start), number))

    def as_dict(self):
        rows, left_out = [], 0
        for title in sorted(self.spans, key=_order):
            # An inner part ends before the one around it, and is kept before it.
            spans = sorted(self.spans[title], key=lambda span: (span[0], -span[1]))
            left_out += max(0, len(spans) - _MOST)
            flat = [number for span in spans[:_MOST] for number in span]
            rows.append({"title": title, "spans": flat})
        return {"names": list(self.names), "rows": rows, "left_out": left_out}


def _order(title):
    owner, _, kind = title.partition(": ")
    kinds = ["steps", "syncs", "stages", "ops", "waiting", "graphs", "kernels"]
    place = kinds.index(kind) if kind in kinds else len(kinds)
    return owner in ("queue", "device"), owner == "device", owner, place, kind
