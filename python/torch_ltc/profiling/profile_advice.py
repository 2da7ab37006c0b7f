# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a profile says to do first, in sentences that name a line each."""

from collections import defaultdict
from dataclasses import dataclass

from torch_ltc.profiling.profile_text import count, ms
from torch_ltc.startup import start

# Of the steps in which it happens, or of their time: less is not worth a sentence.
_LEAST_SHARE = 0.01
# Runs of graphs in which a result is kept, before it is one that nobody lets go.
_LOOKS = 4
# What differs between the first steps of any loop is no trouble.
_VARYING = ("shape", "dtype", "constant")
_MASK = "torch.where(mask, x, 0) has a fixed shape, and so has a sum weighted by mask"
_CLASSES = "index_add_() into zeros, one for each value there may be, has a fixed shape"
# Of ops whose result has as many elements as values say.
_INSTEAD = {
    "aten::nonzero": f"{_MASK}, or torch.nonzero_static(x, size=n)",
    "aten::index": _MASK,
    "aten::masked_select": _MASK,
    "aten::bincount": _CLASSES,
    "aten::_unique": _CLASSES,
    "aten::_unique2": _CLASSES,
    "aten::unique_consecutive": _CLASSES,
    "aten::unique_dim": _CLASSES,
}


@dataclass
class Advice:
    """One sentence; `cost` is about how many nanoseconds it is worth."""

    kind: str  # "sync", "fallback", "transfer", "compile", "host", "leak", "nan"
    cost: float
    text: str


def advice(data):
    """Return the `Advice` on a profile, what costs most first, NaN before all."""
    found = [
        *_on_numbers(data),
        *_on_leaks(data),
        *_on_syncs(data),
        *_on_transfers(data),
        *_on_hosts(data),
        *_on_compiles(data),
    ]
    return sorted(found, key=lambda row: (row.kind != "nan", -row.cost))


class _Steps:
    """The whole steps within a time, such as those of one of several loops."""

    def __init__(self, data, first, last):
        steps = [step for step in data.steps if step.whole]
        self.rows = [step for step in steps if step.end >= first and step.start <= last]
        # Compiles end; what a step takes behind them is what counts.
        self.time = sum(step.time - step.parts["compile"] for step in self.rows)

    def say(self, number, time, least_share=_LEAST_SHARE):
        """Return the cost of what happened so often, or "" if that is little."""
        rare = 2 * number < len(self.rows)
        if rare or not self.rows or time < least_share * self.time:
            return ""
        return f"{ms(time / len(self.rows))} ms a step"


def remedy(row):
    """Return what to do about a row of the ledger."""
    known = _INSTEAD.get(row.detail.split(".")[0]) if row.cause == "fallback" else None
    general = start().sync_remedies()[row.cause]
    return f"{known}; or {general}" if known else general


def _on_syncs(data):
    told = ("item", "read", "print", "fallback", "linalg", "synchronize", "event")
    spans = defaultdict(list)
    for sync in data.syncs:
        spans[sync.cause, sync.detail, sync.place] += sync.start, sync.end
    for row in data.ledger:
        if row.cause not in told:
            continue
        span = spans[row.cause, row.detail, row.place]
        steps = _Steps(data, min(span), max(span))
        # Also one that waits little keeps the host from running ahead.
        if cost := steps.say(row.count, row.time, least_share=0):
            cause = f"{row.cause} {row.detail}".strip()
            kind = "fallback" if row.cause == "fallback" else "sync"
            text = f"{cause} at {row.place} takes {cost}: {remedy(row)}"
            yield Advice(kind, row.time, text)


def _on_transfers(data):
    for row in data.transfers:
        if not row.upload or not row.count:
            continue
        steps = _Steps(data, row.first, row.last)
        size = row.bytes / row.count
        if 2 * row.repeated > row.count and 2 * row.count >= len(steps.rows) > 1:
            text = f"the same {size:.0f} bytes go to the device in each step at "
            text += f"{row.place}, {ms(row.time / len(steps.rows))} ms a step: move "
            yield Advice("transfer", row.time, text + "them once, before the loop")
        elif cost := steps.say(row.count, row.time):
            text = f"{size:.0f} bytes go to the device in each step at {row.place}, "
            text += f"{cost}: make them there, or move them while a step runs"
            yield Advice("transfer", row.time, text)


