# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors on their way to other processes.

PyTorch hands a CPU tensor to another process as shared memory. A lazy tensor's
memory belongs to its process, so its values are copied: it travels as pickle does,
with its device, whether it requires gradients, and whether it is a parameter. Each
tensor travels by itself, also where several share a storage.

What cannot be read or made, in a process that was forked after its parent had
opened a device or since its graph failed, arrives as a tensor that says so at its
first use. An exception would end the worker or the thread that hands the tensor on,
and whoever waits for it would wait for ever.
"""

import pickle

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.hooks import warn_if_has_hooks

from torch_ltc.lazy.ordinal import is_lazy
from torch_ltc.patches.serialization import MARK


def register():
    """Have ``multiprocessing`` call what stands in ``reductions`` now."""
    torch.multiprocessing.reductions.init_reductions()


class Unreadable(torch.Tensor):
    """What came of a lazy tensor that could not be read; each use says why."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Raise what went wrong."""
        found = next(a for a in tree_leaves((args, kwargs)) if type(a) is cls)
        raise RuntimeError(vars(found)["why"])


def unreadable(why):
    """Return a tensor each use of which raises this."""
    made = torch.Tensor._make_subclass(Unreadable, torch.empty(0, device="cpu"))
    vars(made)["why"] = why
    return made


def rebuild(values, is_parameter, requires_grad):
    """Make the tensor that `reducing` took apart."""
    try:
        tensor = pickle.loads(values)
    except RuntimeError as error:
        return unreadable(str(error))
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def reducing(stock):
    """Wrap ``torch.multiprocessing.reductions.reduce_tensor``."""

    def reduce_tensor(tensor):
        if not is_lazy(tensor.device):
            return stock(tensor)
        if tensor.requires_grad and not tensor.is_leaf:
            return stock(tensor)  # says why not
        warn_if_has_hooks(tensor)
        try:
            values = pickle.dumps(tensor.detach().clone())
        except RuntimeError as error:
            return unreadable, (str(error),)
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        return rebuild, (values, is_parameter, tensor.requires_grad)

    return reduce_tensor


def rebuild_storage(values, location):
    """Make the storage that `reducing_storages` took apart."""
    storage = pickle.loads(values).clone().untyped_storage()  # a mark is left on it
    setattr(storage, MARK, location)
    return storage


def reducing_storages(stock):
    """Wrap ``torch.multiprocessing.reductions.reduce_storage``."""

    def reduce_storage(storage):
        if hasattr(storage, MARK):  # of a tensor that takes itself apart
            values = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage)
            return rebuild_storage, (pickle.dumps(values.clone()), vars(storage)[MARK])
        if is_lazy(storage.device):
            raise RuntimeError(
                "Cannot pickle lazy storage; try pickling a lazy tensor instead"
            )
        return stock(storage)

    return reduce_storage
