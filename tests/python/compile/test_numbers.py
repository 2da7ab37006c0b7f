# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A number that is no size is an input of a graph: another one compiles nothing."""

import pytest
import torch
from parity import OPS
from torch.utils import _pytree as pytree

NORM = "the order of a norm picks the loop"
SCALE = "a factor of sizes decides the shape"
CORRECTION = "the correction of a variance is told to the kernel"
REFUSED = "the kernel refuses some values"
# Ops with a number for which another graph is compiled (argument_facts.def).
STAY = {
    "_upsample_bilinear2d_aa": SCALE,
    "cdist": NORM,
    "linalg.norm": NORM,
    "linalg.vector_norm": NORM,
    "masked.norm": NORM,
    "masked.normalize": NORM,
    "nn.functional.huber_loss": REFUSED,
    "nn.functional.interpolate.bicubic": SCALE,
    "nn.functional.interpolate.bilinear": SCALE,
    "nn.functional.interpolate.linear": SCALE,
    "nn.functional.interpolate.nearest": SCALE,
    "nn.functional.interpolate.nearest-exact": SCALE,
    "nn.functional.interpolate.trilinear": SCALE,
    "nn.functional.local_response_norm": "an exponent picks the loop",
    "nn.functional.normalize": NORM,
    "nn.functional.pairwise_distance": NORM,
    "nn.functional.pdist": NORM,
    "nn.functional.softshrink": REFUSED,
    "norm": NORM,
    "renorm": NORM,
    "std": CORRECTION,
    "std_mean": CORRECTION,
    "var": CORRECTION,
    "var_mean": CORRECTION,
}


def numbers_of(tree):
    """Return where in a tree of arguments there are Python floats."""
    leaves, _ = pytree.tree_flatten(tree)
    return [
        i
        for i, leaf in enumerate(leaves)
        if isinstance(leaf, float) and leaf not in (0.0, 1.0) and abs(leaf) < 1e6
    ]


def with_numbers():
    """Yield (name, sample) for every third op of which a sample has a float.

    The ops of STAY are among them.
    """
    for number, (name, op) in enumerate(OPS.items()):
        if number % 3 and name not in STAY:
            continue
        if torch.float32 not in op.supported_dtypes("cpu"):
            continue
        for sample in op.sample_inputs("cpu", torch.float32):
            if numbers_of((sample.args, sample.kwargs)):
                yield name, sample
                break


def moved(tree, share):
    """Return the tree on the device, with each float a little larger."""
    leaves, spec = pytree.tree_flatten(tree)
    places = numbers_of(tree)
    leaves = [
        leaf.detach().to("lazy")
        if isinstance(leaf, torch.Tensor)
        else leaf * share
        if i in places
        else leaf
        for i, leaf in enumerate(leaves)
    ]
    return pytree.tree_unflatten(leaves, spec)


def compiles(op, sample, share, counts):
    arguments = moved((sample.input, sample.args, sample.kwargs), share)
    result = op(arguments[0], *arguments[1], **arguments[2])
    pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, result)
    return counts["codegen.graphs"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_other_numbers_compile_nothing(counts):
    again = set()
    for name, sample in with_numbers():
        compiles(OPS[name], sample, 1.0078125, counts)
        before = compiles(OPS[name], sample, 1.015625, counts)
        if compiles(OPS[name], sample, 1.0234375, counts) != before:
            again.add(name)
    assert again == STAY.keys()
