# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses that choose how to compute by the name of the device."""

import torch


def chosen_as_on_cpu(stock):
    """Wrap ``LinearCrossEntropyOptions._adjust``."""

    def _adjust(self, num_batches, in_features, num_classes, dtype, device=None):
        if device is not None and device.type == "lazy":
            device = torch.device("cpu")
        return stock(self, num_batches, in_features, num_classes, dtype, device)

    return _adjust
