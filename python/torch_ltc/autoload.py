# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happens at ``import torch``, and to PyTorch's Python when the device starts.

`activate` only leaves marks in PyTorch: the module ``torch.lazy``, the location tag
of saved tensors, a few patches, and kernels that nobody has used yet (`startup`).
This module is on top of the package: it imports all others, and no other imports it.
"""

import atexit
import ctypes
import importlib
import os
import sys
import threading

import torch

from torch_ltc import libraries, startup

_lock = threading.RLock()
_activated = False


def activate():
    """Make ``device='lazy'`` known to PyTorch, or say in one line why not."""
    global _activated
    with _lock:
        if _activated:
            return
        _activated = True
        # Whatever it is, `import torch` has to go on.
        try:
            obstacle = _other_backend() or libraries.obstacle() or _refuse_not_dense()
            if obstacle is None:
                _leave_marks()
        except Exception as error:
            obstacle = startup.text_of(error)
        if obstacle:
            ops = () if _has_other_backend() else startup.EMPTY
            why = startup.switch_off(obstacle, ops)
            if sys.stderr:
                print(why, file=sys.stderr)


def _leave_marks():
    from torch_ltc.distributed import process_groups
    from torch_ltc.lazy import device
    from torch_ltc.patches import serialization, table

    startup.leave_fallback(then=_patch_python)
    torch._register_device_module("lazy", device)
    serialization.register_location()
    process_groups.register()
    table.apply(table.AT_IMPORT)
    table.apply_when_imported()
    startup.leave_factories()
    # Early, so that it runs late: other exit handlers may still compute.
    atexit.register(startup.shut_down)


def _has_other_backend():
    """Return whether PyTorch's own backend, or one like it, has the device."""
    return torch._C._dispatch_has_kernel_for_dispatch_key("aten::empty_strided", "Lazy")


def _other_backend():
    """Return why the device cannot be had if another backend has it, or None."""
    if _has_other_backend():
        return (
            "another torch::lazy backend is registered in this process; import "
            "torch_ltc before anything that starts one, such as "
            "torch._lazy.ts_backend.init()"
        )
    return None


def _refuse_not_dense():
    """Load the library for tensors that are not dense; return why not, or None."""
    try:
        ctypes.CDLL(os.path.join(libraries.FOLDER, "libltc_not_dense.so"))
    except OSError as error:
        return f"{libraries.in_words(error)}; {libraries.REINSTALL}"


def _later(name):
    """Return a function that imports its module when it is called."""
    module, function = name.split(":")

    def call(*args):
        return getattr(importlib.import_module(f"torch_ltc.{module}"), function)(*args)

    return call


def _patch_python(c):
    """Do at the start what is done to Python, once ``torch_ltc._C`` has started."""
    from torch_ltc import deprecation, frontends, status_line, undo
    from torch_ltc.patches import optimizer, processes, table
    from torch_ltc.profiling import profiler, torch_profiler

    # Old scripts, and PyTorch's own test helpers, do not import it.
    importlib.import_module("torch._lazy")
    c.set_undo_hook(undo.drop_lost_gradients)
    table.apply(table.AT_START)
    processes.register()
    values = {name: value for name, _, value, _, _ in c.settings()}
    deprecation.apply(values["lazy_use"], c)
    frontends.apply(values["frontend"])
    # Last: a start that was interrupted before comes here again.
    optimizer.register()
    c.install_verifier(
        _later("checking.verifier:check"), _later("checking.verifier:compile_failed")
    )
    profiler.begin_by_setting(c)
    torch_profiler.begin_if_on(c)
    status_line.begin_by_setting(c)
