# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch_ltc: the same program with another device."""

from typing import ClassVar

import torch
import torch_ltc

from contenders.eager import Eager


class Lazy(Eager):
    """The program on lazy."""

    name = "lazy"
    device = "lazy"
    same_numbers: ClassVar[dict | None] = {"LTC_RNG": "eager"}
    cache_variable = "LTC_CACHE_DIR"

    def submit(self):
        torch.lazy.mark_step()

    def finish(self):
        torch.lazy.synchronize()

    def counts(self):
        found = torch.lazy.metrics()
        fallbacks = [n for k, n in found.items() if k.startswith("record.fallback.")]
        return {
            "graphs": found.get("cache.miss", 0),
            "kernels": found.get("execute.kernels", 0),
            "fallbacks": sum(fallbacks),
        }


class LazyStatic(Lazy):
    """The program on lazy, each size compiled on its own."""

    name = "lazy-static"
    environment: ClassVar[dict] = Lazy.environment | {"LTC_DYNAMIC": "off"}


class Freeze(Lazy):
    """The program on lazy, whose whole training steps are frozen."""

    name = "ltc-freeze"

    def compile_step(self, function):
        return torch_ltc.freeze(function)