def _on_hosts(data):
    """Look at each loop, by the line that ends its steps."""
    loops = defaultdict(list)
    for step in data.settled:
        if step.whole:
            loops[step.place].append(step)
    for place, steps in loops.items():
        total = sum(step.time for step in steps)
        running = sum(step.running for step in steps)
        host = sum(step.parts["record"] + step.parts["outside"] for step in steps)
        if host <= running or 2 * host <= total:
            continue
        text = f"{100 * host / total:.0f} % of a step that ends at {place} is Python "
        text += f"and recording, and the device is busy for {100 * running / total:.0f}"
        text += " %: the loop is host-bound; larger batches cost little"
        yield Advice("host", host, text)


def _on_compiles(data):
    seen = set()
    for each in (row for graph in data.graphs for row in graph.compiles):
        if each.cause not in _VARYING or each.from_disk or each.source in seen:
            continue
        seen.add(each.source)
        cause = {"shape": "a shape varies"}.get(each.cause, f"a {each.cause} varies")
        text = f"{cause} at {each.source} and had a graph compiled, "
        text += f"{ms(each.seconds * 1e9)} ms: {each.what}"
        text += f"; {each.remedy}" if each.remedy else ""
        yield Advice("compile", each.seconds * 1e9, text)
    yield from _on_open_sizes(data, seen)
    steps = [step for step in data.steps if step.whole]
    compiled = [step for step in steps if step.parts["compile"]]
    if len(compiled) > 3 and 3 * len(compiled) > len(steps):
        time = sum(step.parts["compile"] for step in compiled)
        text = f"{len(compiled)} of {count(len(steps), 'step')} compiled a graph, "
        text += f"{ms(time)} ms in all: see why in the table of graphs"
        yield Advice("compile", time, text)


def _on_open_sizes(data, told):
    """Graphs that run one program from the start: what varies cost no compile."""
    by_program = defaultdict(list)
    for graph in data.graphs:
        if graph.details.listing:
            by_program[graph.details.listing].append(graph.details)
    for sizes in by_program.values():
        place = sizes[0].place_of_difference(sizes[1]) if len(sizes) > 2 else None
        if place and place not in told:
            told.add(place)
            text = f"a shape varies at {place}: {count(len(sizes), 'size')} so far, "
            yield Advice("compile", 0, text + "which one compiled program serves")


def _on_leaks(data):
    """Results that nobody lets go: of all runs that were looked at, or all but one."""
    by_place = defaultdict(list)  # graphs that differ in sizes keep the same
    for graph in data.graphs:
        kept = [row for row in graph.details.results if row.held >= row.seen - 1]
        if kept and kept[-1].seen:
            by_place[kept[-1].place].append(kept)
    for place, graphs in by_place.items():
        kept = graphs[0]
        seen = sum(rows[-1].seen for rows in graphs)
        held = sum(rows[-1].held for rows in graphs)
        if seen < _LOOKS or held < seen - 1:
            continue
        size = sum(row.bytes for row in kept)
        text = f"values made at {place} are kept from each step, "
        text += f"{count(len(kept), 'value')} of {size} bytes in all: something, such "
        text += "as a list of losses, holds them; keep numbers, or detached tensors"
        yield Advice("leak", 1e6 * len(kept), text)


def _on_numbers(data):
    rows = sorted(data.not_numbers, key=lambda row: row.submitted)
    for row in rows[:1]:  # others follow from it
        step = data.step_of(row.thread, row.submitted)
        when = f" in step {step.number}" if step else ""
        text = f"the result of {row.op} at {row.place} became NaN{when}: "
        text += "torch_ltc.detect_nan() names the op that made it"
        yield Advice("nan", data.duration, text)
