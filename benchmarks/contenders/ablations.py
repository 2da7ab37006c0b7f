# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch_ltc with one optimization left out, for each there is."""

import re
from pathlib import Path

from contenders.lazy import Lazy

PREFIX = "without-"
TABLE = Path(__file__).resolve().parents[2] / "include/ltc/optimizations.def"
OPTIMIZATIONS = re.findall(
    r"^LTC_OPTIMIZATION\((\w+)", TABLE.read_text(encoding="utf-8"), re.MULTILINE
)


def without(optimization):
    """Return the contender that compiles without this optimization."""
    # The cache on disk keeps nothing of such graphs: no second process to time.
    words = {
        "__doc__": f"The program on lazy, compiled without {optimization}.",
        "name": PREFIX + optimization,
        "environment": Lazy.environment | {"LTC_WITHOUT": optimization},
        "cache_variable": None,
    }
    return type(f"Without_{optimization}", (Lazy,), words)


ABLATIONS = {PREFIX + name: without(name) for name in OPTIMIZATIONS}
