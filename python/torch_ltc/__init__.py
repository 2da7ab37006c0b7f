# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's Lazy Tensor Core on MLIR.

Installed, it makes ``device='lazy'`` work after ``import torch`` alone; the
device's own functions are in ``torch.lazy``. This package holds the rest:

    torch_ltc.settings   every setting, ``with settings.scope(rng="eager")``
    torch_ltc.metrics    counters, ``with metrics.measure() as counts``
    torch_ltc.cache      the compiled graphs on disk
    torch_ltc.autopsy    why they were compiled
    torch_ltc.errors     the exceptions, all of them ``torch_ltc.Error``
    torch_ltc.aot        bundles: compiled ahead of time, run without PyTorch

    torch_ltc.register_lowering   code for a custom op, which fuses
    torch_ltc.precompile          ``with precompile():`` compiles and runs nothing
    torch_ltc.syncs               all syncs so far, by cause and line
    torch_ltc.no_sync             raises at a sync; `sync_budget(n)` behind n of them
    torch_ltc.no_fallback         raises where an op would leave its graph
    torch_ltc.detect_nan          raises at the first op that makes a NaN or Inf
    torch_ltc.verify              compares each new graph with ATen's kernels
    torch_ltc.freeze              repeats a step without running its Python
    torch_ltc.profile             where the time of a step goes, and why each sync
    torch_ltc.frontend            record device='lazy', or send it through Dynamo
    torch_ltc.export_graph        writes a graph as MLIR for another compiler
    torch_ltc.explain             why each graph was compiled
    torch_ltc.compile_guard       raises when more are; and `no_compile`
    torch_ltc.mark_dynamic        a dimension will vary: compile for all sizes
    torch_ltc.mark_static         it will not: compile for each
"""

import importlib


def _autoload():
    """Entry point of the group ``torch.backends``: run by ``import torch``."""
    importlib.import_module("torch_ltc.autoload").activate()


# A program that imports this package before torch: torch calls _autoload here.
importlib.import_module("torch")


_MODULES = ("aot", "autopsy", "cache", "errors", "metrics", "settings")
_ERRORS = (
    "CompileError",
    "DeviceError",
    "Error",
    "FreezeError",
    "FreezeWarning",
    "IndexOutOfRangeError",
    "InternalError",
    "InvalidArgumentError",
    "LazyUseError",
    "MiscompiledError",
    "NotFiniteError",
    "OutOfMemoryError",
    "UnexpectedCompileError",
    "UnexpectedSyncError",
    "UnsupportedOpError",
)
_FUNCTIONS = {
    "compile_guard": "autopsy",
    "detect_nan": "checking.nan_check",
    "explain": "autopsy",
    "export_graph": "export",
    "freeze": "freezing.freeze",
    "frontend": "frontends",
    "mark_dynamic": "dynamic",
    "mark_static": "dynamic",
    "no_compile": "autopsy",
    "no_fallback": "ledger",
    "no_sync": "ledger",
    "precompile": "cache",
    "profile": "profiling.profiler",
    "register_lowering": "lowering",
    "sync_budget": "ledger",
    "syncs": "ledger",
    "verify": "checking.verifier",
}
__all__ = [*_MODULES, *_ERRORS, *_FUNCTIONS]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"torch_ltc.{name}")
    if name in _ERRORS:
        return getattr(importlib.import_module("torch_ltc.errors"), name)
    if name in _FUNCTIONS:
        module = importlib.import_module(f"torch_ltc.{_FUNCTIONS[name]}")
        return getattr(module, name)
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("torch_ltc")
    raise AttributeError(f"module 'torch_ltc' has no attribute '{name}'")


def __dir__():
    return [*globals(), *__all__, "__version__"]


_autoload()  # for programs that import us with PyTorch's autoload switched off
