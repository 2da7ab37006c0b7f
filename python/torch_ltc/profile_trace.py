# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile in the Trace Event Format, which Perfetto and chrome://tracing open."""

import os

_STEPS, _DEVICE = 0, 1_000_000  # rows beside those of threads


def events(data):
    """Return the file's object."""
    process = os.getpid()
    named = {_STEPS: "steps", _DEVICE: "device"}
    named |= {row.thread: f"thread {row.thread}" for row in data.events}
    named |= {row.thread: f"thread {row.thread}" for row in data.syncs}
    rows = [
        _row("process_name", "M", process, 0, args={"name": "torch_ltc"}),
        *(
            _row("thread_name", "M", process, thread, args={"name": name})
            for thread, name in named.items()
        ),
        *_spans(data, process),
        *_launches(data, process),
    ]
    return {"traceEvents": rows, "displayTimeUnit": "ms"}


def _spans(data, process):
    for step in data.steps:
        parts = {name: time / 1e6 for name, time in step.parts.items()}
        name = f"step {step.number}" if step.whole else "after the last step"
        yield _span(name, "step", process, _STEPS, step, {"ms": parts})
    for sync in data.syncs:
        name = f"{sync.cause} {sync.detail}".strip()
        place = {"line": str(sync.place)}
        yield _span(name, "sync", process, sync.thread, sync, place)
    for event in data.events:
        yield _span(event.name, "part", process, event.thread, event, {})


def _launches(data, process):
    """Yield runs, and arrows to them from where they were handed over."""
    for number, run in enumerate(data.runs, 1):
        if not run.ended:
            continue
        yield _row(
            f"graph {run.key[:8]}",
            "X",
            process,
            _DEVICE,
            cat="run",
            ts=run.begun / 1e3,
            dur=run.time / 1e3,
            args={"graph": run.key, "ops": run.ops},
        )
        for phase, thread, time in (
            ("s", run.thread, run.submitted),
            ("f", _DEVICE, run.begun),
        ):
            more = {"bp": "e"} if phase == "f" else {}
            yield _row(
                "launch",
                phase,
                process,
                thread,
                cat="run",
                id=number,
                ts=time / 1e3,
                **more,
            )


def _span(name, category, process, thread, row, args):
    return _row(
        name,
        "X",
        process,
        thread,
        cat=category,
        ts=row.start / 1e3,
        dur=(row.end - row.start) / 1e3,
        args=args,
    )


def _row(name, phase, process, thread, **more):
    return {"name": name, "ph": phase, "pid": process, "tid": thread, **more}
