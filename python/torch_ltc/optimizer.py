# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What optimizers do differently on lazy parameters.

A step ends after each ``optimizer.step()`` (setting ``auto_step``), because
scripts written for eager devices never say where theirs ends; and an optimizer
with ``foreach=None`` takes its foreach form, which records a tenth of the ops.
"""

import torch
from torch.optim import optimizer as torch_optimizer

from torch_ltc import startup


def register():
    """End a step after each ``optimizer.step()``."""
    torch_optimizer.register_optimizer_step_post_hook(_end_step)


def with_lazy(stock):
    """Wrap a function that lists devices."""

    def devices():
        return [*stock(), "lazy"]

    return devices


def _end_step(optimizer, args, kwargs):
    if torch.compiler.is_compiling():
        return
    c = startup.start()
    if c.auto_step():
        for ordinal in _ordinals(optimizer):
            c.mark_step(ordinal, False)


def _ordinals(optimizer):
    """Return the lazy devices that the optimizer's parameters are on."""
    ordinals = set()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            device = parameter.device
            if device.type == "lazy":
                ordinals.add(device.index or 0)
                if startup.start().device_count() == 1:
                    return ordinals
    return ordinals
