# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own lazy backend, which runs graphs as TorchScript."""

from typing import ClassVar

import torch

from contenders.eager import Eager


class Ts(Eager):
    """The program on lazy, without torch_ltc."""

    name = "ts"
    device = "lazy"
    environment: ClassVar[dict] = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    same_numbers = None

    def start(self):
        import torch._lazy.ts_backend

        torch._lazy.ts_backend.init()

    def submit(self):
        torch._lazy.mark_step()

    def finish(self):
        torch._lazy.mark_step()
        torch._lazy.wait_device_ops()

    def counts(self):
        from torch._lazy import metrics

        names = metrics.counter_names()
        fallbacks = [n for n in names if n.startswith("aten::")]
        graphs = "UncachedCompile"
        return {
            "graphs": metrics.counter_value(graphs) if graphs in names else 0,
            "fallbacks": sum(map(metrics.counter_value, fallbacks)),
        }
