# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What guards have in common: blocks and functions in which a thread may not do all."""

import contextlib
import inspect
import threading


class Guard(contextlib.ContextDecorator):
    """A guard of the thread that enters it; they nest, and may be used again.

    `_make` returns an object of ``torch_ltc._C`` with ``enter`` and ``leave``.
    """

    def __init__(self):
        self._entered = threading.local()

    def _make(self):
        raise NotImplementedError

    def _recreate_cm(self):
        return self  # which guard a thread is in, each thread knows itself

    def __call__(self, function):
        """Guard each call of the function."""
        if (
            inspect.iscoroutinefunction(function)
            or inspect.isgeneratorfunction(function)
            or inspect.isasyncgenfunction(function)
        ):
            raise TypeError(
                f"{function.__qualname__} returns before it runs, so that a guard "
                "around its call guards nothing; use one inside, with a with block"
            )
        return super().__call__(function)

    def __enter__(self):
        guard = self._make()
        guard.enter()
        if not hasattr(self._entered, "guards"):
            self._entered.guards = []
        self._entered.guards.append(guard)
        return self._entering(guard)

    def _entering(self, guard):
        """Return what ``with ... as`` gives."""

    def _leaving(self):
        """Finish what a block without an exception is to be guarded for."""

    def __exit__(self, *exception):
        guard = self._entered.guards.pop()
        try:
            if exception[0] is None:
                self._leaving()
        finally:
            guard.leave()
