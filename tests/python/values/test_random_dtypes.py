# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs over dtypes give eager's values, dtypes, shapes and strides.

A program runs on lazy to its end. Then each op runs again in eager, on what lazy
had for its operands, so that one rounding is never another op's mistake.
`python tests/python/values/test_random_dtypes.py 7` names the ops of a program.
"""

import random
import sys
import warnings

import pytest
import torch
from random_mixed import DTYPES, MIXED
from sampling import sampled
from torch.utils import _pytree as pytree

REFUSED = (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError)
FAST = range(16)
LARGEST = 5000  # elements, so that eager takes no time
HIGHEST_RANK = 5
# Some axes are equal by chance, or equal a number of the program.
SIZES = [
    *[(2, 3, 4), (5, 3, 4), (7, 3, 4), (4, 3, 4), (1, 3, 4), (0, 3, 4)],
    *[(3, 9, 4), (6, 5, 4), (8, 33, 17), (3, 3, 3), (2, 1, 70)],
]


def leaves(draw, sizes, device):
    """Return tensors of several dtypes that meet by broadcasting."""
    made = []
    for i in range(5):
        shape = [n if draw.random() < 0.8 else 1 for n in sizes]
        shape = shape[draw.choice([0, 0, 0, 1, 1, 2, 3]) :]
        dtype = draw.choice(DTYPES)
        count = torch.Size(shape).numel()
        values = (torch.arange(count) * 7 + i) % 13 - 6
        if not dtype.is_floating_point or draw.random() < 0.5:
            signed = dtype not in (torch.uint8, torch.bool)
            values = values if signed else values.clamp(0)
        else:
            values = values / 4
        made.append(values.to(dtype).reshape(shape).to(device))
    return made


def steps_of(draw):
    return [
        (draw.choice([*MIXED]), draw.random()) for _ in range(draw.choice([6, 12, 20]))
    ]


def pick(chosen, count):
    """Return the draw of a step, and which tensors are its operands."""
    draw = random.Random(chosen)
    return draw, [int(draw.random() ** 0.5 * count) for _ in range(2)]


def perform(name, x, y, draw):
    """Return the results of an op, or the error that it raises."""
    try:
        result = MIXED[name](x, y, draw)
    except REFUSED as error:
        return error
    return [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]


def layout(t):
    strides = [s for n, s in zip(t.shape, t.stride(), strict=True) if n > 1]
    return t.dtype, tuple(t.shape), strides if t.numel() else [], t.storage_offset()


def real(t):
    t = t.resolve_conj().resolve_neg()
    return torch.view_as_real(t) if t.is_complex() else t


def difference(found, wanted, operands):
    """Return the largest one of two results, in roundings of the largest number."""
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return 0 if torch.equal(found, wanted) else float("inf")
    eps = torch.finfo(wanted.dtype).eps
    found, wanted = real(found).double(), real(wanted).double()
    same = (found == wanted) | (found.isnan() & wanted.isnan())
    if same.all():
        return 0
    scale = 0
    for t in (*operands, wanted):
        t = real(t).double()
        t = t[t.isfinite()].abs()
        scale = max(scale, t.max().item() if t.numel() else 0)
    apart = torch.where(same, 0, (found - wanted).abs()).nan_to_num(float("inf"))
    return (apart.max() / eps / max(scale, 1e-30)).item()


def is_kept(results):
    return sum(t.numel() for t in results) <= LARGEST and all(
        t.dim() <= HIGHEST_RANK for t in results
    )


def run(seed, sizes, reads=True):
    """Return lazy's tensors as eager's, and the steps that made them.

    Each step runs in eager too, which tells dtypes, layouts and what is refused.
    """
    draw = random.Random(seed)
    start, steps = draw.random(), steps_of(draw)
    pools = [leaves(random.Random(start), sizes, d) for d in ("cpu", "lazy")]
    done = []
    for name, chosen in steps:
        results = []
        for pool in pools:
            draw, operands = pick(chosen, len(pool))
            results.append(perform(name, *(pool[i] for i in operands), draw))
        eager, lazy = results
        if isinstance(eager, Exception) or isinstance(lazy, Exception):
            assert type(lazy) is type(eager), (name, lazy, eager)
            continue
        assert [layout(t) for t in lazy] == [layout(t) for t in eager], name
        if is_kept(eager):
            done.append((name, chosen, len(pools[0]), len(eager)))
            for pool, made in zip(pools, results, strict=True):
                pool += made
    lazy = pools[1] if reads else pools[1][-2:]
    del pools, results, pool
    return [t.cpu() for t in lazy], done


def check(seed, sizes):
    found, done = run(seed, sizes)
    for name, chosen, first, count in done:
        draw, operands = pick(chosen, first)
        given = [found[i] for i in operands]
        wanted = perform(name, *given, draw)
        assert not isinstance(wanted, Exception), (name, wanted)
        for a, b in zip(found[first : first + count], wanted, strict=True):
            assert difference(a, b, given) <= 4, (name, given, a, b)
    # Once more, and nobody reads what is between.
    last, _ = run(seed, sizes, reads=False)
    for a, b in zip(last, found[-2:], strict=True):
        assert difference(a, b, found) <= 16, (a, b)


def check_sizes(seed, count):
    """Run a program on so many sizes: some of its graphs then serve several."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sizes in random.Random(seed).sample(SIZES, count):
            try:
                check(seed, sizes)
            except Exception as error:
                raise AssertionError(f"program {seed} on {sizes}: {error}") from error


def test_random_dtypes():
    for seed in FAST:
        check_sizes(seed, 2)


@pytest.mark.parametrize("first", sampled(range(FAST.stop, 136, 20), one_in=2))
def test_more_random_dtypes(first):
    for seed in range(first, first + 20):
        check_sizes(seed, 5)


if __name__ == "__main__":
    draw = random.Random(int(sys.argv[1]))
    draw.random()
    print(*(name for name, _ in steps_of(draw)))
