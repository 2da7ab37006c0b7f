# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of torch_xla and of Gaudi's bridge, for scripts that `parity` runs.

Where those packages are not installed, each of their modules is one that has the
calls of ``torch_ltc.compat``'s modules and the few below: one process, one device.
"""

import contextlib
import importlib.machinery
import importlib.util
import sys
import types

import torch

from torch_ltc.compat import metrics, profiler, xla_model

PACKAGES = ("torch_xla", "habana_frameworks")


def _nothing(*args, **kwargs):
    return None


def _same(value, *args, **kwargs):
    return value


@contextlib.contextmanager
def _step():
    yield
    xla_model.mark_step()


def _spawn(fn, args=(), nprocs=None, **options):
    return fn(0, *args)


def _loader(loader, device, **options):
    return _Loader(loader, device)


class _Loader:
    """Moves the batches of a loader to the device."""

    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        for batch in self.loader:
            yield xla_model.send_cpu_data_to_device(batch, self.device)

    def __len__(self):
        return len(self.loader)


_CALLS = {
    "device": xla_model.xla_device,
    "sync": xla_model.mark_step,
    "step": _step,
    "spawn": _spawn,
    "launch": _spawn,
    "MpDeviceLoader": _loader,
    "world_size": xla_model.xrt_world_size,
    "global_ordinal": xla_model.get_ordinal,
    "manual_seed": torch.manual_seed,
    "synchronize": xla_model.wait_device_ops,
    "wrap_in_hpu_graph": _same,
    "FusedAdamW": torch.optim.AdamW,
    "hpu_set_env": _nothing,
    "hpu_initialize": _nothing,
    "hpu_set_inference_env": _nothing,
    "is_available": lambda: True,
}
_OWN = (xla_model, metrics, profiler)


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name in _CALLS:
            return _CALLS[name]
        for module in _OWN:
            if not name.startswith("_") and hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(
            f"{self.__name__} is not installed, and torch_ltc's stand-in for it has "
            f"no {name}"
        )


class _Finder:
    """Finds the modules of packages that nothing else finds."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


def install():
    """Let a program import them, behind what is installed."""
    sys.meta_path.append(_Finder())


def are_needed(source):
    """Whether a script imports a package that is not there."""
    return any(
        package in source and importlib.util.find_spec(package) is None
        for package in PACKAGES
    )
