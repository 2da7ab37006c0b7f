# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks whose graphs are looked at: what they record is computed in them."""

import contextlib

import torch

from torch_ltc import settings


class CheckedBlock(contextlib.ContextDecorator):
    """A block or a function that runs with some settings, from graph to graph.

    What was recorded before runs without them. The end computes all that was
    recorded inside, and raises what is found, unless an exception passes.
    """

    def __init__(self, **values):
        self._values = values
        self._scopes = []

    def _recreate_cm(self):
        again = object.__new__(type(self))
        CheckedBlock.__init__(again, **self._values)
        return again

    def __enter__(self):
        for device in range(torch.lazy.device_count()):
            torch.lazy.mark_step(device=device)
        scope = settings.scope(**self._values)
        scope.__enter__()
        self._scopes.append(scope)

    def __exit__(self, *exception):
        try:
            if exception[0] is None:
                # Steps that the block has ended raise too, though nobody read them.
                for device in range(torch.lazy.device_count()):
                    torch.lazy.synchronize(device)
        finally:
            self._scopes.pop().__exit__(None, None, None)
