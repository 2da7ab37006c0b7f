# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile as a page of text."""

import statistics

from torch_ltc.profiling import profile_machine

_MOST_ROWS = 12


def summary(data):
    """Return the text."""
    blocks = [
        _head(data),
        _parts(data),
        _syncs(data),
        _graphs(data),
        "\n".join(map(str, data.step_graphs)),
        _kernels(data),
    ]
    return "\n\n".join(block for block in blocks if block)


def _head(data):
    whole = [step for step in data.steps if step.whole]
    if not whole:
        return (
            f"no step ended in {ms(data.duration)} ms: steps end at mark_step() and "
            "after optimizer.step()"
        )
    settled = data.settled
    median = statistics.median(step.time for step in settled)
    head = f"{count(len(whole), 'step')}, {ms(median)} ms each (median"
    head += f" of the {len(settled)} that compiled nothing)"
    if len(settled) == len(whole):
        head = head.replace(f" of the {len(settled)} that compiled nothing", "")
    compiling = sum(step.parts["compile"] for step in data.steps)
    if compiling:
        head += f"; {ms(compiling)} ms went into compiling"
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
        rows.append((ms(time / len(steps)), f"{100 * time / total:.0f} %", name))
    running = sum(step.running for step in steps)
    rows.append(
        (
            ms(running / len(steps)),
            f"{100 * running / total:.0f} %",
            "(the device runs)",
        )
    )
    return _table(rows)


def _syncs(data):
    return ledger_table(data.ledger)


def ledger_table(ledger):
    """Return the first rows of a ledger as a table, or "" if it has none."""
    rows = [("syncs", "ms each", "waited", "cause", "line")]
    for row in ledger[:_MOST_ROWS]:
        cause = f"{row.cause} {row.detail}".strip()
        each = ms(row.time / row.count), ms(row.wait / row.count)
        rows.append((str(row.count), *each, cause, str(row.place)))
    if len(rows) == 1:
        return ""
    more = len(ledger) - _MOST_ROWS
    return _table(rows) + (f"\nand {more} more" if more > 0 else "")


def _graphs(data):
    rows = [("runs", "ms each", "ops", "graph", "compiled because of")]
    for graph in data.graphs[:_MOST_ROWS]:
        causes = [each.what or each.cause for each in graph.compiles]
        each = ms(graph.running / graph.launches)
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


def _kernels(data):
    found = [kernel for kernel in data.kernels if kernel.timed]
    if not found:
        return ""
    machine = profile_machine.known()
    rows = [("us each", "runs", "GFLOP/s", "GB/s", "of the limit", "kernel", "line")]
    for kernel in found[:_MOST_ROWS]:
        share = f"{100 * machine.share(kernel):.0f} %" if machine else "?"
        rows.append(
            (
                _digits(kernel.time / 1e3),
                str(kernel.launches),
                _digits(kernel.flops / max(kernel.time, 1)),
                _digits(kernel.bytes / max(kernel.time, 1)),
                share,
                kernel.label,
                str(kernel.place),
            )
        )
    more = len(found) - _MOST_ROWS
    return _table(rows) + (f"\nand {more} more kernels" if more > 0 else "")


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


def ms(time):
    """Return nanoseconds as milliseconds."""
    return _digits(time / 1e6)


def _digits(value):
    """Return a number of three digits, without a power of ten."""
    if 0 < value < 0.001:
        return "< 0.001"
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def count(number, noun):
    """Return a number with its noun."""
    return f"{number} {noun}{'s' * (number != 1)}"
