# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors in the hands of NumPy and others, by DLPack.

``np.from_dlpack(x)`` and whoever else speaks DLPack 1.0 gets the device's own
memory, read-only and without a copy, where the host reaches it. The array keeps the
value that the tensor has then: a later write to the tensor gives that other memory,
and is not seen in the array. Nobody may write to the array.

``to_dlpack(x)`` and consumers of older versions, which cannot be told that memory is
read-only, get a copy; so does ``torch.from_dlpack`` of a capsule. Writes to it and to
the tensor are not seen in each other.

``torch.from_dlpack(x)`` of the tensor itself gives a lazy tensor that shares its
storage, as eager's does: writes are seen in both.
"""

import torch

from torch_ltc import startup
from torch_ltc.lazy.ordinal import is_lazy


def _is_lazy(value):
    return isinstance(value, torch.Tensor) and is_lazy(value.device)


def exporting(stock):
    """Wrap ``torch.Tensor.__dlpack__``."""

    def __dlpack__(self, *, max_version=None, copy=None, **options):
        if not is_lazy(self.device):
            return stock(self, max_version=max_version, copy=copy, **options)
        if self.requires_grad or self.is_conj():
            return stock(self)  # says why not
        knows_read_only = max_version is not None and max_version[0] >= 1
        lent = None
        if knows_read_only and not copy:
            lent = startup.start().lend_memory(self.resolve_neg())
        if lent is None:
            if copy is False:
                raise BufferError(
                    "Can't export a lazy tensor without a copy: it is lent read-only, "
                    "which takes a consumer of DLPack 1.0 and a device whose memory "
                    "the host reaches"
                )
            return stock(self.cpu(), max_version=max_version, **options)
        capsule = stock(lent, max_version=max_version, copy=copy, **options)
        startup.start().mark_lent(capsule)
        return capsule

    return __dlpack__


def device_of_export(stock):
    """Wrap ``torch.Tensor.__dlpack_device__``."""

    def __dlpack_device__(self):
        return stock(torch.empty(0, device="cpu") if is_lazy(self.device) else self)

    return __dlpack_device__


def copying_to(stock):
    """Wrap ``to_dlpack``."""

    def to_dlpack(tensor, *args, **options):
        return stock(tensor.cpu() if _is_lazy(tensor) else tensor, *args, **options)

    return to_dlpack


def importing_capsule(stock):
    """Wrap ``torch._C._from_dlpack``, whose tensors may be written to."""

    def _from_dlpack(capsule):
        lent = startup.start().is_lent(capsule)
        tensor = stock(capsule)
        return tensor.clone() if lent else tensor

    return _from_dlpack


def importing(stock):
    """Wrap ``from_dlpack``."""

    def from_dlpack(ext_tensor, *, device=None, copy=None):
        if not _is_lazy(ext_tensor):
            return stock(ext_tensor, device=device, copy=copy)
        if ext_tensor.requires_grad or ext_tensor.is_conj():
            return stock(ext_tensor)  # says why not
        here = ext_tensor.device
        there = here if device is None else torch.device(device)
        if there.type == here.type and there.index in (None, here.index):
            return ext_tensor.clone() if copy else ext_tensor.data
        if copy is False:
            raise ValueError(
                f"cannot move DLPack tensor from device {here} to {there} without "
                "copying. Set copy=None or copy=True."
            )
        return ext_tensor.data.to(there)

    return from_dlpack
