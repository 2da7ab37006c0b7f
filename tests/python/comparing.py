# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small tensors for programs that run on two devices, and what to compare."""

import io

import torch


def numbers(device, *shape, start=0, dtype=torch.float32):
    """Count up from `start`, in a tensor of this shape."""
    count = torch.Size(shape).numel()
    return torch.arange(start, start + count, dtype=dtype).view(shape).to(device)


def from_one(device, *shape):
    """Count up from 1: no element is zero."""
    return numbers(device, *shape, start=1)


def on_cpu(value):
    """Copy every tensor of a list of lists to the CPU, without its history."""
    if isinstance(value, (list, tuple)):
        return [on_cpu(each) for each in value]
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


def printed(tensor):
    """Print a tensor without its device and spaces."""
    return "".join(str(tensor).replace("device='lazy:0', ", "").split())


def saved(tensor):
    """Save a tensor to memory, and load it."""
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file)
