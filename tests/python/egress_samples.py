# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of OpInfo as programs of their tensors, to be written as files."""

import warnings

import parity
import torch
import torch_ltc
from torch.utils import _pytree as pytree

# Whose results no graph gives: they are shaped by values, random, not dense, or no
# tensors; or whose samples are no function of tensors alone.
NO_GRAPH = (
    "linalg.lstsq",
    "sparse",
    "to_sparse",
    "empty",
    "new_empty",
    "equal",
    "item",
    "allclose",
    "tolist",
    "nonzero",
    "unique",
    "masked_select",
    "repeat_interleave",
    "normal",
    "rand",
    "uniform",
    "bernoulli",
    "multinomial",
    "exponential",
    "cauchy",
    "geometric",
    "log_normal",
    "dropout",
    "rrelu",
    "svd_lowrank",
    "pca_lowrank",
    "argwhere",
    "ctc_loss",
    "jiterator",
)


def names():
    """Return the names of the OpInfos that are written."""
    return [
        name
        for name, op in parity.OPS.items()
        if torch.float32 in op.supported_dtypes("cpu")
        and not any(part in name for part in NO_GRAPH)
    ]


def programs(name, limit=2, dtype=torch.float32):
    """Yield the first samples of an op: a function of tensors, and the tensors."""
    op = parity.OPS[name]
    for i, sample in enumerate(op.sample_inputs("cpu", dtype)):
        if i == limit:
            return
        call = (sample.input, sample.args, sample.kwargs)
        leaves, spec = pytree.tree_flatten(call)
        tensors = [x.detach() for x in leaves if isinstance(x, torch.Tensor)]
        if all(x.numel() for x in tensors):
            yield _program(op, leaves, spec), tensors


def _program(op, leaves, spec):
    def run(*tensors):
        given = iter(tensors)
        filled = [next(given) if isinstance(x, torch.Tensor) else x for x in leaves]
        first, args, kwargs = pytree.tree_unflatten(filled, spec)
        return op(first, *args, **kwargs)

    return run


def export(program, tensors, path, dialect):
    """Return what was exported, or why it was refused; no reason: it is no graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch_ltc.export_graph(program, path, *tensors, dialect=dialect), ""
        except torch_ltc.errors.UnsupportedOpError as error:
            said = str(error).splitlines()[0]
            return None, said if said.startswith("could not write") else ""
        except (RuntimeError, TypeError, ValueError):
            return None, ""
