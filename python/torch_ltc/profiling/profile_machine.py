# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What this machine can do at most, measured once and kept in the cache folder."""

import contextlib
import dataclasses
import hashlib
import json
import os
import time
from pathlib import Path

import torch

from torch_ltc.startup import start

_VERSION = 1


@dataclasses.dataclass
class Limits:
    """Of all threads that PyTorch uses, as PyTorch's own kernels reach them."""

    flops: float  # a second, in single precision: a product of large matrices
    bytes: float  # a second, read and written: a copy of large memory
    cached_bytes: float  # the same of memory that stays in a core's cache
    threads: int

    def roof(self, flops, size):
        """Return the least seconds that these operations and bytes may take."""
        return max(flops / self.flops, size / self.bytes)

    def share(self, kernel):
        """Return what a kernel reaches of it; above 1, operands were in a cache."""
        if not kernel.time:
            return 0.0
        return self.roof(kernel.flops, kernel.bytes) / (kernel.time * 1e-9)


def known():
    """Return the `Limits` if they have been measured, else None."""
    path = _path()
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Limits(**json.loads(path.read_text(encoding="utf-8")))
    return None


def limits(reached=0.0):
    """Return the `Limits`; measure them the first time, which takes a second.

    A product that has `reached` more operations a second says that the machine was busy
    then: they are measured again.
    """
    found = known()
    if found is None or reached > found.flops:
        measured, before = _measure(), found or Limits(reached, 0.0, 0.0, 0)
        found = Limits(
            max(measured.flops, before.flops, reached),
            max(measured.bytes, before.bytes),
            max(measured.cached_bytes, before.cached_bytes),
            measured.threads,
        )
        _keep(found)
    return found


def _path():
    """Return the file of this processor and number of threads."""
    model = ""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line for line in lines if line.startswith("model name"))
    words = f"{_VERSION} {model} {os.cpu_count()} {torch.get_num_threads()}"
    name = hashlib.sha256(words.encode()).hexdigest()[:16]
    return Path(start().cache_directory(), f"machine-{name}.json")


def _keep(found):
    path = _path()
    if not path.parent.is_dir():
        return
    part = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # a report is worth more
        part.write_text(json.dumps(dataclasses.asdict(found)), encoding="utf-8")
        part.replace(path)


def _measure():
    with torch.no_grad(), torch.device("cpu"):
        side, large, small = 1024, 1 << 24, 1 << 14
        a, b, c = (torch.ones(side, side) for _ in range(3))
        product = _shortest(lambda: torch.mm(a, b, out=c))
        x, y = torch.ones(large), torch.ones(large)
        copy = _shortest(lambda: y.copy_(x))
        x, y = torch.ones(small), torch.ones(small)
        one = _shortest(lambda: [y.copy_(x) for _ in range(200)]) / 200
    threads = torch.get_num_threads()
    cached = 8 * small / one * threads  # each core has a cache of its own
    return Limits(2 * side**3 / product, 8 * large / copy, cached, threads)


def _shortest(work, times=7):
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)
