# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``nn.SyncBatchNorm`` of lazy tensors.

PyTorch's is made of kernels that only GPUs have. This one is made of ops that any
device has, with the same two collectives: one gather forward, one sum backward.
"""

import torch
from torch import distributed

from torch_ltc.lazy.ordinal import is_lazy


def forward(stock):
    """Wrap ``torch.nn.SyncBatchNorm.forward``."""

    def forward(self, input):
        if not (self.training and is_lazy(input.device) and _is_shared(self)):
            return stock(self, input)
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        factor, mean, var = self.momentum or 0.0, None, None
        if self.track_running_stats:
            mean, var = self.running_mean, self.running_var
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / self.num_batches_tracked.item()
        return _Normalize.apply(
            input, self.weight, self.bias, mean, var, self.eps, factor, _group(self)
        )

    return forward


def _group(module):
    return module.process_group or distributed.group.WORLD


def _is_shared(module):
    return (
        distributed.is_available()
        and distributed.is_initialized()
        and distributed.get_world_size(_group(module)) > 1
    )


class _Normalize(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, input, weight, bias, running_mean, running_var, eps, factor, group
    ):
        """Normalize by the mean and variance of all ranks' values."""
        ranks = distributed.get_world_size(group)
        x = _wide(input)
        channels = x.shape[1]
        if x.numel() == 0 and ranks == 1:
            raise ValueError(f"Expected values in training, got {tuple(x.shape)}")
        means, squares, counts = _gathered(x, ranks, group).split(
            [channels, channels, 1], dim=1
        )
        count = counts.sum()
        mean = (means * counts).sum(0) / count
        square = (squares + counts * (means - mean) ** 2).sum(0)
        invstd = torch.rsqrt(square / count + eps)
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), factor)
            running_var.lerp_((square / (count - 1)).to(running_var.dtype), factor)
        normal = (x - _along(mean, x)) * _along(invstd, x)
        ctx.save_for_backward(input, weight, mean, invstd, count)
        ctx.group = group
        if weight is not None:
            normal = normal * _along(_wide(weight), x) + _along(_wide(bias), x)
        return normal.to(input.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        """Return the gradients; those of the parameters are this rank's own."""
        input, weight, mean, invstd, count = ctx.saved_tensors
        x, grad = _wide(input), _wide(grad_output)
        others = [d for d in range(x.dim()) if d != 1]
        normal = (x - _along(mean, x)) * _along(invstd, x)
        own = torch.stack([grad.sum(others), (grad * normal).sum(others)])
        of_all = own.clone()
        distributed.all_reduce(of_all, group=ctx.group)
        shift, slope = of_all / count
        grad_input = grad - _along(shift, x) - normal * _along(slope, x)
        scale = invstd if weight is None else invstd * _wide(weight)
        grads = [(grad_input * _along(scale, x)).to(input.dtype), None, None]
        if weight is not None:
            grads[1:] = own[1].to(weight.dtype), own[0].to(weight.dtype)
        return (*grads, None, None, None, None, None)


def _wide(tensor):
    """Return values that can be summed: of 16 bits there are too few."""
    return tensor.float() if tensor.dtype in (torch.half, torch.bfloat16) else tensor


def _along(values, x):
    """One value a channel, for all elements of x."""
    return values.view(1, -1, *[1] * (x.dim() - 2))


def _gathered(x, ranks, group):
    """Return each rank's means, sums of squares about them, and count, as a row."""
    channels = x.shape[1]
    row = x.new_zeros(2 * channels + 1)
    if x.numel():
        others = [d for d in range(x.dim()) if d != 1]
        mean = x.mean(others)
        square = ((x - _along(mean, x)) ** 2).sum(others)
        row = torch.cat([mean, square, x.new_full((1,), x.numel() // channels)])
    rows = x.new_empty(ranks * row.numel())
    distributed.all_gather_into_tensor(rows, row, group=group)
    return rows.view(ranks, -1)
