# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own lazy interface, ``torch._lazy``, in front of this backend.

Its C functions fail when there is no backend yet, and some reach around the
executor, which only knows PyTorch's way to compile. These are the versions that
do the same through ours, starting it if need be.
"""

import warnings

import torch

from torch_ltc import deprecation, frontends, startup


def mark_step(stock):
    """Wrap ``torch._C._lazy._mark_step``, which needs the backend to be there."""

    def _mark_step(*args, **kwargs):
        startup.start()
        deprecation.note_end()
        if frontends.ends_steps():
            stock(*args, **kwargs)

    return _mark_step


def _ordinals(devices):
    """Return the numbers of the named devices, of all if there are none."""
    if not devices:
        return range(startup.start().device_count())
    return [torch.device(device).index or 0 for device in devices]


def wait_device_ops(stock):
    """Wrap ``torch._C._lazy._wait_device_ops``."""

    def _wait_device_ops(devices=()):
        for ordinal in _ordinals(devices):
            startup.start().synchronize(ordinal)

    return _wait_device_ops


def sync_multi(stock):
    """Wrap ``torch._C._lazy._sync_multi``."""

    def _sync_multi(tensors, devices=(), wait=True, sync_ltc_data=True):
        for ordinal in {t.device.index for t in tensors if t.device.type == "lazy"}:
            startup.start().mark_step(ordinal, wait)

    return _sync_multi


def no_torchscript(stock):
    """Stand in for ``torch._C._lazy_ts_backend._init``."""

    def _init():
        startup.start()
        warnings.warn(
            "torch._lazy.ts_backend.init() does nothing: device='lazy' is run by "
            "torch_ltc. Delete the call, or set TORCH_DEVICE_BACKEND_AUTOLOAD=0 for "
            "PyTorch's TorchScript backend.",
            stacklevel=3,
        )

    return _init


def get_tensor_id(_):
    """Stand in for ``torch._C._lazy._get_tensor_id``, and remember whose it is."""
    return lambda tensor: startup.start().tensor_id(tensor)


def get_tensors_text(_):
    """Stand in for ``torch._C._lazy._get_tensors_text``, which knows bare tensors."""
    return lambda tensors: startup.start().node_text(list(tensors), False)


def get_tensors_dot(_):
    """Stand in for ``torch._C._lazy._get_tensors_dot``."""
    return lambda tensors: startup.start().node_text(list(tensors), True)


def get_tensors_backend(_):
    """Stand in for ``torch._C._lazy._get_tensors_backend``: the graph's text."""
    return lambda tensors: startup.start().TracedGraph(list(tensors)).text()


def dump_ir(stock):
    """Wrap ``torch._lazy.debug.dump_ir``, which has no "dot" beside its other two."""

    def _dump_ir(tensors, ir_format):
        if ir_format == "dot":
            return torch._C._lazy._get_tensors_dot(tensors)
        return stock(tensors, ir_format)

    return _dump_ir


# By hash, what `run_cached_graph` may be asked for; the oldest go first.
_traced = {}
_MOST_TRACED = 256


def get_graph_hash(_):
    """Stand in for ``torch._C._lazy._get_graph_hash``."""

    def _get_graph_hash(tensors):
        traced = startup.start().TracedGraph(list(tensors))
        _traced.pop(traced.key, None)
        _traced[traced.key] = traced.graph(), traced.results()
        if len(_traced) > _MOST_TRACED:
            del _traced[next(iter(_traced))]
        return traced.key

    return _get_graph_hash


def get_device_data(_):
    """Stand in for ``torch._C._lazy_ts_backend._get_tensors_ts_device_data_node``."""
    return lambda tensors: startup.start().TracedGraph(list(tensors)).inputs()


def run_cached_graph(_):
    """Stand in for ``torch._C._lazy_ts_backend._run_cached_graph``."""

    def _run_cached_graph(hash_str, graph_inputs):
        if hash_str not in _traced:
            raise RuntimeError(
                f"no graph has the hash {hash_str!r}; get_graph_hash(tensors) makes "
                f"one, and the last {_MOST_TRACED} are kept"
            )
        graph, results = _traced[hash_str]
        inputs = list(graph_inputs)
        outputs = []
        if graph.nodes():
            outputs = graph.compiled(
                [_bits(value) for value in inputs[: len(graph.inputs())]],
                startup.start().current_device(),
            )
        # One for each tensor that differs, in order.
        return [(outputs + inputs)[place] for place in dict.fromkeys(results)]

    return _run_cached_graph


def _bits(value):
    """Return an input as a `TrialGraph` takes it."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().contiguous()
    dtype = torch.float64 if isinstance(value, float) else torch.int64
    return torch.tensor(value, dtype=dtype, device="cpu").view(torch.int64)


def set_force_fallback(stock):
    """Wrap ``torch._C._lazy._set_force_fallback``: calls are known by their ops."""

    def _set_force_fallback(newval):
        stock(newval)
        startup.start().forget_calls()

    return _set_force_fallback
