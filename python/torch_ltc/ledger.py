# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why the program syncs, and guards against it.

    print(torch_ltc.syncs())
    with torch_ltc.no_sync():
        loss = model(x).square().mean()
        loss.backward()

The ledger is always kept: an entry takes 0.15 us of a sync, which takes microseconds.
"""

from typing import NamedTuple

from torch_ltc.autopsy import Place
from torch_ltc.guards import Guard
from torch_ltc.profiling.profile_data import Reason
from torch_ltc.profiling.profile_text import ledger_table
from torch_ltc.startup import start


class Ledger(list):
    """All syncs by cause and line, as `profile_data.Reason`; ``str()`` is a table.

    Those that took longest come first. Times are nanoseconds, compiles left out.
    """

    def __str__(self):
        if not self:
            return "no syncs"
        count = sum(row.count for row in self)
        wait = sum(row.wait for row in self) / 1e9
        head = f"{count} sync{'s' * (count != 1)}, {wait:.3g} s waited"
        return f"{head}\n{ledger_table(self)}"


def syncs():
    """Return the `Ledger` of the process so far."""
    rows = (
        Reason(cause, detail, Place(*place), count, time, wait, graphs)
        for cause, detail, place, count, time, wait, graphs in start().sync_ledger()
    )
    return Ledger(sorted(rows, key=lambda row: -row.time))


class Sync(NamedTuple):
    """A sync that a budget has allowed."""

    cause: str
    detail: str
    place: Place


class sync_budget(Guard):
    """Raise when a block or a function syncs more than `allowed` times.

        @torch_ltc.sync_budget(1)
        def step(x, y): ...

    One sync more raises `torch_ltc.UnexpectedSyncError` at the line that would have
    synced, before it does: nothing is lost, and the same line works outside. What
    ends a graph and waits for nothing does not count: mark_step(), the end of an
    optimizer's step, an optimizer being made, `max_pending_ops`, `sync`.

    What counts is done by the thread that entered the guard. ``with ... as
    counted`` gives an object whose ``len()`` says how many there were, and
    ``counted.syncs`` which.
    """

    def __init__(self, allowed):
        if allowed < 0:
            raise ValueError(f"allowed is {allowed}, and must not be negative")
        super().__init__()
        self._allowed = allowed

    def _make(self):
        return start().SyncGuard(self._allowed)

    def _entering(self, guard):
        return _Counted(guard)


class _Counted:
    """What a budget has allowed so far."""

    def __init__(self, guard):
        self._guard = guard

    @property
    def syncs(self):
        """A list of `Sync`."""
        return [
            Sync(cause, detail, Place(*place))
            for cause, detail, place in self._guard.counted()
        ]

    def __len__(self):
        return len(self.syncs)


def no_sync():
    """Return a `sync_budget` that allows none."""
    return sync_budget(0)


class no_fallback(Guard):
    """Raise where an op would leave its graph, as LTC_FALLBACK=error does everywhere.

        with torch_ltc.no_fallback():
            train_one_step()

    The error comes at the op's line, before the graph is ended. A graph that the
    compiler fails at raises too, rather than run as library calls.
    """

    def _make(self):
        return start().FallbackGuard()
