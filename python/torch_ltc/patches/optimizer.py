# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What optimizers do differently on lazy parameters.

A step ends after each ``optimizer.step()`` (setting ``auto_step``), because
scripts written for eager devices never say where theirs ends; and an optimizer
with ``foreach=None`` takes its foreach form, which records a tenth of the ops, or
where there is one and it rounds no differently, its fused form, which is one op.
"""

import torch
from torch.optim import optimizer as torch_optimizer
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from torch_ltc import startup

# Tensors in their place are read where a loop over parameters would read them.
_NUMBERS = ("lr", "beta1", "beta2", "weight_decay", "eps")


def register():
    """End a step after each ``optimizer.step()``."""
    torch_optimizer.register_optimizer_step_post_hook(_end_step)


def computing_parameters(stock):
    """Wrap ``Optimizer.add_param_group``: end a step that made the parameters."""

    def add(optimizer, param_group):
        stock(optimizer, param_group)
        devices = {
            parameter.device for parameter in optimizer.param_groups[-1]["params"]
        }
        for device in devices:
            if device.type == "lazy":
                startup.start().auto_step(device.index or 0, False)

    return add


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


def foreach_as_one_op(stock):
    """Wrap the function, such as ``_multi_tensor_adam``, that takes a foreach step."""
    one_op = {"_multi_tensor_adam": _adam, "_multi_tensor_sgd": _sgd}[stock.__name__]

    def foreach(params, grads, *state, **options):
        if not _is_one_op(params, state[0], options):
            return stock(params, grads, *state, **options)
        one_op(params, grads, *state, **options)
        # As the loop's writes do; those of fused ops count in no PyTorch.
        torch.autograd.graph.increment_version(params)

    return foreach


def _is_one_op(params, averages, options):
    """Whether there is a fused op that rounds as torch's loop over parameters does."""
    return (
        len({average is None for average in averages}) < 2
        and not options.get("capturable")
        and not options.get("has_sparse_grad")
        and not any(isinstance(options.get(k), torch.Tensor) for k in _NUMBERS)
        and not torch.compiler.is_compiling()
        and startup.start().are_alike(params)
    )


def _adam(params, grads, *state, decoupled_weight_decay, **options):
    startup.start().count_step(state[-1])
    step = torch._fused_adamw_ if decoupled_weight_decay else torch._fused_adam_
    names = (*_NUMBERS, "amsgrad", "maximize")
    step(params, grads, *state, **{name: options[name] for name in names})


def _sgd(params, grads, averages, *, has_sparse_grad, **options):
    is_first = bool(averages) and averages[0] is None
    if is_first and options["dampening"] == 0:
        # The first step is then the same graph as all others: 0 momentum + grad.
        averages[:] = [torch.zeros_like(param) for param in params]
        is_first = False
    elif is_first:
        averages[:] = [torch.empty_like(grad) for grad in grads]
    torch._fused_sgd_(params, grads, averages, is_first_step=is_first, **options)


def _end_step(optimizer, args, kwargs):
    if torch.compiler.is_compiling():
        return
    steps = _counted(optimizer)
    if not steps:
        return
    c = startup.start()
    for ordinal, counts in steps.items():
        if counts:
            c.note_step(_held(counts[0][0]), [count for _, count in counts])
        c.auto_step(ordinal, True)


def _held(parameter):
    """Return the parameter, or a tensor that it holds, as a distributed one does."""
    while is_traceable_wrapper_subclass(parameter):
        parameter = getattr(parameter, parameter.__tensor_flatten__()[0][0])
    return parameter


def _counted(optimizer):
    """Return, by lazy device, parameters with what counts their steps on the CPU."""
    steps = {}
    states = optimizer.state
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            device = parameter.device
            if device.type != "lazy":
                continue
            counts = steps.setdefault(device.index or 0, [])
            state = states.get(parameter)
            count = state.get("step") if state else None
            is_count = isinstance(count, torch.Tensor) and count.is_cpu
            if is_count and parameter.grad is not None:
                counts.append((parameter, count))
    return steps
