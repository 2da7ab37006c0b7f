# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``module.compile(backend="ltc")`` of modules whose class is PyTorch's own."""

import torch


def compiling(stock):
    """Wrap ``torch.nn.Module.compile``."""

    def compile(self, *args, **kwargs):
        if _is_ours(kwargs.get("backend")) and _is_torchs(type(self).forward):
            self._compiled_call_impl = torch.compile(_calling(self), *args, **kwargs)
        else:
            stock(self, *args, **kwargs)

    return compile


def _is_ours(backend):
    package = getattr(backend, "__module__", "").partition(".")[0]
    return backend == "ltc" or package == "torch_ltc"


def _is_torchs(function):
    return (getattr(function, "__module__", None) or "").startswith("torch.nn.")


def _calling(module):
    """Return a function that calls the module, and which Dynamo looks into."""
    call = module._call_impl

    def inner(*args, **kwargs):
        return call(*args, **kwargs)

    # Dynamo's caches and their limits are by code.
    inner.__code__ = inner.__code__.replace()
    return inner
