# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``Module.to('lazy')`` and ``p.data = p.data.to('lazy')`` keep the parameter.

Between devices whose tensors have storages, PyTorch moves a parameter by giving
it another storage. A lazy tensor has none, so PyTorch would make new parameters,
or refuse: tied weights come apart, and an optimizer built before the move trains
the old ones. Here the two tensors behind the Python objects are exchanged instead.
"""

import threading
import warnings

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

_moving = threading.local()  # .to_lazy: the answer for the module being moved


def keep_identity(stock):
    """Wrap ``torch.nn.Module._apply``."""

    def _apply(self, fn, recurse=True):
        to_lazy = getattr(_moving, "to_lazy", None)
        if to_lazy is not None:  # called for a submodule
            _move_own(self, fn, to_lazy)
            return stock(self, fn, recurse)
        to_lazy = _goes_to_lazy(self, fn)
        if to_lazy is None:
            return stock(self, fn, recurse)
        _moving.to_lazy = to_lazy
        try:
            _move_own(self, fn, to_lazy)
            return stock(self, fn, recurse)
        finally:
            _moving.to_lazy = None

    return _apply


def data_of_any_device(stock):
    """Wrap the descriptor of ``data`` for ``torch.nn.Parameter``."""

    def set_data(self, data):
        try:
            stock.__set__(self, data)
        except RuntimeError:
            if not isinstance(data, torch.Tensor) or {
                self.device.type,
                data.device.type,
            } != {"cpu", "lazy"}:
                raise
            replace(self, data)

    return property(stock.__get__, set_data)


def replace(parameter, data):
    """Give what is on the other side this data; its gradient moves."""
    gradient = parameter.grad
    parameter.grad = None  # it would be exchanged along, and on the wrong side
    try:
        _exchange(parameter, torch.nn.Parameter(data, parameter.requires_grad))
    finally:
        if gradient is not None:
            parameter.grad = gradient.to(parameter.device)


def _is_lazy(tensor):
    return tensor.device.type == "lazy"


def _goes_to_lazy(module, fn):
    """Return whether fn moves parameters to lazy (True), off it (False) or neither."""
    first = next((p for p in module.parameters()), None)
    if first is None:
        return None
    try:
        with torch.no_grad():
            goes = _is_lazy(fn(torch.empty(0, dtype=first.dtype, device=first.device)))
    except Exception:  # fn is the caller's; what it has to say, it says to PyTorch
        return None
    return None if goes == _is_lazy(first) else goes


def _move_own(module, fn, to_lazy):
    """Move the module's own parameters; what cannot be moved is left for PyTorch."""
    for name, parameter in module._parameters.items():
        if parameter is None or _is_lazy(parameter) == to_lazy:
            continue
        if is_traceable_wrapper_subclass(parameter):
            continue  # PyTorch exchanges these itself, with the tensors they hold
        gradient = parameter.grad
        with torch.no_grad():
            moved = fn(parameter)
            if _is_lazy(moved) != to_lazy:
                continue
            moved_gradient = None if gradient is None else fn(gradient)
        parameter.grad = None  # it would be exchanged along, and on the wrong side
        try:
            _exchange(parameter, torch.nn.Parameter(moved, parameter.requires_grad))
        except RuntimeError as error:
            parameter.grad = gradient
            warnings.warn(
                f"{type(module).__name__}.{name} becomes a new parameter on "
                f"{moved.device}: {error}",
                stacklevel=2,
            )
            continue
        if gradient is not None:
            parameter.grad = moved_gradient.requires_grad_(gradient.requires_grad)


def _exchange(parameter, moved):
    """Give each Python object the other's tensor; attributes and hooks stay."""
    if parameter._use_count() > 1 and parameter.requires_grad:
        # A graph made before the move still leads to the tensor that goes away.
        edge = torch.autograd.graph.get_gradient_edge(parameter)
        edge.node.register_prehook(_refuse)
    hooks = parameter._backward_hooks
    accumulated_hooks = parameter._post_accumulate_grad_hooks
    torch._C._swap_tensor_impl(parameter, moved)
    # Setting them tells the new tensor of them.
    parameter._backward_hooks = hooks
    parameter._post_accumulate_grad_hooks = accumulated_hooks


def _refuse(gradients):
    raise RuntimeError(
        "backward() reached a parameter that was on another device when the forward "
        "pass ran; move a module before its forward pass, or after its backward pass"
    )
