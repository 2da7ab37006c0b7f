# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How programs begin that have PyTorch's CUDA beside the driver of that name."""

# PyTorch looks for its CUDA when it is imported.
BEGIN = """
import ctypes
import os
if library := os.environ.get("FAKE_TORCH_CUDA"):
    ctypes.CDLL(library)
import torch
if library:
    torch.cuda._lazy_init = lambda: None
    os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD")
    from torch_ltc import autoload
    autoload.activate()
import torch_ltc
from torch import nn
from torch.nn import functional as F

def counts():
    torch.lazy.synchronize()
    return torch.lazy.get_device_properties().statistics

def metric(name):
    return torch_ltc.metrics.snapshot().get("execute." + name, 0)

def agree(found, wanted, what):
    torch.testing.assert_close(
        found.cpu(), wanted, rtol=1e-4, atol=1e-4, msg=lambda why: f"{what}: {why}"
    )
"""
