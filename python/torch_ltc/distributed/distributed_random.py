# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of distributed tensors: a part of its own on each rank.

PyTorch moves the offset in the state of a CUDA generator to where a rank's part
begins. Lazy ops draw from a CPU generator, whose state has no offset: it is seeded
for each part instead, by a number that all ranks draw.
"""

import contextlib
import types
import warnings

import torch

_ODD = 0x9E3779B1  # so that no two parts have one seed: PyTorch's takes 32 bits of it


def starting(stock):
    """Wrap ``OffsetBasedRNGTracker.__init__``, which compares states as it goes.

    It does that byte by byte, on the device.
    """

    def __init__(self, device_mesh, run_state_sync=True):
        is_lazy = device_mesh.device_type == "lazy"
        stock(self, device_mesh, run_state_sync and not is_lazy)
        if run_state_sync and is_lazy:
            _share_state(self._device)

    return __init__


def _share_state(device):
    """Give the generators of all ranks the state of rank 0's."""
    own = torch.default_generator.get_state()
    shared = own.to(device)
    torch.distributed.broadcast(shared, 0)
    shared = shared.cpu()
    if not torch.equal(own, shared):
        warnings.warn(
            "this rank's random numbers go on as rank 0's do; call torch.manual_seed() "
            "with one seed on all ranks that share distributed tensors",
            stacklevel=2,
        )
    torch.default_generator.set_state(shared)


def distributing(stock):
    """Wrap ``OffsetBasedRNGTracker._distribute_region``: a rank draws its part in it.

    Ranks with the same part draw the same, and all go on alike.
    """

    @contextlib.contextmanager
    def _distribute_region(self, spec, generator=None):
        if self._device.type != "lazy":
            with stock(self, spec, generator):
                yield
        elif not self.distribute_region_enabled:
            yield
        else:
            # The op is called without the program's generator: it draws from this.
            default = torch.default_generator
            common = torch.randint(
                2**62, (), generator=generator or default, device="cpu"
            )
            afterwards = default.get_state()
            place = types.SimpleNamespace(offset=0)
            self._set_pre_op_offset(place, spec)
            default.manual_seed((int(common) + place.offset * _ODD) % 2**63)
            try:
                yield
            finally:
                default.set_state(afterwards)

    return _distribute_region
