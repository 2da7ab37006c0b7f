# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a graph's outputs are what ATen's kernels give, but for rounding."""

from dataclasses import dataclass

import torch

from torch_ltc.checking.comparison import Difference, compare

_NOISES = (1, 2, 3, 4)


@dataclass
class Mismatch:
    """A value that is not what ATen computes."""

    value: int  # its number in the graph
    type: str
    difference: Difference


def mismatch(graph, inputs, numbers, results, values):
    """Return the first `Mismatch` of a graph's outputs, or None.

    The tolerance grows with the number of ops that lead to a value. What exceeds it
    is looked at again beside runs in which each value is off by up to one rounding.
    """
    depths = _depths(graph)
    pairs = list(zip(numbers, results, strict=True))
    wrong = [
        (number, result)
        for number, result in pairs
        if compare(result, values[number], _tolerance(values[number], depths[number]))
    ]
    if not wrong:
        return None
    noisy = [graph.reference(inputs, seed) for seed in _NOISES]
    types = _types(graph)
    for number, result in wrong:
        wanted = values[number]
        tolerance = _tolerance(wanted, depths[number])
        spread = _spread(wanted, [run[number] for run in noisy])
        allowed = spread if tolerance is None else tolerance + 16 * spread
        difference = compare(result, wanted, allowed)
        if difference:
            return Mismatch(number, types[number], difference)
    return None


def _depths(graph):
    """Return for each value how many ops lead to it at most."""
    depths = [0] * len(graph.inputs())
    for _, operands, types, _ in graph.nodes():
        depth = 1 + max((depths[operand] for operand in operands), default=0)
        depths += [depth] * len(types)
    return depths


def _types(graph):
    types = [row[0] for row in graph.inputs()]
    for row in graph.nodes():
        types += row[2]
    return types


def _tolerance(wanted, depth):
    """Return how far each element may be off, or None for what is exact."""
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return None
    size = _size(wanted)
    finite = size[size.isfinite()]
    typical = finite.square().mean().sqrt() if finite.numel() else 0.0
    return torch.finfo(wanted.dtype).eps * (8 + 4 * depth) * (size + typical)


def _spread(wanted, others):
    """Return how far rounding errors take each element; inf where it is exact."""
    exact = not (wanted.is_floating_point() or wanted.is_complex())
    dtype = torch.int64 if exact else torch.float64
    spread = torch.zeros(wanted.shape, dtype=dtype, device="cpu")
    for other in others:
        if exact:  # any other value may be as right
            spread[other != wanted] = torch.iinfo(torch.int64).max
            continue
        distance = _size(other - wanted)
        distance[~distance.isfinite()] = torch.inf
        distance[(other == wanted) | (other.isnan() & wanted.isnan())] = 0
        spread = torch.maximum(spread, distance)
    if exact:
        return spread
    finite = spread[spread.isfinite()]
    return spread + (finite.square().mean().sqrt() if finite.numel() else 0.0)


def _size(tensor):
    """Return absolute values in double precision."""
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    return tensor.to(wide).abs()
