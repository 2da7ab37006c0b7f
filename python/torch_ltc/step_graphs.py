# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a device with graphs of its own, such as CUDA's, launched as one, and what not.

A device counts that among its statistics: ``graphs`` that it launched,
``queued_REASON`` for steps that it did one by one, ``split_REASON`` for places that
cut the steps of one run, ``split_REASON:OP`` for calls of the library's kernels that
are in no graph (docs/gpu.md).
"""

from dataclasses import dataclass

_QUEUED = {
    "unlike": "the two runs before did other steps",
    "refused": "the driver has no graphs, or refused this one",
    "uncaptured": "it showed then that a library call among them cannot be captured",
}
_SPLIT = {
    "calls": "library calls that the host did",
    "checks": "what checks said, which the host read",
}
_OUTSIDE = {
    "random": "it draws random numbers, by a generator that the host sets",
    "indices": "its indices are looked at before it",
    "foreign": "it is not PyTorch's own",
    "waits": "it waits for the device",
    "host": "it copies from or to the host's memory",
    "moves": "its memory or its numbers are others nearly every time",
    "refused": "it failed when it was captured",
    "uncaptured": "this PyTorch has no graphs that others can fill",
}


@dataclass
class StepGraphs:
    """Counts of one device; ``str()`` is for people."""

    device: int
    launched: int  # graphs
    queued: dict[str, int]  # ranges of steps done one by one, by reason
    split: dict[str, int]  # cuts within a run, by reason, or "reason:op"

    def __str__(self):
        lines = [
            f"lazy:{self.device} launched {self.launched} "
            f"graph{'s' * (self.launched != 1)} of steps"
        ]
        lines += [
            f"  {number} times one by one: {_QUEUED.get(reason, reason)}"
            for reason, number in self.queued.items()
        ]
        lines += [
            f"  {number} times cut by {_cut(reason)}"
            for reason, number in self.split.items()
        ]
        return "\n".join(lines)


def _cut(reason):
    reason, _, op = reason.partition(":")
    if op:
        return f"{op}, which was queued alone: {_OUTSIDE.get(reason, reason)}"
    return _SPLIT.get(reason, reason)


def counted(ltc):
    """Return the `StepGraphs` of each device in use that counted something."""
    found = []
    for device in ltc.open_devices():
        counts = ltc.device_info(device)[3]
        if "graphs" in counts:
            queued, split = (_named(counts, kind) for kind in ("queued_", "split_"))
            found.append(StepGraphs(device, counts["graphs"], queued, split))
    return _with_counts(found)


def since(before, now):
    """Return what each device has counted from one `counted` to a later one."""
    nothing = StepGraphs(0, 0, {}, {})
    earlier = {row.device: row for row in before}
    return _with_counts(
        StepGraphs(
            row.device,
            row.launched - was.launched,
            _without_zeros(row.queued, was.queued),
            _without_zeros(row.split, was.split),
        )
        for row in now
        for was in [earlier.get(row.device, nothing)]
    )


def _with_counts(rows):
    return [row for row in rows if row.launched or row.queued or row.split]


def _named(counts, kind):
    found = {
        name.removeprefix(kind): number
        for name, number in counts.items()
        if name.startswith(kind)
    }
    return _without_zeros(found, {})


def _without_zeros(counts, before):
    left = {name: count - before.get(name, 0) for name, count in counts.items()}
    return {name: count for name, count in left.items() if count}
