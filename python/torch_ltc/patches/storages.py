# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Storages of lazy tensors.

PyTorch's own methods of a storage want its memory. A lazy tensor's has none that
they could be given, so these read and write a tensor of the storage's bytes, which
shares it. A storage is read as a whole: what a program does with each byte is
better done with a tensor.
"""

import torch

from torch_ltc import startup
from torch_ltc.lazy.ordinal import is_lazy

_MOST_BITS = 48  # no storage has more bytes


def shown_as(storage, dtype):
    """Return a tensor of all that is in a storage, which it shares."""
    return torch.empty(0, dtype=dtype, device=storage.device).set_(storage)


def _bytes_of(storage):
    return shown_as(storage, torch.uint8)


def making(stock):
    """Wrap ``torch.UntypedStorage.__new__``."""

    def __new__(cls, *args, device=None, **options):
        if not is_lazy(device):
            return stock(cls, *args, device=device, **options)
        size, values = args[0] if args else 0, None
        if not isinstance(size, int):
            size, values = len(size), stock(cls, size)
        made = torch.empty(size, dtype=torch.uint8, device=device).untyped_storage()
        return made if values is None else made.copy_(values)

    return __new__


def copying_bytes(stock):
    """Wrap ``torch.UntypedStorage.copy_``."""

    def copy_(self, source, *args, **options):
        if not (is_lazy(self.device) or is_lazy(source.device)):
            return stock(self, source, *args, **options)
        if self.nbytes() != source.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src had "
                f"{source.nbytes()} bytes"
            )
        _bytes_of(self).copy_(_bytes_of(source))
        return self

    return copy_


def cloning(stock):
    """Wrap ``torch.UntypedStorage.clone``: the copy is of numbers, as the original."""

    def clone(self):
        whole = None
        if is_lazy(self.device):
            whole = startup.start().storage_values(_bytes_of(self))
        return stock(self) if whole is None else whole.clone().untyped_storage()

    return clone


def filling(stock):
    """Wrap ``torch.UntypedStorage.fill_``."""

    def fill_(self, value):
        if not is_lazy(self.device):
            return stock(self, value)
        _bytes_of(self).fill_(value)
        return self

    return fill_


def swapping_bytes(stock):
    """Wrap ``torch.UntypedStorage._byteswap``."""

    def _byteswap(self, size):
        if not is_lazy(self.device):
            return stock(self, size)
        values = self.cpu()
        values._byteswap(size)
        return self.copy_(values) and None

    return _byteswap


def item(stock):
    """Wrap ``torch.UntypedStorage.__getitem__``."""

    def __getitem__(self, index):
        if not is_lazy(self.device):
            return stock(self, index)
        if isinstance(index, slice):
            raise RuntimeError(
                "a slice of a lazy storage would share no memory with it; take it of "
                "a tensor, x.view(torch.uint8)[a:b], or of a copy, storage.cpu()[a:b]"
            )
        return self.cpu()[index]

    return __getitem__


def setting_item(stock):
    """Wrap ``torch.UntypedStorage.__setitem__``."""

    def __setitem__(self, index, value):
        if not is_lazy(self.device):
            return stock(self, index, value)
        values = self.cpu()
        values[index] = value
        self.copy_(values)

    return __setitem__


def typed_item(stock):
    """Wrap ``torch.TypedStorage._getitem``."""

    def _getitem(self, index):
        if not is_lazy(self._untyped_storage.device):
            return stock(self, index)
        return stock(_typed_on_cpu(self), index)

    return _getitem


def iterating(stock):
    """Wrap ``__iter__`` of both classes of storages: one copy serves all items."""

    def __iter__(self):
        untyped = getattr(self, "_untyped_storage", self)
        if not is_lazy(untyped.device):
            return stock(self)
        return stock(untyped.cpu() if untyped is self else _typed_on_cpu(self))

    return __iter__


def _typed_on_cpu(storage):
    return torch.TypedStorage(
        wrap_storage=storage._untyped_storage.cpu(), dtype=storage.dtype, _internal=True
    )


def writing(stock):
    """Wrap ``torch.UntypedStorage._write_file``."""

    def _write_file(self, *args):
        return stock(self.cpu() if is_lazy(self.device) else self, *args)

    return _write_file


def resizing(stock):
    """Wrap ``torch.UntypedStorage.resize_``: to nothing, and back, it goes."""

    def resize_(self, size):
        if not is_lazy(self.device):
            return stock(self, size)
        if startup.start().resize_storage(shown_as(self, torch.uint8), size):
            return self
        raise RuntimeError(
            "a lazy tensor's storage is as long as its values, or freed by "
            "resize_(0), and is not resized otherwise; "
            "resize the tensor, x.resize_(...), or give it another, x.set_(...)"
        )

    return resize_


def not_in_shared_memory(stock):
    """Wrap ``torch.UntypedStorage.share_memory_``."""

    def share_memory_(self, *args, **options):
        if not is_lazy(self.device):
            return stock(self, *args, **options)
        raise RuntimeError(
            "a lazy tensor's memory belongs to its process and cannot be shared with "
            "others: share a CPU tensor, x.cpu().share_memory_(), and move it in each "
            "process; what is sent to a process is copied"
        )

    return share_memory_


def not_shared(stock):
    """Wrap ``torch.UntypedStorage._new_shared``, which gathers a worker's batch."""

    def _new_shared(size, *, device="cpu"):
        if is_lazy(device) and startup.is_forked():
            raise RuntimeError(
                "a worker process cannot hand on lazy tensors: keep the data set on "
                "the CPU, and move each batch in the main process, batch.to('lazy')"
            )
        return stock(size, device=device)

    return _new_shared


def typed_not_shared(stock):
    """Wrap ``torch.TypedStorage._new_shared``: writes want the dtype's own."""

    def _new_shared(self, size, *, device=None):
        if not is_lazy(device) or startup.is_forked():
            return stock(self, size, device=device)
        return torch.empty(size, dtype=self.dtype, device=device)._typed_storage()

    return _new_shared


def place_of_storage(stock):
    """Wrap ``torch.UntypedStorage.data_ptr``."""

    def data_ptr(self):
        if self.device.type != "lazy":
            return stock(self)
        # No address: those who pass it on fail before they read memory.
        return self._cdata << _MOST_BITS

    return data_ptr


def place_of_tensor(stock):
    """Wrap ``torch.Tensor.data_ptr``."""

    def data_ptr(self):
        if self.device.type != "lazy":
            return stock(self)
        offset = self.storage_offset() * self.element_size()
        return self.untyped_storage().data_ptr() + offset if self.numel() else 0

    return data_ptr
