# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distributed tensors in a graph that is handed over (docs/hand-over.md).

The graph is of whole tensors, and says of each which device has which part.
"""

import contextlib
import sys

import torch
from torch.utils import _pytree as pytree

from torch_ltc import errors


def is_distributed(value):
    """Whether it is a DTensor."""
    # Nobody has a DTensor who has not imported its module, which takes a second.
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(value, module.DTensor)


def shard(whole, like):
    """Return a whole tensor, of which devices have parts as of the DTensor."""
    grid, splits = _places(like)
    return torch.ops.torch_ltc.shard(whole, grid, splits)


def _places(tensor):
    """Return the mesh's shape, and the dimension that each axis of it splits."""
    grid, splits = list(tensor.device_mesh.shape), []
    parts = [1] * tensor.dim()
    for size, placement in zip(grid, tensor.placements, strict=True):
        if type(placement).__name__ not in ("Replicate", "Shard"):
            raise _not_said(tensor, f"its placement {placement} has no form")
        splits.append(placement.dim if placement.is_shard() else -1)
        if placement.is_shard():
            parts[placement.dim] *= size
    if any(size % part for size, part in zip(tensor.shape, parts, strict=True)):
        raise _not_said(tensor, "its parts differ in size")
    return grid, splits


def _not_said(tensor, why):
    shape = f"a distributed tensor of {list(tensor.shape)}"
    message = f"{shape} on a mesh of {list(tensor.device_mesh.shape)}: {why}"
    hint = "redistribute it to Replicate(), or to Shard(dim) in equal parts"
    text = f"{message}\n  {hint}"
    return errors.make("unsupported", "graph", "", ("", 0, ""), message, hint, text)


@contextlib.contextmanager
def as_one_device(program):
    """Take from a module the hooks by which parallelize_module splits its calls."""
    modules = program.modules() if isinstance(program, torch.nn.Module) else ()
    taken = []
    for module in modules:
        for hooks in module._forward_pre_hooks, module._forward_hooks:
            own = [k for k, hook in hooks.items() if _splits_calls(hook)]
            taken.append((hooks, dict(hooks)))
            for key in own:
                del hooks[key]
    try:
        yield
    finally:
        for hooks, before in taken:
            hooks.clear()
            hooks.update(before)


def _splits_calls(hook):
    return getattr(hook, "__module__", "").startswith("torch.distributed.tensor")


def results_like(call, values):
    """Return for each tensor that the call returns a DTensor placed as it; or None.

    DTensor's own rules say so, on tensors without values: nothing is communicated.
    For an op that has no rule nothing is known.
    """
    if not any(map(is_distributed, values)):
        return None
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        try:
            returned = call([_fake(value, mode) for value in values])
        except NotImplementedError:
            return None
    leaves = [x for x in pytree.tree_leaves(returned) if isinstance(x, torch.Tensor)]
    return [x if is_distributed(x) and not _is_partial(x) else None for x in leaves]


def _fake(value, mode):
    if not is_distributed(value):
        return mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
    local = value.to_local()
    return type(value).from_local(
        torch.empty(local.shape, dtype=local.dtype, device=local.device),
        value.device_mesh,
        value.placements,
        run_check=False,
        shape=value.shape,
        stride=value.stride(),
    )


def _is_partial(tensor):
    return any(placement.is_partial() for placement in tensor.placements)
