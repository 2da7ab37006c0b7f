# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of views and writes through them show what eager shows.

Each step takes one of the tensors so far. What eager refuses is refused, and
changes nothing. With gradients, all tensors lead back to one leaf.
`python tests/python/values/test_random_views.py 7` names the steps of a program.
"""

import itertools
import random
import sys

import pytest
import torch
import torch_ltc
from sampling import sampled

FAST = range(40)
SHAPES = [(4,), (2, 3), (3, 4), (2, 3, 4), (2, 3, 2, 2), (1, 3), (0, 3), (6, 1, 2), ()]


def axis(x, draw):
    return draw.randrange(max(1, x.dim()))


def numbers(device, shape, start=0):
    count = torch.Size(shape).numel()
    made = (torch.arange(count) * 7 + start) % 11 - 5.0
    return made.reshape(shape).double().to(device)


def grouped(x, draw):
    return draw.choice([(-1,), (2, -1), (-1, 3), (2, 2, -1), (1, -1)])


def shown_by_strides(x, draw):
    sizes = [draw.randrange(1, 4) for _ in range(draw.randrange(1, 4))]
    return x.as_strided(sizes, [draw.randrange(4) for _ in sizes], draw.randrange(3))


def same_by_strides(x, draw):
    return torch.ops.aten._reshape_alias(x, x.shape, x.stride())


VIEWS = {
    "permute": lambda x, d: x.permute(d.sample(range(x.dim()), x.dim())),
    "transpose": lambda x, d: x.transpose(axis(x, d), axis(x, d)),
    "unsqueeze": lambda x, d: x.unsqueeze(d.randrange(x.dim() + 1)),
    "squeeze": lambda x, d: x.squeeze(),
    "expand": lambda x, d: x.expand(d.randrange(1, 4), *x.shape),
    "as_strided": shown_by_strides,
    "unfold": lambda x, d: x.unfold(axis(x, d), d.choice([1, 2]), d.choice([1, 2])),
    "diagonal": lambda x, d: x.diagonal(d.choice([0, 1, -1])),
    "narrow": lambda x, d: x.narrow(axis(x, d), 1, x.shape[-1] - 1),
    "slice": lambda x, d: x[:: d.choice([1, 2]), ..., d.choice([0, 1, -2]) :],
    "select": lambda x, d: x.select(axis(x, d), d.choice([0, -1])),
    "view": lambda x, d: x.view(grouped(x, d)),
    "reshape": lambda x, d: x.reshape(grouped(x, d)),
    "flatten": lambda x, d: x.flatten(-2),
    "contiguous": lambda x, d: x.contiguous(),
    "channels_last": lambda x, d: x.contiguous(memory_format=torch.channels_last),
    "split": lambda x, d: x.split(2, axis(x, d))[-1],
    "detach": lambda x, d: x.detach(),
    "_reshape_alias": same_by_strides,
}
COPIES = {
    "add": lambda x, d: x + 1,
    "sum": lambda x, d: x.sum(axis(x, d), keepdim=True),
    "cat": lambda x, d: torch.cat([x, x.flip(0)], axis(x, d)),
    "clone": lambda x, d: x.clone(),
}
WRITES = {
    "add_": lambda x, d: x.add_(numbers(x.device, x.shape[-1:])),
    "mul_": lambda x, d: x.mul_(-2),
    "copy_": lambda x, d: x.copy_(numbers(x.device, x.shape, 3)),
    "fill_": lambda x, d: x.fill_(3),
    "first": lambda x, d: x[..., :1].zero_(),
    "last": lambda x, d: x[-1].neg_(),
    "mask": lambda x, d: x.masked_fill_(x > 0, 2),
    "index_put_": lambda x, d: x.index_put_(
        (torch.zeros(1, dtype=torch.int64, device=x.device),), x.detach()[:1] + 1
    ),
    "index_fill_": lambda x, d: x.index_fill_(
        axis(x, d), torch.zeros(1, dtype=torch.int64, device=x.device), 6
    ),
    "scatter_": lambda x, d: x.scatter_(
        axis(x, d), torch.zeros_like(x, dtype=torch.int64), 7
    ),
    "cumsum_": lambda x, d: x.cumsum_(axis(x, d)),
    "out": lambda x, d: torch.add(x.clone(), 1, out=x.detach()),
}
SHOWN_IN_PLACE = {
    "t_": lambda x, d: x.t_(),
    "transpose_": lambda x, d: x.transpose_(0, d.choice([-1, 1, 5])),
    "squeeze_": lambda x, d: x.squeeze_(d.choice([0, 4])),
    "unsqueeze_": lambda x, d: x.unsqueeze_(d.choice([0, 6])),
}
STEPS = VIEWS | COPIES | WRITES | SHOWN_IN_PLACE
CHANGES = WRITES | SHOWN_IN_PLACE


def draw_steps(seed):
    draw = random.Random(seed)
    kinds = [*[VIEWS] * 6, *[WRITES] * 4, COPIES, SHOWN_IN_PLACE]
    names = [draw.choice([*draw.choice(kinds)]) for _ in range(draw.choice([6, 12]))]
    return draw.choice(SHAPES), [(name, draw.random()) for name in names]


def is_disjoint(x):
    """Return whether no two elements lie in one place."""
    places = [range(0, n * max(s, 1), s) if s else [0] * n for n, s in parts(x)]
    sums = [sum(place) for place in itertools.product(*places)]
    return len(set(sums)) == len(sums)


def parts(x):
    return list(zip(x.shape, x.stride(), strict=True))


def shown(x):
    """Return what is said of a tensor, but for where nothing or one of it lies."""
    strides = [s for n, s in parts(x) if n > 1 and x.numel()]
    offset = x.storage_offset() if x.numel() else 0
    return tuple(x.shape), strides, offset, x.is_contiguous(), x._version


def run(seed, device, with_gradients=False):
    """Return what each step said, then all tensors and their gradients."""
    shape, steps = draw_steps(seed)
    leaf = numbers(device, shape).requires_grad_(with_gradients)
    tensors, said = [leaf * 1], []
    for name, chosen in steps:
        # Eager's gradient of what reaches beyond a view depends on writes after.
        if name == "as_strided" and with_gradients:
            continue
        draw = random.Random(chosen)
        x = tensors[int(draw.random() ** 0.5 * len(tensors))]
        if name in WRITES and not is_disjoint(x):
            continue
        try:
            result = STEPS[name](x, draw)
            if name not in CHANGES:
                tensors.append(result)
            said.append((name, shown(result if name not in CHANGES else x)))
        except (RuntimeError, IndexError) as error:
            said.append((name, type(error).__name__))
        said.append([x.requires_grad for x in tensors])
        if draw.random() < 0.1 and x.numel():
            said.append(x.detach().flatten()[-1].item())
        if draw.random() < 0.1 and device == "lazy":
            torch.lazy.mark_step()
    found = [x.detach().cpu() for x in tensors]
    for x in tensors:
        try:
            (gradient,) = torch.autograd.grad(x.sum(), leaf, retain_graph=True)
            found.append(gradient.cpu())
        except RuntimeError:  # without gradient, or a part of split() after a write
            said.append("no gradient")
    return said, found


def check(seed, **options):
    (said, found), (told, wanted) = (run(seed, d, **options) for d in ("lazy", "cpu"))
    assert said == told, (seed, draw_steps(seed))
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a, b), (seed, draw_steps(seed))


def test_random_views():
    for seed in FAST:
        check(seed)


def test_gradients_through_random_views():
    for seed in range(40, 80):
        check(seed, with_gradients=True)


@pytest.mark.parametrize("with_gradients", [False, True])
@pytest.mark.parametrize("first", sampled(range(FAST.stop, 1000, 40), one_in=2))
def test_more_random_views(first, with_gradients):
    with torch_ltc.settings.scope(static_after=2):
        for seed in range(first, first + 40):
            check(seed, with_gradients=with_gradients)


if __name__ == "__main__":
    print(draw_steps(int(sys.argv[1])))
