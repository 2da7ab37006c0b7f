# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``LTC_STATUS=1``: a line that says how training goes, while it goes.

    step 1240, 3.1 ms each, device-bound (busy 93 %), 1 sync a step, 4 graphs compiled

In a terminal the line is live, below what the program prints. Where the program
shows bars of tqdm, and where standard error is a file, a line is printed now and then.
"""

import atexit
import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass

from torch_ltc import ledger
from torch_ltc import metrics as _metrics
from torch_ltc.profiling import profile_text
from torch_ltc.startup import is_forked

# Seconds between two lines.
_LIVE, _BESIDE_BARS, _IN_FILE = 0.5, 10, 30
_FIRST = 2  # a short program has its first line early
_STEP_ENDS = ("mark_step", "optimizer_step")
_NO_SYNCS = (*_STEP_ENDS, "parameters", "cap", "each_op", "device_copy")
_ERASE = "\r\x1b[2K"

_reporter = None


@dataclass
class Counts:
    """What the process has done so far."""

    time: float  # seconds
    steps: int
    busy: float  # seconds in which the device ran
    syncs: int  # that read or wait
    compiles: int


def counts():
    """Return the `Counts` of now."""
    rows, counters = ledger.syncs(), _metrics.snapshot()
    return Counts(
        time.monotonic(),
        sum(min(row.count, row.graphs) for row in rows if row.cause in _STEP_ENDS),
        counters.get("execute.busy_microseconds", 0) / 1e6,
        sum(row.count for row in rows if row.cause not in _NO_SYNCS),
        counters.get("codegen.graphs", 0),
    )


def describe(before, now):
    """Return the line for what was done between two `Counts`, or "" if no step was."""
    steps = now.steps - before.steps
    if not steps:
        return ""
    elapsed = now.time - before.time
    busy = min(1, (now.busy - before.busy) / elapsed)
    syncs = (now.syncs - before.syncs) / steps
    return (
        f"step {now.steps}, {profile_text.ms(1e9 * elapsed / steps)} ms each, "
        f"{'device' if busy >= 0.5 else 'host'}-bound (busy {100 * busy:.0f} %), "
        f"{syncs:.2g} sync{'s' * (syncs != 1)} a step, "
        f"{profile_text.count(now.compiles, 'graph')} compiled"
    )


def begin_by_setting(c):
    """Show the line from here on if the setting `status` says so."""
    values = {row[0]: row[2] for row in c.settings()}
    # One process of those that train together is enough, and their workers none.
    if values["status"] == "true" and os.environ.get("RANK", "0") == "0":
        os.environ.pop("LTC_STATUS", None)
        # The device is just starting: there is nothing to count yet.
        _begin(Counts(time.monotonic(), 0, 0.0, 0, 0))


def apply(on):
    """Show the line from here on, or no more."""
    global _reporter
    if on:
        _begin(counts())
    elif _reporter is not None:
        _reporter.end()
        _reporter = None


def _after_fork():
    if _reporter is not None and _reporter.terminal:
        _reporter.terminal.forget()


os.register_at_fork(after_in_child=_after_fork)


def _begin(first):
    global _reporter
    if _reporter is None and sys.stderr is not None:
        _reporter = _Reporter(first)
        _reporter.start()


class _Reporter(threading.Thread):
    def __init__(self, first):
        super().__init__(name="torch_ltc status", daemon=True)
        self._ended = threading.Event()
        self._first = first
        self.terminal = _Terminal() if _is_terminal(sys.stderr) else None
        atexit.register(self.end)

    def run(self):
        last, told = self._first, time.monotonic() - _IN_FILE + _FIRST
        while not self._ended.wait(_LIVE):
            bars = _bars()
            if not self.terminal or bars:
                least = _BESIDE_BARS if bars else _IN_FILE
                if time.monotonic() - told < least:
                    continue
            now = counts()
            text = describe(last, now)
            if not text:
                continue
            last, told = now, time.monotonic()
            try:
                self._show(text, bars)
            except (OSError, ValueError):  # the program closed the stream
                return

    def _show(self, text, bars):
        if bars:
            bars.write(f"torch_ltc: {text}", file=sys.stderr)
        elif self.terminal:
            self.terminal.show(f"torch_ltc: {text}")
        else:
            print(f"torch_ltc: {text}", file=sys.stderr, flush=True)

    def end(self):
        """Stop, and say once what was done in all."""
        atexit.unregister(self.end)
        if self._ended.is_set() or is_forked():
            return
        self._ended.set()
        self.join(timeout=1)
        text = describe(self._first, counts())
        if self.terminal:
            self.terminal.end()
        if text and sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                print(f"torch_ltc: {text}, in all", file=sys.stderr, flush=True)


def _is_terminal(stream):
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _bars():
    """Return the class tqdm if the program shows bars of it, else None."""
    module = sys.modules.get("tqdm.std")
    bars = module and getattr(module.tqdm, "_instances", None)
    return module.tqdm if bars else None


class _Terminal:
    """The last line of a terminal, which makes way for what the program prints."""

    def __init__(self):
        self._lock = threading.RLock()
        self._shown = False
        self._stock = sys.stdout, sys.stderr
        self.stream = sys.stderr
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and stream.isatty():
                setattr(sys, name, _MakesWay(stream, self))

    def show(self, text):
        """Put the text into the line, if it stands at the start of one."""
        width = os.get_terminal_size(self.stream.fileno()).columns or 80
        with self._lock:
            if _MakesWay.is_in_line:
                return
            self.stream.write(_ERASE + text[: width - 1] + "\r")
            self.stream.flush()
            self._shown = True

    def clear(self):
        """Make way."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._shown:
                self._shown = False
                self.stream.write(_ERASE)
                self.stream.flush()

    def forget(self):
        """Be the terminal of a child: its parent's thread holds no lock here."""
        self._lock = threading.RLock()

    def end(self):
        """Make way for good."""
        self.clear()
        for name, stock in zip(("stdout", "stderr"), self._stock, strict=True):
            if isinstance(getattr(sys, name), _MakesWay):
                setattr(sys, name, stock)


class _MakesWay:
    """A stream of the program's, in front of which the line is cleared."""

    is_in_line = False  # whether what was printed last has not ended its line

    def __init__(self, stream, terminal):
        self._stream, self._terminal = stream, terminal

    def write(self, text):
        """Write as the stream does."""
        with self._terminal._lock:
            self._terminal.clear()
            if text:
                _MakesWay.is_in_line = not text.endswith("\n")
            return self._stream.write(text)

    def writelines(self, lines):
        """Write as the stream does."""
        for line in lines:
            self.write(line)

    # tqdm compares the streams of its bars with the program's.
    def __eq__(self, other):
        return self._stream == getattr(other, "_stream", other)

    def __hash__(self):
        return hash(self._stream)

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __iter__(self):
        return iter(self._stream)
