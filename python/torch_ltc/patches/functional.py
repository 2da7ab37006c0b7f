# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.func.functionalize`` of programs on lazy tensors.

They are functionalised as they are recorded, and PyTorch's wrappers do not go
around each other. What is left to do is to give outputs that share no memory with
the inputs, where views are to be removed.
"""

import functools

import torch
from torch.utils import _pytree as pytree

from torch_ltc.lazy.ordinal import is_lazy


def functionalizing(stock):
    """Wrap ``torch.func.functionalize``."""

    def functionalize(func, *, remove="mutations"):
        elsewhere = stock(func, remove=remove)

        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            inputs = pytree.tree_leaves((args, kwargs))
            lazy = [x for x in inputs if is_lazy(getattr(x, "device", None))]
            if not lazy:
                return elsewhere(*args, **kwargs)
            outputs = func(*args, **kwargs)
            if remove == "mutations":
                return outputs
            storages = {_storage(x) for x in lazy}

            def own(x):
                shares = is_lazy(getattr(x, "device", None)) and _storage(x) in storages
                return x.clone() if shares else x

            return pytree.tree_map(own, outputs)

        return wrapped

    return functionalize


def _storage(x):
    # Those of vmap and grad wrap the tensor that has the memory.
    while torch._C._functorch.is_functorch_wrapped_tensor(x):
        x = torch._C._functorch.get_unwrapped(x)
    return x.untyped_storage()._cdata
