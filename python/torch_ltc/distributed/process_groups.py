# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors in ``torch.distributed``: which backend of a process group has them.

The backend ``ltc`` is PyTorch's Gloo for lazy tensors, on the memory of the device
or a copy. Where that is a GPU of PyTorch's, the backend of CUDA tensors, NCCL, has
them instead. What calls do is in the library (``record/collectives/collective.cpp``).
"""

import os
import sys

import torch

from torch_ltc import startup
from torch_ltc.patches.parameters import replace

NAME = "ltc"


def register():
    """Make the backend known to ``torch.distributed``, where PyTorch has that."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_gloo_available():
        # The default for the CPU stays Gloo by its own name.
        distributed.Backend.register_backend(NAME, _make, devices=["cpu", "lazy"])


def _make(store, rank, size, timeout):
    """Make the part of a process group that carries lazy tensors."""
    return torch.distributed.ProcessGroupGloo(store, rank, size, timeout=timeout)


def _is_gpu():
    """Return whether the lazy device is one of PyTorch's GPUs.

    Most are the CPU, and no library is loaded to find that out.
    """
    if not startup.is_started() and os.environ.get("LTC_DEVICE", "cpu") == "cpu":
        return False
    c = startup.start()
    return c.library_device(torch.lazy.current_device(), "cuda") is not None


def _name_gpus(backends, is_free):
    """Give lazy tensors the backend of CUDA's where they are in a GPU's memory.

    `is_free`: the program leaves it to us which.
    """
    distributed = torch.distributed
    usual = distributed.Backend.default_device_backend_map.get("cuda")
    if usual == "nccl" and not distributed.is_nccl_available():
        usual = None
    name = backends.get("cuda") or (is_free and usual)
    if name and name not in ("gloo", NAME) and _is_gpu():
        backends["lazy"] = name
        backends.setdefault("cuda", name)  # a barrier's tensor is CUDA's
        if is_free:  # by Gloo's own name: PyTorch has one of all other packages'
            backends.setdefault("cpu", "gloo")


def naming_backends(stock):
    """Wrap ``BackendConfig.__init__``, which names the backend of each device.

    Of cpu and lazy, one that the program has not named shares the other's: with no
    backend named, ``"gloo"``, ``"cpu:gloo"`` or ``"lazy:ltc"`` both have one.
    """

    def __init__(self, backend):
        stock(self, backend)
        backends = self.device_backend_map
        is_unnamed = str(backend) == torch.distributed.Backend.UNDEFINED
        if backends.get("lazy", NAME) == NAME:
            _name_gpus(backends, is_unnamed or "lazy" in backends)
        if is_unnamed and "cpu" not in backends:
            backends.setdefault("lazy", NAME)
        for named, other in (("cpu", "lazy"), ("lazy", "cpu")):
            if other not in backends and backends.get(named) in ("gloo", NAME):
                backends[other] = backends[named]

    return __init__


def starting_batch(stock):
    """Wrap ``ProcessGroup._start_coalescing``: the calls that follow become one.

    The library's one ``Work`` for them would give lazy tensors no values.
    """

    def _start_coalescing(self, device):
        isnt_ours = torch.device(device).type != "lazy"
        if isnt_ours or not torch.ops.torch_ltc.start_batch(self.boxed()):
            stock(self, device)

    return _start_coalescing


def ending_batch(stock):
    """Wrap ``ProcessGroup._end_coalescing``, which makes the calls."""

    def _end_coalescing(self, device):
        if torch.device(device).type != "lazy":
            return stock(self, device)
        work = torch.ops.torch_ltc.end_batch(self.boxed())
        return torch.distributed.Work.unbox(work)

    return _end_coalescing


def _settle():
    """Begin what is recorded: a group counts a call once it has begun."""
    if startup.is_started():
        startup.start().settle_collectives()


def settling(stock):
    """Wrap a method that tells how far a group is."""

    def settled(self):
        _settle()
        return stock(self)

    return settled


def ending(stock):
    """Wrap ``ProcessGroup.shutdown``, after which NCCL takes no call."""

    def shutdown(self):
        lazy = torch.device("lazy")
        if lazy in self._device_types and self._get_backend(lazy).supports_coalescing:
            _settle()
        return stock(self)

    return shutdown


