# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch as it is: every other contender is compared with this one."""

import sys
from typing import ClassVar


class Eager:
    """The program on cpu; the other contenders change what differs."""

    name = "eager"
    device = "cpu"
    python: str | None = sys.executable
    environment: ClassVar[dict] = {}
    same_numbers: ClassVar[dict | None] = {}
    cache_variable: ClassVar[str | None] = None
    optimizer_options: ClassVar[dict] = {}

    def start(self):
        pass

    def translate(self, workload):
        return workload

    def compile(self, function):
        return function

    def compile_step(self, function):
        return function

    def submit(self):
        pass

    def finish(self):
        pass

    def outputs(self, result):
        tensors = result if isinstance(result, (list, tuple)) else [result]
        return [tensor.detach().cpu() for tensor in tensors]

    def counts(self):
        return {}


class EagerFused(Eager):
    """The optimizers' fused=True, which scripts must ask for."""

    name = "eager-fused"
    optimizer_options: ClassVar[dict] = {"fused": True}
