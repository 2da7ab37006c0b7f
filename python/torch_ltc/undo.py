# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python holds of a step that failed."""

import gc

import torch

from torch_ltc import startup


def drop_lost_gradients():
    """Set gradients to None that a failed step was to make.

    Tensors that had a value before the step have it back. A gradient that had none
    must not stay: the next ``backward()`` would add to what never came.
    """
    is_lost = startup.start().is_lost
    for tensor in gc.get_objects():
        if (
            issubclass(type(tensor), torch.Tensor)
            and tensor.device.type == "lazy"
            and tensor.is_leaf
            and tensor.grad is not None
            and is_lost(tensor.grad)
        ):
            tensor.grad = None
