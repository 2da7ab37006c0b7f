# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors as ``torch.export`` and ``torch.compile`` see them: fake ones."""

import types
import warnings

import torch

from torch_ltc.lazy.ordinal import is_lazy


def converting(stock):
    """Wrap ``MetaConverter.__call__``, which refuses a device of this name.

    All that it does for XLA's tensors is right for these; so it is the same
    function, looking for a name that no device has.
    """
    code = stock.__code__
    names = tuple("no device" if c == "lazy" else c for c in code.co_consts)
    allowing = types.FunctionType(
        code.replace(co_consts=names),
        stock.__globals__,
        stock.__name__,
        stock.__defaults__,
        stock.__closure__,
    )
    allowing.__kwdefaults__ = stock.__kwdefaults__
    return allowing


def with_index(stock):
    """Wrap ``FakeTensor._normalize_fake_device``, which completes a device's name.

    It does so for the accelerators that it knows: of two fake tensors, one made on
    ``lazy`` and one on ``lazy:0``, it would say that their devices differ.
    """

    def _normalize_fake_device(device):
        if is_lazy(device) and device.index is None:
            return torch.device("lazy", torch.lazy.current_device())
        return stock(device)

    return _normalize_fake_device


def compiling(stock):
    """Wrap Inductor's ``compile_fx``: it has no code for lazy tensors."""

    def compile_fx(model_, example_inputs_, *args, **options):
        if not _meets_lazy(model_, example_inputs_):
            return stock(model_, example_inputs_, *args, **options)
        warnings.warn(
            "torch.compile has no code of its own for lazy tensors: what it traced "
            "runs op by op, and is recorded and compiled as without torch.compile",
            stacklevel=2,
        )
        return model_.forward

    return compile_fx


def _meets_lazy(model, inputs):
    tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
    for node in getattr(getattr(model, "graph", None), "nodes", ()):
        value = node.meta.get("example_value")
        tensors += [value] if isinstance(value, torch.Tensor) else []
    return any(is_lazy(each.device) for each in tensors)
