# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own lazy interface, ``torch._lazy``, in front of this backend.

It reaches the backend by C functions that fail when there is none yet. Those
that a script may call before its first lazy tensor start ours first.
"""

import functools
import warnings

import torch._C
import torch._C._lazy
import torch._C._lazy_ts_backend

from torch_ltc import startup

_NEED_BACKEND = ("_mark_step", "_wait_device_ops")
_stock = {}


def redirect():
    """Put the starting versions in place, and ours for the TorchScript backend."""
    for name in _NEED_BACKEND:
        _stock[name] = getattr(torch._C._lazy, name)
        setattr(torch._C._lazy, name, _starting(name))
    torch._C._lazy_ts_backend._init = _no_torchscript


def restore():
    """Put PyTorch's functions back, once there is a backend."""
    while _stock:
        name, function = _stock.popitem()
        setattr(torch._C._lazy, name, function)


def _starting(name):
    @functools.wraps(_stock[name])
    def function(*args, **kwargs):
        startup.start()
        return getattr(torch._C._lazy, name)(*args, **kwargs)

    return function


def _no_torchscript():
    """Stand in for ``torch._C._lazy_ts_backend._init``."""
    startup.start()
    warnings.warn(
        "torch._lazy.ts_backend.init() does nothing: device='lazy' is run by "
        "torch_ltc. Delete the call, or set TORCH_DEVICE_BACKEND_AUTOLOAD=0 for "
        "PyTorch's TorchScript backend.",
        stacklevel=3,
    )
