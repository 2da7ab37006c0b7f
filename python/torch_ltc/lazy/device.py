# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module ``torch.lazy``: the lazy device, as ``torch.cuda`` is for CUDA."""

from typing import NamedTuple

import torch

from torch_ltc import deprecation, frontends, startup
from torch_ltc.lazy.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
)
from torch_ltc.lazy.ordinal import ordinal_of
from torch_ltc.lazy.stream import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    is_current_stream_capturing,
    set_stream,
    stream,
)
from torch_ltc.startup import start as _start

OutOfMemoryError = torch.OutOfMemoryError

__all__ = [
    "DeviceProperties",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "mark_step",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "metrics",
    "pending_graph",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_metrics",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


def is_available():
    """Return whether there is a lazy device."""
    return device_count() > 0


def is_initialized():
    """Return whether the libraries have been loaded in this process."""
    return startup.is_started() and not startup.is_forked()


def init():
    """Load the libraries now rather than at the first lazy tensor."""
    _start()


def _lazy_init():
    init()


def _is_compiled():
    return True


def _is_in_bad_fork():
    return startup.is_forked()


def device_count():
    """Return the number of devices that the drivers (setting ``device``) have."""
    return _start().device_count()


def current_device():
    """Return the number of the device that ``'lazy'`` means in this thread."""
    return _start().current_device()


def set_device(device):
    """Choose the device that ``'lazy'`` means in this thread."""
    _start().set_current_device(ordinal_of(device))


class device:
    """Context manager that makes ``device`` the current one."""

    def __init__(self, device):
        self.index = ordinal_of(device)

    def __enter__(self):
        self.before = current_device()
        set_device(self.index)

    def __exit__(self, *exception):
        set_device(self.before)


class device_of(device):
    """Context manager that makes the device of a tensor current, if it is lazy."""

    def __init__(self, tensor):
        is_lazy = tensor.device.type == "lazy"
        super().__init__(tensor.device if is_lazy else current_device())


def can_device_access_peer(device, peer_device):
    """Return True: devices copy to each other by way of the host."""
    return True


def get_device_capability(device=None):
    """Return ``(0, 0)``: there is no number for what these devices can do."""
    _start().check_ordinal(ordinal_of(device))
    return 0, 0


def ipc_collect():
    """Do nothing: no memory is lent to other processes."""


def is_tf32_supported():
    """Return False: products of float32 are float32's."""
    return False


def get_device_name(device=None):
    """Return what the device calls itself, or a name such as ``'ltc cpu:0'``."""
    driver, ordinal, properties, _ = _start().device_info(ordinal_of(device))
    return properties.get("name", f"ltc {driver}:{ordinal}")


class DeviceProperties(NamedTuple):
    """What `get_device_properties` returns."""

    name: str
    total_memory: int  # bytes
    multi_processor_count: int  # what runs a graph side by side; threads of a host
    driver: str
    properties: dict  # all that the driver says, names with texts
    statistics: dict  # what the driver counts, names with numbers


def get_device_properties(device=None):
    """Return name, memory and threads of the device, and what its driver says."""
    driver, _, properties, statistics = _start().device_info(ordinal_of(device))
    return DeviceProperties(
        get_device_name(device),
        mem_get_info(device)[1],
        int(properties.get("processors", torch.get_num_threads())),
        driver,
        properties,
        statistics,
    )


def mark_step(wait=False, device=None):
    """End a step: queue all that this thread recorded so far as one graph.

    Returns at once unless ``wait``; an error of the step is raised where its
    values are read, or by `synchronize`. Where the setting ``frontend`` is dynamo,
    nothing is ended, with a warning.
    """
    c = _start()
    deprecation.note_end()
    if frontends.ends_steps():
        c.mark_step(ordinal_of(device), wait)
    elif wait:
        c.synchronize(ordinal_of(device))


def synchronize(device=None):
    """Queue what is recorded, by any thread, and wait until all of it has run.

    Raises the first error that has not been raised yet.
    """
    _start().synchronize(ordinal_of(device))


def pending_graph(device=None):
    """Return the text of the graph that the next `mark_step` would queue."""
    return _start().pending_graph(ordinal_of(device))


# Random numbers: lazy ops draw their seeds from the default CPU generator, so
# that a program has the same stream of seeds wherever its tensors are.


def manual_seed(seed):
    """Seed the lazy device; the same generator as ``torch.manual_seed``."""
    torch.default_generator.manual_seed(int(seed))


def manual_seed_all(seed):
    """Seed all lazy devices; they share one generator."""
    manual_seed(seed)


def seed():
    """Seed the lazy device with a random number."""
    torch.default_generator.seed()


def seed_all():
    """Seed all lazy devices with one random number."""
    seed()


def initial_seed():
    """Return the seed that the generator started from."""
    return torch.default_generator.initial_seed()


def get_rng_state(device=None):
    """Return the state of the generator as a CPU tensor of bytes."""
    return torch.default_generator.get_state()


def set_rng_state(new_state, device=None):
    """Set the state of the generator, as `get_rng_state` returned it."""
    torch.default_generator.set_state(new_state)


def get_rng_state_all():
    """Return the state of every lazy device's generator."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(new_states):
    """Set the states, as `get_rng_state_all` returned them."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)


def metrics():
    """Return the counters of every stage: ``{'codegen.graphs': 2, …}``."""
    return _start().metrics()


def reset_metrics():
    """Set every counter to zero."""
    _start().reset_metrics()


def get_amp_supported_dtype():
    """Return the dtypes that autocast may choose."""
    return [torch.bfloat16, torch.float16]


def is_bf16_supported(including_emulation=True):
    """Return True: every driver computes bfloat16."""
    return True
