# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.norm`` of lazy tensors."""

import functools

import torch

# TorchScript compiles the stock function, and looks here for what that calls.
from torch import _VF  # noqa: F401
from torch.overrides import (
    handle_torch_function,  # noqa: F401
    has_torch_function_unary,
)

from torch_ltc.lazy.ordinal import is_lazy


@functools.cache  # torch.norm and torch.functional.norm stay one function
def as_on_cpu(stock):
    """Wrap ``torch.norm``: those of ``torch.linalg``, as for the devices it knows."""

    def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
        if has_torch_function_unary(input) or not is_lazy(
            getattr(input, "device", None)
        ):
            return stock(input, p, dim, keepdim, out, dtype)
        options = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
        if isinstance(dim, int | torch.SymInt):
            dim = [dim]
        if not isinstance(p, str):
            p = 2.0 if p is None else p
            return torch.linalg.vector_norm(input, p, dim, keepdim, **options)
        if p == "fro" and (dim is None or len(dim) <= 2):
            return torch.linalg.vector_norm(input, 2, dim, keepdim, **options)
        dim = range(input.ndim) if dim is None else dim
        return torch.linalg.matrix_norm(input, p, list(dim), keepdim, **options)

    return norm
