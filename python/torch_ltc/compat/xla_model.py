# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calls of ``torch_xla.core.xla_model`` that training scripts use.

``import torch_ltc.compat.xla_model as xm`` in place of torch_xla's module: one
process, one device. Collectives are what they are among one: the identity.
"""

import sys
import threading

import torch
from torch.utils import _pytree as pytree

from torch_ltc.compat import analysis
from torch_ltc.lazy import device as _lazy
from torch_ltc.lazy.ordinal import ordinal_of
from torch_ltc.startup import start

_closures = threading.local()

REDUCE_SUM, REDUCE_MUL = "sum", "mul"
REDUCE_AND, REDUCE_OR = "and", "or"
REDUCE_MIN, REDUCE_MAX = "min", "max"


def xla_device(n=None, devkind=None):
    """Return the lazy device, number `n` or the current one."""
    return torch.device("lazy", _lazy.current_device() if n is None else n)


def xla_device_hw(device):
    """Return the kind of hardware behind the device: its driver's name."""
    return _place(device)[0].upper()


def get_xla_supported_devices(devkind=None, max_devices=None):
    """Return the names of the lazy devices."""
    return [f"lazy:{i}" for i in range(_lazy.device_count())][:max_devices]


def xla_real_devices(devices=None):
    """Return the names of the devices behind these: driver and number there."""
    places = map(_place, devices or [xla_device()])
    return [f"{driver.upper()}:{number}" for driver, number in places]


def _place(device):
    driver, number, *_ = start().device_info(ordinal_of(device))
    return driver, number


def optimization_barrier_(tensors):
    """Do nothing: values do not depend on what is computed together."""


def is_xla_tensor(tensor):
    """Return whether the tensor is on a lazy device."""
    return tensor.device.type == "lazy"


def mark_step(wait=False, reset_scope=True):
    """End the step, then run what `add_step_closure` was given."""
    _lazy.mark_step(wait=wait)
    analysis.note_step()
    closures, _closures.waiting = getattr(_closures, "waiting", []), []
    for closure, args in closures:
        closure(*args)


def add_step_closure(closure, args=(), run_async=False):
    """Call ``closure(*args)`` at the end of the step, where reading a value is due."""
    _closures.waiting = [*getattr(_closures, "waiting", []), (closure, args)]


def wait_device_ops(devices=()):
    """Wait until the devices have run everything."""
    for name in devices or get_xla_supported_devices():
        _lazy.synchronize(name)


def optimizer_step(
    optimizer, barrier=False, optimizer_args=None, groups=None, pin_layout=True
):
    """Step the optimizer; `barrier` ends the step too."""
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return loss


def reduce_gradients(optimizer, groups=None, pin_layout=True):
    """Do nothing: there is one process."""


def all_reduce(reduce_type, inputs, scale=1.0, groups=None, cctx=None, pin_layout=True):
    """Scale the tensor, or the list of tensors in place, of the one process."""
    if isinstance(inputs, torch.Tensor):
        return inputs * scale if scale != 1.0 else inputs
    if scale != 1.0:
        for tensor in inputs:
            tensor.mul_(scale)
    return None


def all_gather(value, dim=0, groups=None, output=None, pin_layout=True):
    """Return the tensor, or the list of tensors, of the one process."""
    if output is None:
        return value
    pytree.tree_map(lambda out, x: out.copy_(x), output, value)
    return output


def reduce_scatter(
    reduce_type, input, scale, scatter_dim, shard_count, groups=None, output=None
):
    """Return the scaled tensor: there is one shard."""
    if shard_count != 1:
        raise ValueError(f"one process has 1 shard, not {shard_count}")
    result = input * scale
    return result if output is None else output.copy_(result)


def collective_broadcast(tensors, root_ordinal=0, groups=None, pin_layout=True):
    """Do nothing: every process has the root's tensors."""


def set_replication(device, devices):
    """Do nothing: there is one process."""


def mesh_reduce(tag, data, reduce_fn):
    """Return ``reduce_fn`` of the one process's data."""
    return reduce_fn([data])


def rendezvous(tag, payload=b"", replicas=()):
    """Wait for the device and return the payloads of all processes: this one's."""
    wait_device_ops()
    return [payload]


def do_on_ordinals(target, data=(), ordinals=(0,)):
    """Return ``target(*data)``, tensors on the CPU, if process 0 is among those."""
    result = target(*_to_cpu(data)) if get_ordinal() in ordinals else None
    rendezvous("do_on_ordinals")
    return result


def get_ordinal(defval=0):
    """Return 0, the number of the one process."""
    return 0


get_local_ordinal = get_ordinal


def xrt_world_size(defval=1):
    """Return 1, the number of processes."""
    return 1


def is_master_ordinal(local=True):
    """Return True: the one process is the master."""
    return True


def master_print(*args, fd=None, local=False, flush=False):
    """Print, to standard output by default."""
    print(*args, file=fd or sys.stdout, flush=flush)


def broadcast_master_param(model):
    """Do nothing: there is one process."""


def save(data, file_or_path, master_only=True, global_master=False):
    """Write `data` with its lazy tensors on the CPU, as ``torch.save``."""
    mark_step()
    torch.save(_to_cpu(data), file_or_path)


def _maybe_convert_to_cpu(data, convert=True):
    return _to_cpu(data) if convert else data


def _fetch_gradients(optimizer):
    groups = optimizer.param_groups
    return [p.grad for group in groups for p in group["params"] if p.grad is not None]


def _to_cpu(data):
    def move(x):
        return x.cpu() if isinstance(x, torch.Tensor) else x

    return pytree.tree_map(move, data)


def send_cpu_data_to_device(datas, device, input_sharding=None):
    """Return the tensors of `datas`, however nested, on the device."""

    def move(x):
        return x.to(device) if isinstance(x, torch.Tensor) else x

    return pytree.tree_map(move, datas)


def unlazy(tensors):
    """Compute the tensors now, and wait."""
    for ordinal in {t.device.index for t in tensors if is_xla_tensor(t)}:
        _lazy.mark_step(wait=True, device=ordinal)


def get_memory_info(device=None):
    """Return the device's memory in bytes: used, used at most, and in all."""
    return {
        "bytes_used": _lazy.memory_allocated(device),
        "peak_bytes_used": _lazy.max_memory_allocated(device),
        "bytes_limit": _lazy.mem_get_info(device)[1],
    }


def set_rng_state(seed, device=None):
    """Seed the device."""
    _lazy.manual_seed(seed)


def get_rng_state(device=None):
    """Return the seed that the device started from."""
    return _lazy.initial_seed()
