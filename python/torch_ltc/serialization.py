# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors in files and pickles.

A lazy tensor is written as a plain CPU storage with the location ``lazy:N`` and
PyTorch's own rebuild function, so that any PyTorch reads the file with
``map_location='cpu'``. Reading, a storage that is to go to a lazy device stays
on the CPU and carries a mark, since lazy tensors have no storage; the tensor made
from it moves. Tensors that shared a storage do not share it afterwards.
"""

import re
from collections import OrderedDict

import torch
from torch.utils.hooks import warn_if_has_hooks

_MARK = "_ltc_location"
_UNFINISHED = "_torch_load_uninitialized"  # PyTorch's mark; it never takes it off


def register_location():
    """Teach ``torch.save`` and ``torch.load`` the location ``lazy``."""
    # Before the CPU's (10), which would claim a marked storage.
    torch.serialization.register_package(5, _location, _restore)


def _location(storage):
    return getattr(storage, _MARK, None)


def _restore(storage, location):
    if not re.fullmatch(r"lazy(:\d+)?", location):
        return None
    from torch_ltc import startup

    device = torch.device(location)
    startup.start().check_ordinal(device.index or 0)
    setattr(storage, _MARK, f"lazy:{device.index or 0}")
    return storage


def moving(rebuild):
    """Wrap a function that makes a tensor of a loaded storage."""

    def rebuild_and_move(storage, *args, **kwargs):
        tensor = rebuild(storage, *args, **kwargs)
        untyped = storage._untyped_storage
        location = getattr(untyped, _MARK, None)
        if location is None:
            return tensor
        if getattr(untyped, _UNFINISHED, False):
            raise RuntimeError(
                "torch.load: this file has the format from before PyTorch 1.6, whose "
                "values come after its tensors; read it with map_location='cpu', then "
                "move the tensors to 'lazy'"
            )
        return tensor.detach().to(location).requires_grad_(tensor.requires_grad)

    return rebuild_and_move


def finishing(load):
    """Wrap a loader of storages that a pickle carries whole, with all their values."""

    def load_and_finish(b):
        storage = load(b)
        vars(storage._untyped_storage).pop(_UNFINISHED, None)
        return storage

    return load_and_finish


def reducing(stock):
    """Wrap ``torch.Tensor._reduce_ex_internal``."""

    def reduce(self, proto):
        return _reduce(self) if self.device.type == "lazy" else stock(self, proto)

    return reduce


def _reduce(tensor):
    warn_if_has_hooks(tensor)
    cpu = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    func, args = cpu._reduce_ex_internal(2)
    untyped = getattr(args[0], "_untyped_storage", args[0])
    setattr(untyped, _MARK, f"lazy:{tensor.device.index or 0}")
    # As PyTorch's rebuild functions take them: storage, offset, size, stride,
    # requires_grad, hooks.
    return func, (*args[:4], tensor.requires_grad, OrderedDict(), *args[6:])


def data_ptr(stock):
    """Wrap ``torch.UntypedStorage.data_ptr``."""

    def data_ptr(self):
        try:
            return stock(self)
        except RuntimeError as error:
            if self.device.type != "lazy":
                raise
            raise NotImplementedError("a lazy tensor has no address") from error

    return data_ptr
