# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile as a page of text."""

import statistics

_MOST_ROWS = 12


def summary(data):
    """Return the text."""
    blocks = [_head(data), _parts(data), _syncs(data), _graphs(data)]
    return "\n\n".join(block for block in blocks if block)


def _head(data):
    whole = [step for step in data.steps if step.whole]
    if not whole:
        return (
            f"no step ended in {_ms(data.duration)} ms: steps end at mark_step() and "
            "after optimizer.step()"
        )
    settled = data.settled
    median = statistics.median(step.time for step in settled)
    head = f"{_count(len(whole), 'step')}, {_ms(median)} ms each (median"
    head += f" of the {len(settled)} that compiled nothing)"
    if len(settled) == len(whole):
        head = head.replace(f" of the {len(settled)} that compiled nothing", "")
    compiling = sum(step.parts["compile"] for step in data.steps)
    if compiling:
        head += f"; {_ms(compiling)} ms went into compiling"
    if data.dropped:
        head += f"; {data.dropped} rows were too many to keep"
    return head


def _parts(data):
    steps = data.settled
    total = sum(step.time for step in steps)
    if not total:
        return ""
    names = steps[0].parts
    times = {name: sum(step.parts[name] for step in steps) for name in names}
    rows = [("ms a step", "share", "part")]
    for name, time in sorted(times.items(), key=lambda item: -item[1]):
        rows.append((_ms(time / len(steps)), f"{100 * time / total:.0f} %", name))
    running = sum(step.running for step in steps)
    rows.append(
        (
            _ms(running / len(steps)),
            f"{100 * running / total:.0f} %",
            "(the device runs)",
        )
    )
    return _table(rows)


def _syncs(data):
    rows = [("syncs", "ms each", "waited", "cause", "line")]
    for row in data.ledger[:_MOST_ROWS]:
        cause = f"{row.cause} {row.detail}".strip()
        each = _ms(row.time / row.count), _ms(row.wait / row.count)
        rows.append((str(row.count), *each, cause, str(row.place)))
    return _table(rows) if len(rows) > 1 else ""


def _graphs(data):
    rows = [("runs", "ms each", "ops", "graph", "compiled because of")]
    for graph in data.graphs[:_MOST_ROWS]:
        causes = [each.what or each.cause for each in graph.compiles]
        each = _ms(graph.running / graph.launches)
        rows.append(
            (
                str(graph.launches),
                each,
                str(graph.ops),
                graph.key[:8],
                "; ".join(causes) or "(it was in memory)",
            )
        )
    return _table(rows) if len(rows) > 1 else ""


def _table(rows):
    """Align numbers to the right; the last two columns are words."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = len(widths) - (2 if len(widths) > 3 else 1)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if index < words else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _ms(time):
    return f"{time / 1e6:.3g}" if time < 1e8 else f"{time / 1e6:.0f}"


def _count(number, noun):
    return f"{number} {noun}{'s' * (number != 1)}"


def advice(data):
    """Return sentences that say what to do first, the most costly first."""
    steps = data.settled
    total = sum(step.time for step in steps)
    if not total or not steps[0].whole:
        return []
    found = [*_advice_on_syncs(data), *_advice_on_parts(steps, total)]
    compiled = sum(bool(step.parts["compile"]) for step in data.steps)
    if compiled > 3 and 3 * compiled > len(data.steps):
        time = sum(step.parts["compile"] for step in data.steps)
        text = f"{compiled} of {_count(len(data.steps), 'step')} compiled a graph, "
        text += f"{_ms(time)} ms in all: see why in the table of graphs"
        found.append((time, text))
    return [text for _, text in sorted(found, key=lambda row: -row[0])]


_REMEDIES = {
    "item": "read it every 50 steps",
    "read": "read it every 50 steps",
    "print": "print it every 50 steps",
    "fallback": "no graph can hold the op: move it out of the loop, or replace it",
    "linalg": "LTC_LINALG_ERRORS=later raises when the graph runs instead",
    "synchronize": "leave it out: values are waited for when they are read",
}


def _advice_on_syncs(data):
    whole = [step for step in data.steps if step.whole]
    span = sum(step.time for step in whole)
    for row in data.ledger:
        is_often = 2 * row.count >= len(whole)
        if row.cause in _REMEDIES and is_often and 20 * row.time > span:
            cause = f"{row.cause} {row.detail}".strip()
            each = _ms(row.time / len(whole))
            text = f"{cause} at {row.place} takes {each} ms a step"
            yield row.time, f"{text}: {_REMEDIES[row.cause]}"


def _advice_on_parts(steps, total):
    running = sum(step.running for step in steps)
    host = sum(step.parts["record"] + step.parts["outside"] for step in steps)
    if host > running and 2 * host > total:
        text = f"{100 * host / total:.0f} % of a step is Python and recording, and the "
        text += f"device is busy for {100 * running / total:.0f} %: the loop is "
        yield host, text + "host-bound; larger batches cost little"
