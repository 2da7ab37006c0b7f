# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.Generator('lazy')``.

PyTorch asks an accelerator's hooks for a generator, and has no place for hooks
of the lazy device. Lazy ops draw from CPU generators, so that is what is made; it
names the device that was asked for, as code that compares devices wants.
"""

import torch

from torch_ltc import startup
from torch_ltc.lazy.ordinal import is_lazy, ordinal_of


class LazyGenerator(torch._C.Generator):
    """A CPU generator whose ``device`` is a lazy one."""

    @property
    def device(self):
        """The device that the generator was made for."""
        return self._device

    def clone_state(self):
        """Return another generator in the same state."""
        made = _make(self._device)
        made.set_state(self.get_state())
        return made

    def __reduce__(self):
        return torch.Generator, (self._device,), super().__reduce__()[2]


def calling(stock):
    """Wrap the ``__call__`` of the class of ``torch.Generator``."""

    def __call__(cls, *args, **kwargs):
        if cls is torch._C.Generator and len(args) + len(kwargs) == 1:
            device = args[0] if args else kwargs.get("device")
            if is_lazy(device):
                return _make(device)
        return stock(cls, *args, **kwargs)

    return __call__


def _make(device):
    if startup.is_forked():  # where it still draws as a CPU generator
        ordinal = torch.device(device).index or 0
    else:
        ordinal = ordinal_of(device)
        startup.start().check_ordinal(ordinal)
    made = LazyGenerator()
    made._device = torch.device("lazy", ordinal)
    return made
