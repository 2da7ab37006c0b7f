# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The start of the device, which waits for its first use.

Until then there are kernels on the Lazy key that nobody has used, and on its sparse,
nested and quantized companions; only those of the companions are a library, a small
one. Whatever touches the device first, an op through one of the kernels or a function
of ``torch.lazy``, calls `start`. All other modules build on this one.
"""

import contextlib
import functools
import importlib
import os
import sys
import threading
import warnings

import torch

from torch_ltc import libraries

# PyTorch has a kernel for these that asks no fallback, and is another than ours: a
# factory's first graph would be compiled again as its second, and the first tensor
# that moves to the device would lose its strides.
_FACTORIES = [
    ("_to_copy", ""),
    ("arange", ""),
    ("arange", "start"),
    ("arange", "start_step"),
    ("eye", ""),
    ("eye", "m"),
    ("full", ""),
    ("linspace", ""),
    ("logspace", ""),
    ("normal", "float_float"),
    ("ones", ""),
    ("rand", ""),
    ("rand", "generator"),
    ("randint", ""),
    ("randint", "low"),
    ("randn", ""),
    ("randn", "generator"),
    ("randperm", ""),
    ("scalar_tensor", ""),
    ("zeros", ""),
]

# What all tensors of a device begin with that has no kernels.
EMPTY = [("empty", "memory_format"), ("empty_strided", "")]

_lock = threading.RLock()
_first_kernel = None  # registration of `_first_op`, until `start`
_first_factories = None  # the same for ops in `_FACTORIES`
_refusals = None  # kernels that raise, once it is off
_off = None  # why the device cannot be used, once that is known
_c = None  # torch_ltc._C, once started
_then = None  # what `start` does last: the part that is Python's


def leave_fallback(then):
    """Have the first op on the device start it; `then` is called with ``_C``."""
    global _first_kernel, _then
    _then = then
    _first_kernel = torch.library.Library("_", "IMPL", "Lazy")
    _first_kernel.fallback(_first_op)


def leave_factories():
    """Do the same for the ops that ask no fallback."""
    global _first_factories
    _first_factories = torch.library.Library("aten", "IMPL", "Lazy")
    for op in map(_op, _FACTORIES):
        _first_factories.impl(op, functools.partial(_first_op, op))


def _op(name):
    packet, overload = name
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def text_of(error):
    """Return what an exception says, which may be one that we did not foresee."""
    known = isinstance(error, RuntimeError | ImportError | OSError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def switch_off(why, first_ops):
    """Make every use of the device raise the same error from now on; return it.

    The kernels of PyTorch's own lazy backend, if a program starts that one, take
    the places of these.
    """
    global _off, _first_factories, _refusals
    _off = f"torch_ltc: device='lazy' is off: {why}"
    if _first_factories is not None:
        _first_factories._destroy()
        _first_factories = None
    _refusals = torch.library.Library("aten", "IMPL", "Lazy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it takes the place of another
        for name in first_ops:
            # Another PyTorch may have none of that name.
            with contextlib.suppress(Exception):
                _refusals.impl(_op(name), _refuse)
    if not hasattr(torch, "lazy"):
        torch.__getattr__ = functools.partial(_attribute, torch.__getattr__)
    return _off


def _refuse(*args, **kwargs):
    raise RuntimeError(_off)


def _attribute(stock, name):
    if name == "lazy":
        raise AttributeError(f"module 'torch' has no attribute 'lazy'; {_off}")
    return stock(name)


def start():
    """Load the libraries and register the backend; return ``torch_ltc._C``.

    What fails here once fails for good: a part of the libraries may be loaded,
    and trying again would meet that instead of the cause.
    """
    global _c
    if _c is not None:
        return _c
    with _lock:
        if _c is not None:
            return _c
        if _off is None:
            try:
                _c = _load()
                return _c
            except Exception as error:
                # Of ours there may be kernels by now.
                switch_off(text_of(error), [*_FACTORIES, *EMPTY])
                raise RuntimeError(_off) from error
        raise RuntimeError(_off)


def _load():
    global _first_kernel, _first_factories
    sys.modules["torch_ltc"].__path__.append(libraries.FOLDER)
    try:
        c = importlib.import_module("torch_ltc._C")
    except ImportError as error:
        raise ImportError(
            f"its libraries cannot be loaded: {libraries.in_words(error)}; "
            f"{libraries.REINSTALL}"
        ) from error
    from torch_ltc import drivers, errors

    values = {name: value for name, _, value, _, _ in c.settings()}
    drivers.set_device(c, values["device"], values["plugin_path"])
    folders = [os.path.dirname(torch.__file__), *sys.modules["torch_ltc"].__path__]
    # Either is None where an earlier start was interrupted.
    if _first_factories is not None:
        for packet, overload in _FACTORIES:
            c.keep_kernel(f"aten::{packet}", overload)
        _first_factories._destroy()
        _first_factories = None
    if _first_kernel is not None:
        # The library's own method: C all through, so that no thread runs between
        # the end of the one fallback kernel and the start of the next.
        drop = _first_kernel.m.reset
        c.initialize(errors.make, _code_folders(folders), drop)
        _first_kernel._destroy()
        _first_kernel = None
    _then(c)
    return c


def _first_op(op, *args, **kwargs):
    start()
    return op(*args, **kwargs)


def _code_folders(folders):
    """Return the prefixes of file names whose code is not the user's."""
    real = [os.path.realpath(folder) for folder in folders]
    return sorted({os.path.join(folder, "") for folder in [*folders, *real]})


def is_started():
    """Return whether the libraries have been loaded."""
    return _c is not None


def is_forked():
    """Return whether a parent process had opened a device, which rules it out here."""
    return is_started() and _c.is_forked()


def shut_down():
    """Finish what is queued, at the end of the process."""
    if is_started():
        _c.shutdown()
