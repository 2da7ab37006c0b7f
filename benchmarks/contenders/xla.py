# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch/XLA, whose last release is for torch 2.9: it has an interpreter of its own.

BENCH_XLA_PYTHON names a Python that has torch==2.9.0 and torch_xla==2.9.0.
"""

import os
from typing import ClassVar

from contenders.eager import Eager


class Xla(Eager):
    """The program on xla, which is this machine's CPU."""

    name = "xla"
    device = "xla"
    python = os.environ.get("BENCH_XLA_PYTHON")
    environment: ClassVar[dict] = {"PJRT_DEVICE": "CPU"}
    same_numbers: ClassVar[dict | None] = None

    def start(self):
        import torch_xla  # noqa: F401  brings the device

    def submit(self):
        import torch_xla

        torch_xla.sync()

    def finish(self):
        import torch_xla
        import torch_xla.core.xla_model

        # sync(wait=True) waits for what it launches alone, not for steps before.
        torch_xla.sync()
        torch_xla.core.xla_model.wait_device_ops()

    def counts(self):
        import torch_xla.debug.metrics as found

        names = found.counter_names()
        fallbacks = [found.counter_value(n) for n in names if n.startswith("aten::")]
        return {
            "graphs": found.counter_value("UncachedCompile") or 0,
            "fallbacks": sum(fallbacks),
        }
