# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which lazy device a caller means."""

import torch

from torch_ltc import startup


def ordinal_of(device):
    """Return the number of a device given as int, string, `torch.device` or None."""
    if device is None:
        return startup.start().current_device()
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != "lazy":
        raise ValueError(f"expected a lazy device, got {device}")
    return startup.start().current_device() if device.index is None else device.index


def is_lazy(device):
    """Return whether a string, `torch.device` or anything else means a lazy device."""
    if isinstance(device, str):
        return device.partition(":")[0] == "lazy"
    return isinstance(device, torch.device) and device.type == "lazy"
