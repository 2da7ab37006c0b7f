# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested tensors that are made on a lazy device."""

import torch

from torch_ltc.ordinal import is_lazy


def making(stock):
    """Wrap ``torch.nested.nested_tensor``."""

    def nested_tensor(tensor_list, *, layout=None, device=None, **options):
        wanted = device
        if wanted is None and len(tensor_list):
            wanted = getattr(tensor_list[0], "device", None)
        if layout not in (None, torch.strided) or not is_lazy(wanted):
            return stock(tensor_list, layout=layout, device=device, **options)
        on_cpu = [torch.as_tensor(each, device="cpu") for each in tensor_list]
        made = stock(on_cpu, layout=layout, device="cpu", **options)
        return made.to(wanted)  # says that there are none, and what to do

    return nested_tensor
