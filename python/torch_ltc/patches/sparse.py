# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse tensors of a lazy device, where PyTorch's own Python code stops."""

import torch


def making(stock):
    """Wrap ``torch.Tensor.new``."""

    def new(self, *args, **kwargs):
        if self.device.type != "lazy" or self.layout != torch.sparse_coo:
            return stock(self, *args, **kwargs)
        if args and all(isinstance(each, torch.Tensor) for each in args[:2]):
            return torch.sparse_coo_tensor(*args, dtype=self.dtype, device=self.device)
        like = torch.sparse_coo_tensor((0,), dtype=self.dtype, device="cpu")
        return stock(like, *args, **kwargs).to(self.device)

    return new
