# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own lazy interface, ``torch._lazy``, in front of this backend.

Its C functions fail when there is no backend yet, and some reach around the
executor, which only knows PyTorch's way to compile. These are the versions that
do the same through ours, starting it if need be.
"""

import warnings

import torch

from torch_ltc import startup


def starting(stock):
    """Wrap a function that needs the backend to be there."""

    def function(*args, **kwargs):
        startup.start()
        return stock(*args, **kwargs)

    return function


def _ordinals(devices):
    """Return the numbers of the named devices, of all if there are none."""
    if not devices:
        return range(startup.start().device_count())
    return [torch.device(device).index or 0 for device in devices]


def wait_device_ops(stock):
    """Wrap ``torch._C._lazy._wait_device_ops``."""

    def _wait_device_ops(devices=()):
        for ordinal in _ordinals(devices):
            startup.start().synchronize(ordinal)

    return _wait_device_ops


def sync_multi(stock):
    """Wrap ``torch._C._lazy._sync_multi``."""

    def _sync_multi(tensors, devices=(), wait=True, sync_ltc_data=True):
        for ordinal in {t.device.index for t in tensors if t.device.type == "lazy"}:
            startup.start().mark_step(ordinal, wait)

    return _sync_multi


def no_torchscript(stock):
    """Stand in for ``torch._C._lazy_ts_backend._init``."""

    def _init():
        startup.start()
        warnings.warn(
            "torch._lazy.ts_backend.init() does nothing: device='lazy' is run by "
            "torch_ltc. Delete the call, or set TORCH_DEVICE_BACKEND_AUTOLOAD=0 for "
            "PyTorch's TorchScript backend.",
            stacklevel=3,
        )

    return _init
