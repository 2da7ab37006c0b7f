# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch as it is: every other contender is compared with this one."""

from typing import ClassVar


class Eager:
    """The program on cpu."""

    name = "eager"
    device = "cpu"
    environment: ClassVar[dict] = {}

    def prepare(self, step):
        return step

    def submit(self):
        pass

    def finish(self):
        pass
