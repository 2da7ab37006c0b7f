# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch_ltc: the same program with another device."""

from typing import ClassVar

import torch


class Lazy:
    """The program on lazy."""

    name = "lazy"
    device = "lazy"
    environment: ClassVar[dict] = {}

    def prepare(self, step):
        return step

    def submit(self):
        torch.lazy.mark_step()

    def finish(self):
        torch.lazy.synchronize()
