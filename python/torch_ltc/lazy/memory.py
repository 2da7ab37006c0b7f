# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of ``torch.lazy`` that tells of memory."""

import os

from torch_ltc.lazy.ordinal import ordinal_of
from torch_ltc.startup import start as _start


def memory_allocated(device=None):
    """Return the bytes of device memory that live tensors hold."""
    return _start().memory(ordinal_of(device))[0]


def max_memory_allocated(device=None):
    """Return the most bytes held since the start or `reset_peak_memory_stats`."""
    return _start().memory(ordinal_of(device))[1]


def mem_get_info(device=None):
    """Return the bytes of memory free and in all: the host's if that is used."""
    _, _, properties, statistics = _start().device_info(ordinal_of(device))
    if "memory" in properties:
        total = int(properties["memory"])
        free = statistics.get("memory_free", total - memory_reserved(device))
        return max(free, 0), total
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def memory_reserved(device=None):
    """Return the bytes that the device's allocator holds, free ones included."""
    return _start().memory(ordinal_of(device))[2]


def max_memory_reserved(device=None):
    """Return the most bytes known to have been held, free ones included.

    The larger of what is held now and `max_memory_allocated`.
    """
    _, peak, reserved = _start().memory(ordinal_of(device))
    return max(peak, reserved)


def memory_stats(device=None):
    """Return these numbers by the names that ``torch.cuda.memory_stats`` has."""
    allocated, peak, reserved = _start().memory(ordinal_of(device))
    return {
        "allocated_bytes.all.current": allocated,
        "allocated_bytes.all.peak": peak,
        "reserved_bytes.all.current": reserved,
        "reserved_bytes.all.peak": max(peak, reserved),
    }


def memory_summary(device=None, abbreviated=False):
    """Return these numbers as lines of text."""
    stats = memory_stats(device)
    return "\n".join(f"{name:30} {value:>16,}" for name, value in stats.items())


def reset_peak_memory_stats(device=None):
    """Start `max_memory_allocated` again from the current use."""
    _start().reset_peak_memory(ordinal_of(device))


def reset_max_memory_allocated(device=None):
    """Do as `reset_peak_memory_stats`."""
    reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device=None):
    """Do nothing but look at `device`: there are no sums over time."""
    _start().check_ordinal(ordinal_of(device))


def empty_cache():
    """Do nothing: free memory goes back to the system by itself."""
