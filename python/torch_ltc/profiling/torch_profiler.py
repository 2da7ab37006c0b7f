# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ``torch.profiler`` is told: when it is on, spans of ours are in its rows."""

import threading

import torch

from torch_ltc.startup import start

_lock = threading.Lock()
_on = 0  # profilers that are


def enabling(stock):
    """Wrap ``_enable_profiler`` of torch.autograd.profiler."""

    def _enable_profiler(*args, **kwargs):
        result = stock(*args, **kwargs)
        _count(+1, start())
        return result

    return _enable_profiler


def disabling(stock):
    """Wrap ``_disable_profiler``, which must not run while others write its rows."""

    def _disable_profiler(*args, **kwargs):
        c = start()
        c.await_torch_spans()
        _count(-1, c)
        return stock(*args, **kwargs)

    return _disable_profiler


def begin_if_on(c):
    """Tell of the profiler in which the device starts."""
    if torch.autograd.profiler._is_profiler_enabled:
        _count(+1, c)


def _count(change, c):
    global _on
    with _lock:
        _on = max(0, _on + change)
        c.set_torch_profiler(_on > 0)
