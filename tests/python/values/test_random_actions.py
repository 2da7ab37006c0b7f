# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads, writes, gradients and step boundaries in any order say what eager says.

`python tests/python/values/test_random_actions.py 7` names the actions of a program.
"""

import random
import sys
import warnings

import pytest
import torch
from random_actions import ACTIONS, World, strides
from sampling import sampled

FAST = range(50)
REFUSED = (RuntimeError, IndexError, TypeError, ValueError, AttributeError)


class Differs(Exception):
    """Lazy refuses what eager does not, for a reason that README.md names."""


def actions_of(draw):
    names = draw.choices([*ACTIONS], [*ACTIONS.values()], k=draw.choice([8, 16, 30]))
    return [(action, draw.random()) for action in names]


def perform(action, world, draw):
    """Return what an action says, or the type of what it raises."""
    try:
        return action(world, draw)
    except REFUSED as error:
        if "resize a view tensor to a larger size" in str(error):
            raise Differs from error
        return type(error).__name__


def run(seed, device):
    """Return what each action says, then all tensors and their gradients."""
    draw = random.Random(seed)
    world, said = World(draw, device), []
    for action, chosen in actions_of(draw):
        told = perform(action, world, random.Random(chosen))
        said.append((action.__name__, told))
    gradients = [p.grad for p in world.params if p.grad is not None]
    for x in [*world.params, *world.values, *world.buffers, *gradients]:
        with torch.no_grad():  # what autograd refuses may be read all the same
            said.append(("end", (x.requires_grad, strides(x), x.tolist())))
    return said


def agree(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=1e-8, abs=1e-8, nan_ok=True)
    return a == b


def check(seed):
    """Compare a program on the two; return whether lazy runs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = run(seed, "cpu")
        try:
            found = run(seed, "lazy")
        except Differs:
            return False
    for f, w in zip(found, wanted, strict=True):
        assert agree(f, w), seed
    return True


def test_random_actions():
    assert sum(map(check, FAST)) > 0.8 * len(FAST)


@pytest.mark.parametrize("first", sampled(range(FAST.stop, 450, 50), one_in=2))
def test_more_random_actions(first):
    for seed in range(first, first + 50):
        check(seed)


if __name__ == "__main__":
    torch.manual_seed(0)
    draw = random.Random(int(sys.argv[1]))
    World(draw, "cpu")
    print(*(action.__name__ for action, _ in actions_of(draw)))
