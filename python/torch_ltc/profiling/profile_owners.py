# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose memory it is: what optimizers know of, looked at now and then."""

import time

import torch
from torch.optim import optimizer as torch_optimizer

from torch_ltc.profiling.profile_kernels import Owners

# Of a profile's time: looking at 600 tensors takes 0.4 ms, a step may take 1 ms.
_MOST_SHARE = 0.005


class OwnerWatch:
    """Looks at an optimizer's parameters behind its step, while it is entered."""

    def __init__(self, now):
        self.rows = []
        self._now = now  # the profile's clock
        self._next = 0.0
        self._handle = None

    def begin(self):
        """Look from now on."""
        self._handle = torch_optimizer.register_optimizer_step_post_hook(self._look)

    def end(self):
        """Look no more; return the rows."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        return self.rows

    def _look(self, optimizer, _args, _kwargs):
        start = time.perf_counter()
        if start < self._next:
            return
        parameters, gradients, state = [], [], []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameters.append(parameter)
                gradients.append(parameter.grad)
                state += optimizer.state.get(parameter, {}).values()
        sizes = map(_bytes, (parameters, gradients, state))
        self.rows.append(Owners(self._now(), *sizes))
        end = time.perf_counter()
        self._next = end + (end - start) / _MOST_SHARE


def _bytes(values):
    return sum(
        value.numel() * value.element_size()
        for value in values
        if isinstance(value, torch.Tensor) and value.device.type == "lazy"
    )
