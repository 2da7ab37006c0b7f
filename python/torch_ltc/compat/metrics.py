# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calls of ``torch_xla.debug.metrics``.

``import torch_ltc.compat.metrics as met`` in place of torch_xla's module. Counters
have torch_xla's names where they count the same (``MarkStep``, ``xla::<op>``,
``aten::<op>``), beside those of ``torch.lazy.metrics()``. Metrics are totals: no
single samples are kept, so they have no percentiles.
"""

import re

import torch

from torch_ltc import ledger
from torch_ltc import metrics as _own
from torch_ltc.startup import start

_COMPILING = ("import", "lower", "optimize", "codegen")
_READS = ("item", "read", "print")
# Totals of torch_xla's names; their unit is the nanosecond, as there.
_TIMES = ("CompileTime", "ExecuteTime", "TransferFromDeviceTime")
_SHORT_COUNTERS = ("CachedCompile", "MarkStep")
_SHORT_METRICS = (*_TIMES, "TransferToDeviceTime", "ExecuteReplicatedTime")
_FALLBACKS = "aten::"

# Values when they were cleared, which are taken off.
_cleared_counters, _cleared_metrics = {}, {}


def counter_names():
    """Return the names of all counters that are not zero."""
    return sorted(_counters())


def counter_value(name):
    """Return the value of a counter, or None if it has none."""
    return _counters().get(name)


def clear_counters():
    """Count from zero again; ``torch.lazy.metrics()`` stays as it is."""
    _cleared_counters.update(_all_counters())


def metric_names():
    """Return the names of all metrics that have samples."""
    return sorted(_metrics())


def metric_data(name):
    """Return a metric's number of samples, their sum, and no samples; or None."""
    found = _metrics().get(name)
    return found and (*found, [])


def clear_metrics():
    """Sum metrics from zero again."""
    _cleared_metrics.update(_all_metrics())


def clear_all():
    """Clear counters and metrics."""
    clear_metrics()
    clear_counters()


def metrics_report():
    """Return a text with all metrics and counters."""
    return _report(_metrics(), _counters())


def short_metrics_report(counter_names=None, metric_names=None):
    """Return a text with these counters and metrics, and with all fallbacks."""
    wanted = set(counter_names or _SHORT_COUNTERS)
    metrics = set(metric_names or _SHORT_METRICS)
    return _report(
        {name: found for name, found in _metrics().items() if name in metrics},
        {
            name: value
            for name, value in _counters().items()
            if name in wanted or name.startswith(_FALLBACKS)
        },
    )


def executed_fallback_ops():
    """Return the names of ops that ran on the host, outside of graphs."""
    return [name for name in counter_names() if name.startswith(_FALLBACKS)]


def _counters():
    counted = {
        name: value - _cleared_counters.get(name, 0)
        for name, value in _all_counters().items()
    }
    return {name: value for name, value in counted.items() if value}


def _all_counters():
    start()
    found = _own.snapshot()
    for name in torch._C._lazy._counter_names():
        value = torch._C._lazy._counter_value(name)
        found[re.sub("^lazy::", "xla::", name)] = value
    return found


def _metrics():
    found = {}
    for name, (samples, total) in _all_metrics().items():
        before = _cleared_metrics.get(name, (0, 0))
        if samples - before[0]:
            found[name] = samples - before[0], total - before[1]
    return found


def _all_metrics():
    counters = _own.snapshot()

    def time(*stages):
        return 1000 * sum(counters.get(f"{s}.microseconds", 0) for s in stages)

    reads = [row for row in ledger.syncs() if row.cause in _READS]
    found = {
        "CompileTime": (counters.get("codegen.graphs", 0), time(*_COMPILING)),
        "ExecuteTime": (counters.get("execute.spans", 0), time("execute")),
        "TransferFromDeviceTime": (
            sum(row.count for row in reads),
            sum(row.time for row in reads),
        ),
    }
    # PyTorch's own, such as TensorsGraphSize: Python is given their text alone.
    pattern = r"Metric: (\S+)\n\s*TotalSamples: (\d+)\n\s*Accumulator: ([\d.]+)\n"
    for name, samples, total in re.findall(pattern, torch._C._lazy._metrics_report()):
        found.setdefault(name, (int(samples), float(total)))
    return found


def _report(metrics, counters):
    lines = []
    for name, (samples, total) in sorted(metrics.items()):
        value = _duration(total) if name in _TIMES else f"{total:.2f}"
        lines += [f"Metric: {name}", f"  TotalSamples: {samples}"]
        lines.append(f"  Accumulator: {value}")
    for name, value in sorted(counters.items()):
        lines += [f"Counter: {name}", f"  Value: {value}"]
    return "\n".join([*lines, ""])


def _duration(nanoseconds):
    seconds, rest = divmod(nanoseconds / 1e9, 1)
    milliseconds, rest = divmod(1e3 * rest, 1)
    text = f"{seconds:02.0f}s" if seconds else ""
    return f"{text}{milliseconds:03.0f}ms{1e3 * rest:07.3f}us"
