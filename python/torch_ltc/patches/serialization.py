# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors in files and pickles.

A lazy tensor is written as a plain CPU storage with the location ``lazy:N`` and
PyTorch's own rebuild function, so that any PyTorch reads the file with
``map_location='cpu'``. Reading, a storage that is to go to a lazy device stays
on the CPU and carries a mark, since lazy tensors have no storage; the tensor made
from it moves. Tensors that share a storage, as eager has it, share one in the file
and afterwards: each is then a view of the first, or of the whole storage.
"""

import contextlib
import re
import threading
from collections import OrderedDict

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass as is_wrapper
from torch.utils._pytree import tree_leaves
from torch.utils.hooks import warn_if_has_hooks

from torch_ltc.lazy.ordinal import is_lazy
from torch_ltc.patches import copies

MARK = "_ltc_location"
_BASE = "_ltc_base"  # a lazy tensor that is all of a loaded storage
_UNFINISHED = "_torch_load_uninitialized"  # PyTorch's mark; it never takes it off


def register_location():
    """Teach ``torch.save`` and ``torch.load`` the location ``lazy``."""
    # Before the CPU's (10), which would claim a marked storage.
    torch.serialization.register_package(5, _location, _restore)


def _location(storage):
    if is_lazy(storage.device):
        raise RuntimeError(
            "a lazy tensor's storage is not written to files: save the tensor, or "
            "storage.cpu()"
        )
    return getattr(storage, MARK, None)


def _restore(storage, location):
    if not re.fullmatch(r"lazy(:\d+)?", location):
        return None
    from torch_ltc import startup

    device = torch.device(location)
    startup.start().check_ordinal(device.index or 0)
    setattr(storage, MARK, f"lazy:{device.index or 0}")
    if _loaded.storages is not None:
        _loaded.storages.append(storage)
    return storage


def _tensors_in(obj):
    """Yield the tensors in lists, dictionaries, modules and wrapper subclasses."""
    for leaf in tree_leaves(obj):
        if isinstance(leaf, torch.nn.Module):
            yield from _tensors_in([*leaf.parameters(), *leaf.buffers()])
        elif is_wrapper(leaf):
            yield from _tensors_in(
                [getattr(leaf, x) for x in leaf.__tensor_flatten__()[0]]
            )
        elif isinstance(leaf, torch.Tensor):
            yield leaf


def computing_first(stock):
    """Wrap ``torch.save``: what fails is to fail before it opens the file.

    That empties the file, which may be the last checkpoint.
    """

    def save(obj, f, *args, **options):
        from torch_ltc import startup

        if startup.is_started():
            startup.start().await_values([*_tensors_in(obj)])
        stock(obj, f, *args, **options)

    return save


def moving(rebuild):
    """Wrap a function that makes a tensor of a loaded storage."""

    def rebuild_and_move(storage, *args, **kwargs):
        tensor = rebuild(storage, *args, **kwargs)
        untyped = storage._untyped_storage
        location = getattr(untyped, MARK, None)
        if location is None:
            return tensor
        if getattr(untyped, _UNFINISHED, False):
            raise RuntimeError(
                "torch.load: this file has the format from before PyTorch 1.6, whose "
                "values come after its tensors; read it with map_location='cpu', then "
                "move the tensors to 'lazy'"
            )
        moved = _move(tensor, untyped, location)
        return moved.requires_grad_(tensor.requires_grad)

    return rebuild_and_move


def _flipped(tensor, like):
    """Return a view with the conjugate and negative bits of ``like`` turned over."""
    if like.is_conj():
        tensor = torch._conj(tensor)
    return torch._neg_view(tensor) if like.is_neg() else tensor


@torch.no_grad()
def _move(tensor, storage, location):
    plain = _flipped(tensor.detach(), tensor)
    return _flipped(_move_plain(plain, storage, location), tensor).detach()


def _move_plain(tensor, storage, location):
    base = getattr(storage, _BASE, None)
    if base is None or base.dtype != tensor.dtype:
        moved = tensor.to(location)
        # Most tensors have a storage of their own, and must be no views.
        if tensor.nbytes == storage.nbytes() and moved.stride() == tensor.stride():
            setattr(storage, _BASE, moved.detach())
            return moved
        whole = torch.empty(0, dtype=tensor.dtype, device="cpu").set_(storage)
        base = whole.to(location)
        setattr(storage, _BASE, base)
    return base.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


class _Loaded(threading.local):
    """What a thread has read of the file that it is loading."""

    storages = None  # those that are to go to a lazy device


_loaded = _Loaded()


def finishing(load):
    """Wrap the loader of files whose values come last: behind it all are there."""

    def load_and_finish(*args, **kwargs):
        before, _loaded.storages = _loaded.storages, []
        try:
            result = load(*args, **kwargs)
            for storage in _loaded.storages:
                vars(storage).pop(_UNFINISHED, None)
        finally:
            _loaded.storages = before
        return result

    return load_and_finish


def reducing(stock):
    """Wrap ``torch.Tensor._reduce_ex_internal``."""

    def reduce(self, proto):
        # Of a sparse one, PyTorch writes the indices and values.
        if self.device.type != "lazy" or self.layout != torch.strided:
            return stock(self, proto)
        if copies.is_shallow():
            return copies.alias(self)
        return _reduce_wrapper(self) if is_wrapper(self) else _reduce(self)

    return reduce


def sharing(stock):
    """Wrap what ``torch.save`` calls to write a file: storages are written once."""

    def save(*args, **kwargs):
        with _saving():
            return stock(*args, **kwargs)

    return save


class _Saved(threading.local):
    """What the file that a thread is writing has of lazy tensors' storages."""

    storages = None  # by id: the storage, kept alive, and its values on the CPU