def placing(stock):
    """Wrap ``DistributedDataParallel.__init__``, told ``device_ids=[rank]``.

    That is the module's own device: ranks may share one.
    """

    def __init__(self, module, device_ids=None, output_device=None, *args, **options):
        if device_ids and len(device_ids) == 1:
            devices = {parameter.device for parameter in module.parameters()}
            if {device.type for device in devices} == {"lazy"} and len(devices) == 1:
                device_ids, output_device = [*devices], None
        stock(self, module, device_ids, output_device, *args, **options)

    return __init__


def moving_inputs(stock):
    """Wrap ``_recursive_to``, by which a batch goes to the device of its rank.

    It takes a stream of an accelerator for it.
    """

    def _recursive_to(inputs, target_device, use_side_stream_for_tensor_copies):
        aside = use_side_stream_for_tensor_copies and target_device.type != "lazy"
        return stock(inputs, target_device, aside)

    return _recursive_to


def checking_hook(stock):
    """Wrap ``DistributedDataParallel._check_comm_hook``: Gloo sums bfloat16."""

    def _check_comm_hook(self, hook):
        is_bf16 = getattr(hook, "__name__", "").startswith("bf16_compress")
        if not (is_bf16 and self.device_type == "lazy"):
            stock(self, hook)

    return _check_comm_hook


def choosing_device(stock):
    """Wrap ``DeviceMesh._setup_world_group_and_device``, which chooses a rank's device.

    It takes the one of the rank's number on its machine; the ranks of a machine with
    fewer devices share them, as they do the CPU.
    """

    def _setup_world_group_and_device(self, *args, **options):
        rank, lazy = os.environ.get("LOCAL_RANK"), torch.lazy
        if self._device_type == "lazy" and rank and not lazy.is_initialized():
            lazy.set_device(int(rank) % lazy.device_count())
        return stock(self, *args, **options)

    return _setup_world_group_and_device


def meshing(stock):
    """Wrap ``_init_default_mesh``, which `fully_shard` calls if it is given no mesh.

    It is not told the module: that is the caller's. Parameters on lazy are sharded
    over all ranks' lazy devices.
    """

    def _init_default_mesh(mesh_dim_names=None):
        modules = sys._getframe(1).f_locals.get("module", ())
        modules = [modules] if isinstance(modules, torch.nn.Module) else modules
        parameters = (p for module in modules for p in module.parameters())
        first = next(parameters, None)
        if first is None or first.device.type != "lazy":
            return stock(mesh_dim_names)
        distributed = torch.distributed
        if not distributed.is_initialized():
            distributed.init_process_group()
        return distributed.init_device_mesh(
            "lazy", (distributed.get_world_size(),), mesh_dim_names=mesh_dim_names
        )

    return _init_default_mesh


def moving(stock):
    """Wrap ``FSDPState._root_pre_forward``: the inputs of the root go to its device."""

    def _root_pre_forward(self, module, args, kwargs):
        begins = self._state_ctx.iter_forward_root is None
        args, kwargs = stock(self, module, args, kwargs)
        if begins and self._device.type == "lazy" and (args or kwargs):
            to_kwargs = torch.distributed.utils._to_kwargs
            moved_args, moved_kwargs = to_kwargs(args, kwargs, self._device, False)
            args, kwargs = moved_args[0], moved_kwargs[0]
        return args, kwargs

    return _root_pre_forward


def moving_buffers(stock):
    """Wrap ``_move_states_to_device``, which gives each buffer data of the device."""

    def _move_states_to_device(params, buffers, device):
        for buffer in buffers if device.type == "lazy" else ():
            if buffer.device.type == "cpu":
                replace(buffer, buffer.to(device))
        return stock(params, buffers, device)

    return _move_states_to_device


def unpinned(stock):
    """Wrap ``FSDPParam._init_sharded_param``, which pins a parameter that is offloaded.

    Pinned memory is an accelerator's; without one PyTorch raises.
    """

    def _init_sharded_param(self, param, device, *args, **options):
        self.pin_memory = self.pin_memory and device.type != "lazy"
        return stock(self, param, device, *args, **options)

    return _init_sharded_param


def one_kind_only(stock):
    """Wrap ``_default_to_fused_or_foreach``, by which a step takes its form.

    A list of distributed and other tensors is no argument of a foreach op; the
    loop over them is what eager takes on the CPU.
    """

    def default(params, *args, **options):
        # An attribute that a tensor does not have takes a microsecond to find out.
        is_mixed = len(set(map(type, params))) > 1 and (
            len({hasattr(parameter, "device_mesh") for parameter in params}) > 1
        )
        return (False, False) if is_mixed else stock(params, *args, **options)

    return default
