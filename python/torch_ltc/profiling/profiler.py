# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a step goes, and why each sync happens.

    with torch_ltc.profile("run/") as p:
        train()
    print(p)

``LTC_PROFILE=run/`` profiles a whole program, and so does
``python -m torch_ltc profile script.py``.
"""

import atexit
import contextlib
import functools
import os
import sys
import time
import traceback
import warnings

from torch_ltc import autopsy, settings, step_graphs
from torch_ltc.profiling import (
    profile_data,
    profile_files,
    profile_scalars,
    profile_text,
)
from torch_ltc.profiling.profile_owners import OwnerWatch
from torch_ltc.startup import start

_PARTS = (
    "steps",
    "syncs",
    "ledger",
    "runs",
    "graphs",
    "kernels",
    "transfers",
    "memory",
    "step_graphs",
    "device_spans",
)
# What was queued may still run when a profile ends.
_LONGEST_WAIT_S = 60


class profile(contextlib.ContextDecorator):
    """Profile a block or a function; write files at its end if there is a directory.

    Afterwards it has ``steps``, ``syncs``, ``ledger``, ``runs``, ``graphs``,
    ``kernels``, ``transfers``, ``memory``, ``step_graphs`` and ``device_spans``, lists
    of dataclasses (`profile_data`, `profile_kernels`), and ``str()`` is a summary.
    ``rows(name)`` has one of these as flat dicts. One profile is on at a time: a second
    one inside it warns, and stays empty. With `stages` the page has each graph that is
    compiled meanwhile at every stage; that needs a directory. `callback` is called with
    the profile once it has ended.
    """

    def __init__(
        self,
        directory=None,
        *,
        stages=False,
        callback=None,
        longest_wait_s=_LONGEST_WAIT_S,
    ):
        if stages and not directory:
            raise ValueError("stages=True writes files: name a directory for them")
        self.directory = directory and os.fspath(directory)
        self.stages = stages
        self.callback = callback
        self.longest_wait_s = longest_wait_s  # at the end, for what still runs
        self.data = profile_data.Data(0, 0, [], [], [], [], [])
        self._is_on = False
        self._owners = None
        self._step_graphs = ()
        self._dumping = contextlib.ExitStack()
        self._process = os.getpid()

    def _recreate_cm(self):
        return type(self)(
            self.directory,
            stages=self.stages,
            callback=self.callback,
            longest_wait_s=self.longest_wait_s,
        )

    def __enter__(self):
        return self.begin(start())

    def begin(self, c):
        """Enter, with ``torch_ltc._C`` that may just be starting."""
        if self.directory:
            profile_files.check(self.directory, stages=self.stages)
        self._is_on = c.profile_begin()
        if not self._is_on:
            warnings.warn(
                "a profile is on already, and this one records nothing", stacklevel=3
            )
        else:
            self._step_graphs = step_graphs.counted(c)
            self._owners = OwnerWatch(c.profile_now)
            self._owners.begin()
            if self.stages:
                folder = os.path.join(self.directory, profile_files.STAGES)
                self._dumping.enter_context(settings.scope(dump=folder))
        return self

    def __exit__(self, *exception):
        # A forked process has its parent's rows.
        if not self._is_on or os.getpid() != self._process:
            return
        self._is_on = False
        c = start()
        try:
            _await_runs(c, self.longest_wait_s)
        finally:
            owners = self._owners.end()
            self._dumping.close()
            rows = c.profile_end()
        self.data = profile_data.read(
            c.profile_parts(), rows, autopsy.explain(), owners
        )
        self.data.step_graphs = step_graphs.since(
            self._step_graphs, step_graphs.counted(c)
        )
        if self.directory:
            self._write()
        if self.callback:
            self.callback(self)

    def _write(self):
        try:
            profile_files.write(self.data, self.directory)
        except (OSError, ValueError) as error:  # what was trained is worth more
            warnings.warn(f"the profile cannot be written: {error}", stacklevel=3)

    def rows(self, name):
        """Return the list of that name as flat dicts, for ``pandas.DataFrame``.

        What lies in a row has its name behind a dot: ``parts.wait``, ``place.line``.
        """
        if name not in _PARTS:
            raise ValueError(f"no '{name}' in a profile; there are {', '.join(_PARTS)}")
        return self.data.rows(name)

    def write_scalars(self, to, prefix="torch_ltc"):
        """Write each step's times and counts for TensorBoard; return their number.

        `to` is a ``SummaryWriter`` or a directory.
        """
        return profile_scalars.write(self.data, to, prefix)

    def __getattr__(self, name):
        if name in _PARTS:
            return getattr(self.data, name)
        raise AttributeError(f"a profile has no attribute '{name}'")

    def __str__(self):
        return profile_text.summary(self.data)


def _await_runs(c, longest):
    end = time.monotonic() + longest
    while c.profile_open_runs() and time.monotonic() < end:
        time.sleep(0.001)


def begin_by_setting(c):
    """Profile the program from here to its end if the setting `profile` says so."""
    directory = {row[0]: row[2] for row in c.settings()}["profile"]
    if not directory:
        return
    os.environ.pop("LTC_PROFILE", None)  # worker processes would write there too
    whole = profile(directory)
    try:
        whole.begin(c)
    except OSError as error:
        print(f"torch_ltc: no profile: {error}", file=sys.stderr)
        return
    atexit.register(whole.__exit__, None, None, None)


def printing(stock):
    """Wrap ``torch._tensor_str._str``: what it reads is one sync, for print."""

    @functools.wraps(stock)
    def _str(self, *args, **kwargs):
        c = start()
        began = self.device.type == "lazy" and c.begin_print()
        try:
            return stock(self, *args, **kwargs)
        except BaseException as error:
            # PyTorch's frame holds a guard that keeps torch.func from tensors.
            traceback.clear_frames(error.__traceback__)
            raise
        finally:
            if began:
                c.end_sync()

    return _str
