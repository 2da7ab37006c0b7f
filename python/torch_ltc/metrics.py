# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counters of every stage, named ``stage.noun[.detail]``.

The same as ``torch.lazy.metrics()``, and a way to count one part of a program:

    with torch_ltc.metrics.measure() as counts:
        train_one_epoch()
    assert counts["codegen.graphs"] == 0
"""

import contextlib
from collections import Counter

from torch_ltc.startup import start


def snapshot():
    """Return all counters that are not zero, and the ones always listed."""
    return start().metrics()


def reset():
    """Set every counter to zero."""
    start().reset_metrics()


@contextlib.contextmanager
def measure():
    """Yield a `collections.Counter`, filled at the end with what was counted."""
    counts = Counter()
    before = Counter(snapshot())
    try:
        yield counts
    finally:
        counts.update(snapshot())
        counts.subtract(before)
