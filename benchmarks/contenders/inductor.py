# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile: loss and model as one function, the optimizer's step as another."""

from typing import ClassVar

import torch

from contenders.eager import Eager


class Inductor(Eager):
    """The program on cpu, compiled by TorchInductor with its defaults."""

    name = "inductor"
    cache_variable = "TORCHINDUCTOR_CACHE_DIR"
    same_numbers: ClassVar[dict | None] = {"BENCH_INDUCTOR_EAGER_NUMBERS": "1"}

    def start(self):
        import os

        from torch._inductor import config

        config.fallback_random = "BENCH_INDUCTOR_EAGER_NUMBERS" in os.environ

    def compile(self, function):
        return torch.compile(function)

    def counts(self):
        from torch._dynamo.utils import counters
        from torch._inductor import metrics

        return {
            "graphs": counters["stats"]["unique_graphs"],
            "generated": metrics.generated_kernel_count,
        }
