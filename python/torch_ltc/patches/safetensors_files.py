# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``safetensors.safe_open(path, 'pt', device='lazy')``, and with it ``load_file``.

The devices that safetensors knows are a list in its library. For a lazy one the
file is opened for the CPU, and each tensor moves as it is taken.
"""

import torch

from torch_ltc.lazy.ordinal import is_lazy

_PYTORCH = ("pt", "torch", "pytorch")  # as safetensors spells the framework


def opening(stock):
    """Wrap ``safetensors.safe_open``, a class."""

    class safe_open:
        __doc__ = stock.__doc__

        def __new__(cls, filename, framework, device="cpu", **options):
            if framework not in _PYTORCH or not is_lazy(device):
                return stock(filename, framework, device, **options)
            self = super().__new__(cls)
            self._file = stock(filename, framework, "cpu", **options)
            self._device = torch.device(device)
            return self

        def __enter__(self):
            self._file.__enter__()
            return self

        def __exit__(self, *exception):
            return self._file.__exit__(*exception)

        def __getattr__(self, name):  # what is not about tensors
            return getattr(self._file, name)

        def get_tensor(self, name):
            return self._file.get_tensor(name).to(self._device)

        def get_tensors(self):
            tensors = self._file.get_tensors()
            return {name: tensor.to(self._device) for name, tensor in tensors.items()}

        def get_slice(self, name):
            return _Slice(self._file.get_slice(name), self._device)

    return safe_open


class _Slice:
    """A tensor of a file of which a part can be taken."""

    def __init__(self, part, device):
        self._part = part
        self._device = device

    def __getitem__(self, index):
        return self._part[index].to(self._device)

    def __getattr__(self, name):
        return getattr(self._part, name)
