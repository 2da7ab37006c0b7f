# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``copy.copy`` and ``copy.deepcopy`` of lazy tensors."""

import contextlib
import copy
import threading

import torch
from torch.utils.hooks import warn_if_has_hooks

from torch_ltc import startup
from torch_ltc.patches.storages import shown_as


class _Copying(threading.local):
    """What a thread takes a tensor apart for."""

    shallow = False  # whether for copy.copy


_copying = _Copying()


def is_shallow():
    """Return whether a tensor is taken apart only to be put together again here."""
    return _copying.shallow


@contextlib.contextmanager
def _shallowly():
    before, _copying.shallow = _copying.shallow, True
    try:
        yield
    finally:
        _copying.shallow = before


def copying_shallowly(_):
    """Return ``torch.Tensor.__copy__``, which does as copy.copy does without it.

    A class of tensors takes itself apart in its own way; what is inside is taken
    apart by `alias`, and keeps its storage, where a pickle would copy it.
    """

    def __copy__(self):
        with _shallowly():
            reduced = self.__reduce_ex__(4)
        return copy._reconstruct(self, None, *reduced)

    return __copy__


def alias(tensor):
    """Take a tensor apart for a copy that shows the same storage."""
    warn_if_has_hooks(tensor)
    return _same_storage, (tensor,)


def _same_storage(tensor):
    return tensor.data.requires_grad_(tensor.requires_grad)


def copying(stock):
    """Wrap ``torch.Tensor.__deepcopy__``."""

    def __deepcopy__(self, memo):
        if self.device.type != "lazy" or id(self) in memo:
            return stock(self, memo)
        copied = stock(self, memo)
        _share(self, copied, memo)
        return copied

    return __deepcopy__


@torch.no_grad()
def _share(tensor, copied, memo):
    """Make a copy show the copy of its original's storage, as others' copies do."""
    if tensor.is_conj() or tensor.is_neg():
        return  # of which eager's copy is a tensor of its own
    tensor = tensor.detach()
    whole = startup.start().storage_values(tensor)
    if whole is None:
        return
    storage = tensor.untyped_storage()
    key = "torch_ltc", storage._cdata
    storages = memo.setdefault("torch", {})  # PyTorch's own, of those copied alone
    if storage._cdata in storages:
        if key not in memo:
            memo[key] = storage, shown_as(storages[storage._cdata], tensor.dtype)
    elif is_all_of(tensor, whole) and copied.stride() == tensor.stride():
        memo[key] = storage, copied.detach()
        storages[storage._cdata] = copied.untyped_storage()
        return
    else:
        memo[key] = storage, whole
        storages[storage._cdata] = whole.untyped_storage()
    copied.data = _taken_for(memo[key][1], tensor.dtype).as_strided(
        tensor.size(), tensor.stride(), tensor.storage_offset()
    )


def _taken_for(whole, dtype):
    """Return a view of all of a storage, as so many elements of the dtype."""
    if whole.dtype == dtype:
        return whole
    elements = whole.nbytes // dtype.itemsize * dtype.itemsize // whole.itemsize
    return whole.as_strided((elements,), (1,), 0).view(dtype)


def is_all_of(tensor, whole):
    """Return whether a tensor shows its storage as that is, from end to end."""
    return whole.dtype == tensor.dtype and whole.numel() == tensor.numel()
