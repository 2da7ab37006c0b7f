# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a script that names one device on another one."""

import functools
import re
import sys

import torch
from torch.overrides import TorchFunctionMode

from torch_ltc.migrate import rules


class Redirect(TorchFunctionMode):
    """Inside, calls that name one of the devices get `target` instead.

    For the thread that enters it. ``torch.lazy`` and the like mean what they did.
    """

    def __init__(self, target, devices=rules.DEVICES):
        super().__init__()
        self.target = torch.device(target)
        self.pattern = re.compile(rf"({'|'.join(devices)})(:\d+)?")

    def __torch_function__(self, function, types, args=(), kwargs=None):
        """Call the function with the other device."""
        if function is torch.device and _is_called_by_us():
            return function(*args, **(kwargs or {}))
        kwargs = {name: self._other(value) for name, value in (kwargs or {}).items()}
        return function(*map(self._other, args), **kwargs)

    def _other(self, value):
        is_named = isinstance(value, str | torch.device)
        if not is_named or not self.pattern.fullmatch(str(value)):
            return value
        return self.target.type if isinstance(value, str) else self.target

    def __enter__(self):
        self._stock = torch.amp.autocast_mode.autocast.__init__

        @functools.wraps(self._stock)
        def init(autocast, device_type, *args, **kwargs):
            self._stock(autocast, self._other(device_type), *args, **kwargs)

        torch.amp.autocast_mode.autocast.__init__ = init
        return super().__enter__()

    def __exit__(self, *exception):
        torch.amp.autocast_mode.autocast.__init__ = self._stock
        return super().__exit__(*exception)


def _is_called_by_us():
    """Whether the call that a mode handles is in this package."""
    name = sys._getframe(2).f_globals.get("__name__") or ""
    return name.partition(".")[0] == "torch_ltc"
