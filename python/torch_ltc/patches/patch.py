# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One function of another package that this one changes."""

from typing import NamedTuple


class Patch(NamedTuple):
    """One function of PyTorch or another package that we wrap."""

    where: str  # the module or class, as it is imported
    name: str
    wrapper: str  # "module:function" of this package: takes the stock one, returns ours
    why: str
    adds: bool = False  # there is no stock one, and ours is given None
    since: tuple = (2, 11)  # the first PyTorch that has it
    until: tuple = (3,)  # and the first that has it no more
