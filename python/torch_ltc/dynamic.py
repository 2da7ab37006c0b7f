# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program may say of sizes that vary, or do not."""

import torch

from torch_ltc.startup import start as _start

__all__ = ["mark_dynamic", "mark_static"]


def _mark(tensor, dims, dynamic):
    dims = [dims] if isinstance(dims, int) else dims
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"cannot mark a {type(tensor).__name__}; wanted is a tensor")
    if not (
        isinstance(dims, (list, tuple, range))
        and all(type(dim) is int and abs(dim) < 2**31 for dim in dims)
    ):
        raise TypeError(f"{dims!r} is no dimension, nor a list of dimensions")
    for dim in dims:
        _start().mark_dim(tensor, dim, dynamic)


def mark_dynamic(tensor: torch.Tensor, dim):
    """Say that a dimension, or each of several, will have other sizes.

    The first graph that reads this value of ``tensor`` is then compiled for all
    sizes at once, where without a mark the second size would show that it varies.
    A value that is still pending is computed first. A size of 0 or 1 is compiled
    for itself, marked or not: such dimensions are empty, or broadcast.
    """
    _mark(tensor, dim, True)


def mark_static(tensor: torch.Tensor, dim):
    """Say that each size of a dimension, or of several, is worth its own compile.

    Graphs that read this value of ``tensor`` share code only with graphs of the
    same size there.
    """
    _mark(tensor, dim, False)
