# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.autocast('lazy')``: the ops and dtypes that autocast takes on the CPU.

PyTorch keeps the state of autocast in an array by device and switches it by a
dispatch key; lazy has neither, and borrows XLA's (``ltc_backend/record/
autocast.cpp``). So these functions ask for 'xla' when 'lazy' is meant.
"""

from torch_ltc import startup
from torch_ltc.lazy.ordinal import is_lazy

_STATE = "xla"


def _state(device_type):
    """Return the name whose state is meant; an index is allowed, and means nothing."""
    if isinstance(device_type, str) and is_lazy(device_type):
        return device_type.replace("lazy", _STATE, 1)
    return device_type


def available(stock):
    """Wrap ``torch._C._is_autocast_available``."""

    def is_autocast_available(device_type):
        if not is_lazy(device_type):
            return stock(device_type)
        startup.start()
        return True

    return is_autocast_available


def by_device(stock):
    """Wrap a function whose first argument names the device."""

    def function(device_type, *args):
        return stock(_state(device_type), *args)

    return function


def enabled_by_device(stock):
    """Wrap ``torch.is_autocast_enabled``, whose argument may be missing."""

    def is_autocast_enabled(*device_type):
        return stock(*map(_state, device_type))

    return is_autocast_enabled


def set_enabled(stock):
    """Wrap ``torch.set_autocast_enabled``."""

    def set_autocast_enabled(*args):
        if args and str(_state(args[0])).partition(":")[0] == _STATE:
            startup.start().set_autocast_enabled(args[1])
        else:
            stock(*args)

    return set_autocast_enabled


def clear_cache(stock):
    """Wrap ``torch.clear_autocast_cache``."""

    def clear_autocast_cache():
        stock()
        startup.start().clear_autocast_cache()

    return clear_autocast_cache
