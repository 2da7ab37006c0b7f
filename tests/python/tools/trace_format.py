# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Trace Event Format, field by field, as its document has it.

"Trace Event Format", by the Catapult project: JSON Object Format, and of the phases
those that torch_ltc writes.
"""

from collections import defaultdict

NUMBER = (int, float)
_ROW = {"name": str, "ph": str, "pid": int, "tid": int}
_FLOW = {"cat": str, "id": int, "ts": NUMBER}
# By phase: fields that there must be, and those that there may be.
_PHASES = {
    "X": ({"cat": str, "ts": NUMBER, "dur": NUMBER}, {"args": dict}),
    "M": ({"args": dict}, {}),
    "C": ({"ts": NUMBER, "args": dict}, {}),
    "s": (_FLOW, {}),
    "f": (_FLOW, {"bp": str}),
}
_METADATA = {
    "process_name": {"name": str},
    "thread_name": {"name": str},
    "thread_sort_index": {"sort_index": int},
}
_FILE = {"traceEvents": list, "displayTimeUnit": str, "otherData": dict}
_LEAST = 1e-3  # microseconds: times are whole nanoseconds


def check(trace):
    """Check a whole file; return the spans by thread, outermost first."""
    assert _types(trace, _FILE, {})
    assert trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        must, may = _PHASES[event["ph"]]
        assert _types(event, _ROW | must, may), event
        assert event.get("ts", 0) >= 0, event
        assert event.get("dur", 0) >= 0, event
        if event["ph"] == "M":
            assert _types(event["args"], _METADATA[event["name"]], {}), event
        if event["ph"] == "C":
            assert event["args"]
            assert all(isinstance(v, NUMBER) for v in event["args"].values()), event
    spans = _check_nesting(trace["traceEvents"])
    _check_flows(trace["traceEvents"], spans)
    _check_names(trace["traceEvents"])
    return spans


def holding(spans, time):
    """Return those of a thread's spans that a time is in, outermost first."""
    return [
        span
        for span in spans
        if span["ts"] - _LEAST <= time <= span["ts"] + span["dur"] + _LEAST
    ]


def _types(row, must, may):
    fields = must | may
    return (
        must.keys() <= row.keys() <= fields.keys()
        and all(isinstance(value, fields[name]) for name, value in row.items())
        and not any(isinstance(value, bool) for value in row.values())
    )


def _check_nesting(events):
    """Spans of one thread are in one another, or behind one another."""
    spans = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            spans[event["tid"]].append(event)
    for rows in spans.values():
        rows.sort(key=lambda span: (span["ts"], -span["dur"]))
        around = []
        for span in rows:
            end = span["ts"] + span["dur"]
            while around and around[-1][0] <= span["ts"] + _LEAST:
                around.pop()
            if around:
                assert end <= around[-1][0] + _LEAST, (around[-1][1], span)
            around.append((end, span))
    return spans


def _check_flows(events, spans):
    """Each arrow has two ends, in time's order, and each end is in a span."""
    ends = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event.get("bp") == ("e" if event["ph"] == "f" else None)
            arrow = ends[event["cat"], event["name"], event["id"]]
            assert event["ph"] not in arrow, event
            arrow[event["ph"]] = event
            assert holding(spans[event["tid"]], event["ts"]), event
    for arrow in ends.values():
        assert arrow["s"]["ts"] <= arrow["f"]["ts"]


def _check_names(events):
    named = [event["tid"] for event in events if event["name"] == "thread_name"]
    assert len(named) == len(set(named))
    used = {event["tid"] for event in events if event["ph"] in "Xsf"}
    assert used <= set(named)
