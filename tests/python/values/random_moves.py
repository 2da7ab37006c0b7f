# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random programs that move elements: views, writes, joins, indices."""

import random

import torch
import torch.nn.functional as F
from random_steps import clear, step, unfolded

# Views and what copies.


@step
def permute(draw):
    seed = draw.randrange(1000)
    return lambda x, run: x.permute(random.Random(seed).sample(range(x.dim()), x.dim()))


@step
def unit(draw):
    axis = draw.axis()
    return draw.one(
        lambda x, run: x.unsqueeze(axis(x)),
        lambda x, run: x.unsqueeze(-1),
        lambda x, run: x.unsqueeze(axis(x)).squeeze(),
    )


@step
def flatten(draw):
    return draw.one(
        lambda x, run: x.flatten(),
        lambda x, run: x.flatten(0, 1),
        lambda x, run: x.flatten(-2),
        lambda x, run: x.reshape(-1, x.shape[-1]),
        lambda x, run: x.reshape(x.shape[0], -1),
        lambda x, run: x.transpose(0, 1).reshape(x.shape[0], -1),
        lambda x, run: x.reshape(*x.shape[:-1], -1, 1),
    )


@step
def group(draw):
    parts = draw.one(2, 3)
    axis = draw.axis()

    def even(x):
        dim = axis(x)
        return dim, x.narrow(dim, 0, x.shape[dim] // parts * parts)

    return draw.one(
        lambda x, run: even(x)[1].unflatten(even(x)[0], (parts, -1)),
        lambda x, run: even(x)[1].unflatten(even(x)[0], (-1, parts)),
    )


@step
def cut(draw):
    axis, k = draw.axis(), draw.one(1, 2, 3)
    return draw.one(
        lambda x, run: x.narrow(axis(x), k, x.shape[axis(x)] - k),
        lambda x, run: x.narrow(axis(x), 0, x.shape[axis(x)] - k),
        lambda x, run: x.narrow(axis(x), x.shape[axis(x)] // 2, 1),
        lambda x, run: x.narrow(axis(x), 0, x.shape[axis(x)] // 2 + 1),
        lambda x, run: x[k:],
        lambda x, run: x[..., -k:],
        lambda x, run: x[: x.shape[0] - 1],
        lambda x, run: x[1:-1],
        lambda x, run: x[..., ::2],
        lambda x, run: x[k::3],
        lambda x, run: x[:100, ..., -100:],
    )


@step
def pick(draw):
    axis = draw.axis()
    return draw.one(
        lambda x, run: x.select(axis(x), 0),
        lambda x, run: x.select(axis(x), -1),
        lambda x, run: x.select(axis(x), x.shape[axis(x)] // 2),
        lambda x, run: x.diagonal(),
        lambda x, run: x.diagonal(1, -2, -1),
        lambda x, run: x.unfold(axis(x), 2, 1),
        lambda x, run: x.unfold(axis(x), 3, 2),
        lambda x, run: x.unbind(-1)[0],
    )


@step
def parts(draw):
    axis, k = draw.axis(), draw.one(2, 3)
    return draw.one(
        lambda x, run: torch.cat(x.chunk(k, axis(x))[::-1], axis(x)),
        lambda x, run: torch.cat(x.split(x.shape[axis(x)] - 1, axis(x)), axis(x)),
        lambda x, run: x.split([1, x.shape[-1] - 1], -1)[1],
        lambda x, run: x.tensor_split(2, axis(x))[0],
        lambda x, run: torch.stack(x.split(x.shape[0] // 2)[:2]),
    )


@step
def join(draw):
    axis = draw.axis()
    return draw.one(
        lambda x, run: torch.cat([x, x * 2], axis(x)),
        lambda x, run: torch.cat([x, x.flip(0), x[:1]]),
        lambda x, run: torch.stack([x, -x], axis(x)),
        lambda x, run: torch.cat([x.narrow(axis(x), 0, 1), x], axis(x)),
        lambda x, run: torch.cat([x, run.numbers(2, *x.shape[1:])]),
    )


@step
def move(draw):
    axis, k = draw.axis(), draw.one(1, 2, -1)
    return draw.one(
        lambda x, run: x.flip(axis(x)),
        lambda x, run: x.roll(k, axis(x)),
        lambda x, run: x.roll(x.shape[axis(x)] // 2, axis(x)),
        lambda x, run: x.roll(3),
        lambda x, run: x.rot90(1, (0, 1)),
    )


@step
def repeat(draw):
    axis = draw.axis()
    return draw.one(
        lambda x, run: x.unsqueeze(0).expand(2, *x.shape),
        lambda x, run: x.narrow(axis(x), 0, 1).expand(x.shape),
        lambda x, run: x.unsqueeze(1).expand(-1, x.shape[0], *x.shape[1:]),
        lambda x, run: x.repeat(2, *[1] * (x.dim() - 1)),
        lambda x, run: x.repeat_interleave(2, axis(x)),
        lambda x, run: x.sum(axis(x), keepdim=True).expand_as(x).contiguous(),
    )


@step
def pad(draw):
    k = draw.one(1, 2)
    mode = draw.one("reflect", "replicate", "circular")
    return draw.one(
        lambda x, run: F.pad(x, (k, 1)),
        lambda x, run: F.pad(x, (-1, k), value=0.5),
        lambda x, run: F.pad(x, (0, 0, k, -1)),
        lambda x, run: F.pad(x, (0, x.shape[-1])),
        lambda x, run: F.pad(unfolded(x, 3), (1, 2), mode=mode),
        lambda x, run: F.pad(unfolded(x, 4), (1, 0, 2, 1), mode=mode),
    )


@step
def triangle(draw):
    k = draw.one(-1, 0, 1)
    return draw.one(
        lambda x, run: x.tril(k),
        lambda x, run: x.triu(k),
        lambda x, run: x.tril(x.shape[-1] // 2),
        lambda x, run: torch.diag_embed(x),
    )


@step
def strided(draw):
    return draw.one(
        lambda x, run: x.contiguous().as_strided((x.shape[-1], 2), (1, 1)),
        lambda x, run: x.flatten().as_strided((x.numel() // 2,), (2,), 1),
        lambda x, run: x.transpose(-1, -2).contiguous().view(x.shape),
    )


# In place, on views.


@step
def write(draw):
    axis, k = draw.axis(), draw.one(1, 2)

    def on_copy(change):
        def run_it(x, run):
            y = x.clone()
            change(y, run)
            return y

        return run_it

    return on_copy(
        draw.one(
            lambda y, run: y[k:].mul_(2),
            lambda y, run: y[..., -1].zero_(),
            lambda y, run: y[..., ::2].add_(1),
            lambda y, run: y.select(axis(y), y.shape[axis(y)] // 2).fill_(3),
            lambda y, run: y.narrow(axis(y), 0, y.shape[axis(y)] - 1).neg_(),
            lambda y, run: y.transpose(0, -1).add_(run.numbers(y.shape[0])),
            lambda y, run: y.masked_fill_(clear(y) > 0, 0.25),
            lambda y, run: y.diagonal().fill_(-1),
            lambda y, run: y[1:].copy_(y[:-1].clone()),
            lambda y, run: y.view(-1)[1:].sub_(0.5),
            lambda y, run: y.flatten(0, 1)[: y.shape[0]].mul_(y.shape[0]),
            lambda y, run: y.chunk(2, axis(y))[0].cumsum_(axis(y)),
            lambda y, run: y.squeeze().div_(y.shape[-1]),
            lambda y, run: y.narrow(axis(y), 1, 1).copy_(y.narrow(axis(y), 0, 1)),
        )
    )


# Indices.


@step
def index(draw):
    axis, k = draw.axis(), draw.one(3, 5, 7)

    def positions(x, run, dim):
        return run.arange(x.shape[dim]) * k % x.shape[dim]

    return draw.one(
        lambda x, run: x[positions(x, run, 0)],
        lambda x, run: x[:, positions(x, run, 1)],
        lambda x, run: x[positions(x, run, 0), -1],
        lambda x, run: x[positions(x, run, 0)[:, None], positions(x, run, 1)],
        lambda x, run: x.index_select(axis(x), positions(x, run, axis(x))),
        lambda x, run: x.gather(-1, (clear(x) * 7).long().abs() % x.shape[-1]),
        lambda x, run: x.take_along_dim(
            clear(x).argsort(axis(x), stable=True), axis(x)
        ),
        lambda x, run: x.take(run.arange(x.numel()).flip(0)[: x.shape[0]]),
        lambda x, run: F.embedding(
            positions(x, run, 0), run.numbers(11, 4)[: x.shape[0]]
        ),
        lambda x, run: F.embedding(run.arange(x.shape[-1]), unfolded(x, 2).t()),
        lambda x, run: x[(x[..., 0] * 0).long()][0],
        lambda x, run: torch.where(clear(x) > 0, x, x.flip(-1)),
        lambda x, run: (
            F.one_hot(run.arange(x.shape[-1]) % 3, 3).to(x.dtype) + x[..., None]
        ),
        lambda x, run: torch.bucketize(clear(x), run.arange(x.shape[0], x.dtype)).to(
            x.dtype
        ),
        lambda x, run: torch.searchsorted(clear(x).sort(-1).values, clear(x)).to(
            x.dtype
        ),
    )


@step
def scatter(draw):
    axis, k = draw.axis(), draw.one(3, 5)
    kind = draw.one("sum", "amax", "mean", "prod")

    def positions(x, run, dim):
        return run.arange(x.shape[dim]) * k % x.shape[dim]

    def everywhere(x):
        return (clear(x) * 7).long().abs() % x.shape[-1]

    return draw.one(
        lambda x, run: torch.zeros_like(x).scatter_add(-1, everywhere(x), x),
        lambda x, run: x.scatter(-1, everywhere(x)[..., :1], 0.5),
        lambda x, run: x.scatter_reduce(-1, everywhere(x), x, kind),
        lambda x, run: x.index_add(axis(x), positions(x, run, axis(x)), x),
        lambda x, run: x.index_fill(axis(x), positions(x, run, axis(x))[:1], 0.5),
        lambda x, run: x.index_put((positions(x, run, 0),), x[0], accumulate=True),
        lambda x, run: x.slice_scatter(x[1:] * 2, 0, 1),
        lambda x, run: x.select_scatter(x.select(axis(x), -1), axis(x), 0),
        lambda x, run: x.diagonal_scatter(x.diagonal() * 3),
        lambda x, run: x.masked_fill(run.arange(x.shape[-1]) % 2 == 0, 0.125),
    )
