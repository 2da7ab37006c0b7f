# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happens at ``import torch``, and what waits for the first lazy tensor.

`activate` only leaves marks in PyTorch: the module ``torch.lazy``, the location
tag of saved tensors, and kernels on the Lazy key, and on its sparse, nested and
quantized companions, that nobody has used yet. Only those of the companions are a
library, a small one. Whatever touches the device first, an op through one of the
kernels or a function of ``torch.lazy``, calls `start`.
"""

import atexit
import ctypes
import functools
import importlib
import importlib.machinery
import os
import sys
import threading

import torch

# The libraries are built against this PyTorch's C++ interface.
_TORCH = "2.13"

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

_lock = threading.RLock()
_activated = False
_first_kernel = None  # registration of `_first_op`, until `start`
_first_factories = None  # the same for ops in `_FACTORIES`
_c = None  # torch_ltc._C, once started


def activate():
    """Make ``device='lazy'`` known to PyTorch, or say in one line why not."""
    global _activated, _first_kernel, _first_factories
    with _lock:
        if _activated:
            return
        _activated = True
        obstacle = _obstacle() or _refuse_not_dense()
        if obstacle:
            if sys.stderr:
                print(f"torch_ltc: device='lazy' is off: {obstacle}", file=sys.stderr)
            return
        from torch_ltc import device, patches, serialization

        torch._register_device_module("lazy", device)
        serialization.register_location()
        patches.apply(patches.AT_IMPORT)
        patches.apply_when_imported()
        _first_kernel = torch.library.Library("_", "IMPL", "Lazy")
        _first_kernel.fallback(_first_op)
        _first_factories = torch.library.Library("aten", "IMPL", "Lazy")
        for packet, overload in _FACTORIES:
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            _first_factories.impl(op, functools.partial(_first_op, op))
        # Early, so that it runs late: other exit handlers may still compute.
        atexit.register(_at_exit)


def _obstacle():
    """Return why the libraries cannot be loaded, with the remedy, or None."""
    if torch.__version__.split("+")[0].split(".")[:2] != _TORCH.split("."):
        return (
            f"it was built for PyTorch {_TORCH} and this is {torch.__version__}; "
            f"pip install 'torch=={_TORCH}.*', or pip uninstall torch_ltc"
        )
    folder = os.path.dirname(__file__)
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    modules = [f"_C{suffix}" for suffix in suffixes]
    libraries = ("backend", "runtime", "not_dense")
    for names in modules, *([f"lib/libltc_{name}.so"] for name in libraries):
        if not any(os.path.exists(os.path.join(folder, name)) for name in names):
            return (
                f"{names[0]} is missing in {folder}; "
                "build it with `make build`, or pip install --force-reinstall torch_ltc"
            )
    return None


def _refuse_not_dense():
    """Load the library for tensors that are not dense; return why not, or None."""
    folder = os.path.dirname(__file__)
    try:
        ctypes.CDLL(os.path.join(folder, "lib/libltc_not_dense.so"))
    except OSError as error:
        return str(error)


def start():
    """Load the libraries and register the backend; return ``torch_ltc._C``."""
    global _first_kernel, _first_factories, _c
    if _c is not None:
        return _c
    with _lock:
        if _c is not None:
            return _c
        if _first_kernel is None:
            obstacle = _obstacle() or _refuse_not_dense()
            raise RuntimeError(f"torch_ltc: device='lazy' is off: {obstacle}")
        c = importlib.import_module("torch_ltc._C")
        from torch_ltc import errors, optimizer, patches, undo

        folders = [os.path.dirname(torch.__file__), *sys.modules["torch_ltc"].__path__]
        # Old scripts, and PyTorch's own test helpers, do not import it.
        importlib.import_module("torch._lazy")
        _skip_reference_kernels()
        if _first_factories is not None:  # None where an earlier start failed
            for packet, overload in _FACTORIES:
                c.keep_kernel(f"aten::{packet}", overload)
            _first_factories._destroy()
            _first_factories = None
        # The library's own method: C all through, so that no thread runs between
        # the end of the one fallback kernel and the start of the next.
        drop = _first_kernel.m.reset
        c.initialize(errors.make, _code_folders(folders), drop)
        _first_kernel._destroy()
        _first_kernel = None
        c.set_undo_hook(undo.drop_lost_gradients)
        optimizer.register()
        patches.apply(patches.AT_START)
        os.register_at_fork(after_in_child=_after_fork)
        _c = c
        return c


def _first_op(op, *args, **kwargs):
    start()
    return op(*args, **kwargs)


def _code_folders(folders):
    """Return the prefixes of file names whose code is not the user's."""
    real = [os.path.realpath(folder) for folder in folders]
    return sorted({os.path.join(folder, "") for folder in [*folders, *real]})


def _skip_reference_kernels():
    """Keep in-place ops from running their Python meta kernel: 14 us each.

    PyTorch reads this variable once in each of several generated files, at the
    file's first in-place op, so it has to stay in the environment.
    """
    os.environ["TORCH_DISABLE_FUNCTIONALIZATION_META_REFERENCE"] = "1"


in_bad_fork = False


def _after_fork():
    global in_bad_fork
    in_bad_fork = True
    _c.mark_forked()


def _at_exit():
    if _c is not None and not in_bad_fork:
        _c.shutdown()
