# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpInfos whose calls are compiled by ``backend="ltc"``, one call a program."""

import torch
from accuracy import Skipped
from functorch.compile import aot_function
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)
from torch.utils import _pytree as pytree
from torch_ltc.dynamo import backend


def through_dynamo(function):
    """Compile a function as a user does, in one graph if Dynamo can."""
    torch._dynamo.reset()
    whole = torch.compile(function, backend="ltc", fullgraph=True, dynamic=False)

    def call(*args, **kwargs):
        try:
            return whole(*args, **kwargs)
        except torch._dynamo.exc.Unsupported:
            parts = torch.compile(function, backend="ltc", dynamic=False)
            return parts(*args, **kwargs)

    return call


def through_aot(function):
    """Compile what AOTAutograd traces, without Dynamo, which takes most of the time."""

    def call(*args, **kwargs):
        leaves, spec = pytree.tree_flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def of_tensors(*tensors):
            given = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor
            args, kwargs = pytree.tree_unflatten(given, spec)
            return function(*args, **kwargs)

        compiled = aot_function(of_tensors, **backend.compilers())
        try:
            return compiled(*(leaves[place] for place in places))
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise Skipped("a trace has no values") from error

    return call


COMPILED = {"dynamo": through_dynamo, "aot": through_aot}


class CompiledOp:
    """An OpInfo whose calls go through one of the doors in ``COMPILED``."""

    def __init__(self, op, door):
        self.op = op
        self.compiled = COMPILED[door]

    def __getattr__(self, name):
        return getattr(self.op, name)

    def __call__(self, *args, **kwargs):
        return self._through_door(self.op.op)(*args, **kwargs)

    @property
    def inplace_variant(self):
        return self._through_door(self.op.inplace_variant)

    def _through_door(self, function):
        call = self.compiled(function)
        code = getattr(function, "__code__", None)
        if not (code and "wrapper_set_seed" in code.co_names):
            return call

        # What it sets is set while it is traced, and not when it runs.
        def seeded(*args, **kwargs):
            with torch.random.fork_rng():
                torch.manual_seed(42)
                return call(*args, **kwargs)

        return seeded
