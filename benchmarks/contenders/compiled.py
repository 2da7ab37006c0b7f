# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile with this package's backend, cut into functions as Inductor's is."""

from typing import ClassVar

import torch

from contenders.eager import Eager
from contenders.lazy import Lazy


class LtcCompile(Eager):
    """The program on cpu, compiled by torch.compile(backend="ltc")."""

    name = "ltc-compile"
    same_numbers: ClassVar[dict | None] = Lazy.same_numbers
    cache_variable = Lazy.cache_variable

    def compile(self, function):
        return torch.compile(function, backend="ltc")

    def counts(self):
        return Lazy.counts(self)