_saved = _Saved()


@contextlib.contextmanager
def _saving():
    before, _saved.storages = _saved.storages, {}
    try:
        yield
    finally:
        _saved.storages = before


def _reduce(tensor):
    warn_if_has_hooks(tensor)
    func, args = _on_cpu(tensor.detach())._reduce_ex_internal(2)
    untyped = getattr(args[0], "_untyped_storage", args[0])
    setattr(untyped, MARK, f"lazy:{tensor.device.index or 0}")
    # As PyTorch's rebuild functions take them: storage, offset, size, stride, how it
    # is quantized if it is, requires_grad, hooks.
    shown = 5 if tensor.is_quantized else 4
    rest = args[shown + 2 :]
    return func, (*args[:shown], tensor.requires_grad, OrderedDict(), *rest)


def _reduce_wrapper(tensor):
    """Of a DTensor, say: its attributes, which PyTorch adds, have the values."""
    shown = (tensor.dtype, tuple(tensor.size()), tensor.stride())
    shown += (tensor.storage_offset(), tensor.layout, tensor.device)
    rebuild = torch._utils._rebuild_wrapper_subclass
    return rebuild, (type(tensor), *shown, tensor.requires_grad)


@torch.no_grad()
def _on_cpu(tensor):
    """Return a copy whose storage is what the tensor's would be in eager."""
    whole = _C().storage_values(tensor)
    if whole is None:
        return tensor.cpu().contiguous()
    plain = _flipped(tensor, tensor)
    storage = tensor.untyped_storage()
    known = _saved.storages if _saved.storages is not None else {}
    if storage._cdata not in known:
        cpu = plain.cpu()
        if not copies.is_all_of(tensor, whole) or cpu.stride() != tensor.stride():
            cpu = whole.cpu()
        known[storage._cdata] = storage, cpu.untyped_storage()
    cpu = torch.empty(0, dtype=tensor.dtype, device="cpu").set_(
        known[storage._cdata][1],
        tensor.storage_offset(),
        tensor.size(),
        tensor.stride(),
    )
    return _flipped(cpu, tensor)


def _C():
    from torch_ltc import startup

    return startup.start()
