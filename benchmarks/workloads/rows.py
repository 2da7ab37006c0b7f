# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and what is built around them, in cache and out of it."""

import torch
import torch.nn.functional as F

from workloads.workload import Workload

# rows x columns: 256 KiB, 4 MiB and 64 MiB of floats.
SHAPES = {"64k": (64, 1024), "1m": (1024, 1024), "16m": (16384, 1024)}


class Forward(Workload):
    """function(x) of a matrix."""

    passes = 2  # over x, at least

    def build(self, shape):
        self.x = torch.randn(shape).to(self.device)
        self.traffic = self.passes * 4 * self.x.numel()
        self.run = self.contender.compile(self.function)

    def step(self):
        return self.run(self.x)


class RowSum(Forward):
    """One sum a row."""

    family, passes = "row-sum", 1

    def function(self, x):
        return x.sum(dim=1)


class ColumnSum(Forward):
    """One sum a column."""

    family, passes = "column-sum", 1

    def function(self, x):
        return x.sum(dim=0)


class Softmax(Forward):
    """Along rows."""

    family = "softmax"

    def function(self, x):
        return x.softmax(dim=1)


class ForwardBackward(Workload):
    """function(x) of a matrix, and its gradients; the loss is a weighted sum."""

    passes = 4  # x, its weight, output or mask, gradient

    def build(self, shape):
        self.x = torch.randn(shape).to(self.device).requires_grad_()
        self.seed = torch.randn(shape).to(self.device)
        self.scale, self.shift = (
            torch.randn(shape[1]).to(self.device).requires_grad_() for _ in range(2)
        )
        self.traffic = self.passes * 4 * self.x.numel()
        self.run = self.contender.compile(self.function)

    def step(self):
        y = self.run(self.x, self.scale, self.shift)
        wanted = [self.x, self.scale, self.shift]
        return [y.detach(), *torch.autograd.grad(y, wanted, self.seed)]


class LayerNorm(ForwardBackward):
    """Over rows."""

    family = "layer-norm"

    def function(self, x, scale, shift):
        return F.layer_norm(x, x.shape[1:], scale, shift)


class BatchNorm(ForwardBackward):
    """Over columns, training."""

    family = "batch-norm"

    def function(self, x, scale, shift):
        return F.batch_norm(x, None, None, scale, shift, training=True)


class GeluDropout(ForwardBackward):
    """Scale and shift, exact GELU, dropout."""

    family, random = "gelu-dropout", True

    def function(self, x, scale, shift):
        return F.dropout(F.gelu(x * scale + shift), 0.1)


def at_every_size(kind):
    """Return a workload for each of SHAPES."""
    return [
        type(
            f"{kind.__name__}{label}",
            (kind,),
            {
                "__doc__": kind.__doc__,
                "name": f"{kind.family}-{label}",
                "sizes": {"full": {"shape": shape}, "small": {"shape": (8, 32)}},
            },
        )
        for label, shape in SHAPES.items()
    ]


KINDS = [RowSum, ColumnSum, Softmax, LayerNorm, BatchNorm, GeluDropout]
WORKLOADS = [work for kind in KINDS for work in at_every_size(kind)]
