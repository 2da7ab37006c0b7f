# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What optimizers do differently on lazy parameters.

A step ends after each ``optimizer.step()`` (setting ``auto_step``), because
scripts written for eager devices never say where theirs ends; and an optimizer
with ``foreach=None`` takes its foreach form, which records a tenth of the ops. So
does one with ``fused=True``: what is recorded is fused by the compiler.
"""

import sys

import torch
from torch.optim import optimizer as torch_optimizer

from torch_ltc import startup


def register():
    """End a step after each ``optimizer.step()``."""
    torch_optimizer.register_optimizer_step_post_hook(_end_step)


def with_lazy(stock):
    """Wrap a function that lists devices."""

    def devices(*args, **kwargs):
        return [*stock(*args, **kwargs), "lazy"]

    return devices


def fused_allowed(stock):
    """Wrap ``_device_dtype_check_for_fused``, which has a list of devices."""

    def check(p, cuda_unsupported=False):
        if p.device.type != "lazy" or not p.is_floating_point():
            stock(p, cuda_unsupported)

    return check


def fused_as_foreach(stock):
    """Wrap the function, such as ``_fused_adam``, that takes a fused step."""
    form = stock.__name__.replace("_fused_", "_multi_tensor_")
    foreach = getattr(sys.modules[stock.__module__], form)

    def fused(params, grads, *state, grad_scale=None, found_inf=None, **options):
        scaled = {"grad_scale": grad_scale, "found_inf": found_inf}
        refused = options.get("differentiable") or options.get("has_sparse_grad")
        if refused or not params or params[0].device.type != "lazy":
            return stock(params, grads, *state, **scaled, **options)
        if found_inf is not None and found_inf.item():
            return None
        if grad_scale is not None:
            torch._foreach_div_(grads, grad_scale.to(grads[0].device))
        scaled = dict.fromkeys(scaled)
        if "capturable" in options:
            options["capturable"] = True  # a fused step counts on the device
        return foreach(params, grads, *state, **scaled, **options)

    return fused


def _end_step(optimizer, args, kwargs):
    if torch.compiler.is_compiling():
        return
    c = startup.start()
    if c.auto_step():
        for ordinal in _ordinals(optimizer):
            c.mark_step(ordinal, False)


def _ordinals(optimizer):
    """Return the lazy devices that the optimizer's parameters are on."""
    ordinals = set()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            device = parameter.device
            if device.type == "lazy":
                ordinals.add(device.index or 0)
                if startup.start().device_count() == 1:
                    return ordinals
    return ordinals
