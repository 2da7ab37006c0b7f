# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of layers that were met before, next to calls that differ a little."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from comparing import from_one as numbers
from repeated import RUNS, modes


def norms(device):
    x = numbers(device, 2, 4, 3) / 5
    w, b = numbers(device, 3), -numbers(device, 3)
    yield from (F.layer_norm(x, (3,), *each) for each in [(), (w,), (None, b), (w, b)])
    w, b = numbers(device, 4), -numbers(device, 4)
    yield from (F.group_norm(x, n, *each) for n in (1, 2) for each in [(), (w, b)])
    stats = numbers(device, 4), numbers(device, 4)
    yield F.batch_norm(x, *stats, w)
    yield F.batch_norm(x, *stats, None, b)
    yield F.batch_norm(x, None, None, w, training=True)


def gradients_of_norms(device):
    for asked in itertools.product([False, True], repeat=3):
        x = (numbers(device, 2, 4) / 5).requires_grad_(asked[0])
        w = (numbers(device, 4) / 8).requires_grad_(asked[1])
        b = (numbers(device, 4) / 8).requires_grad_(asked[2])
        for out in (F.layer_norm(x, (4,), w, b), F.group_norm(x, 2, w, b)):
            if any(asked):
                (out * out).sum().backward()
        yield from (t.grad for t in (x, w, b) if t.requires_grad)


def pools(device):
    x = numbers(device, 1, 2, 5, 5)
    for pool in F.avg_pool2d, F.max_pool2d:
        yield from (pool(x, 2), pool(x, (1, 2)), pool(x, 2, 1), pool(x, 2, 2, 1))
        yield pool(x, 2, ceil_mode=True)
        yield pool(x.to(memory_format=torch.channels_last), 2)
    yield F.avg_pool2d(x, 2, 2, 1, count_include_pad=False)
    yield F.avg_pool2d(x, 2, divisor_override=3)
    yield from F.max_pool2d(x, 2, return_indices=True)
    yield F.max_pool2d(x, 2, dilation=2)


def gradients_of_pools(device):
    for pool in F.avg_pool2d, F.max_pool2d:
        for arguments in (2,), (2, 1), (2, 2, 1):
            x = numbers(device, 1, 2, 5, 5).requires_grad_()
            (pool(x, *arguments) ** 2).sum().backward()
            yield x.grad


def joins(device):
    x, y = numbers(device, 2, 2), -numbers(device, 2, 2).t()
    for all_ in [x], [x, y], [y, x], [x, x, y], [x, y.double()], [x, x[:0]]:
        yield from (torch.cat(all_), torch.cat(all_, 1)[:1] if all_[-1].numel() else x)
    yield from (torch.stack([x, y]), torch.stack([x, y], 2), torch.stack([y]))
    yield torch.cat([torch.view_as_complex(x).conj(), torch.view_as_complex(x)])


def losses(device):
    x, classes = -numbers(device, 3, 4) / 5, torch.tensor([0, 3, 1]).to(device)
    w = numbers(device, 4)
    for how in "none", "mean", "sum":
        for given in {}, {"weight": w}, {"ignore_index": 3}:
            z = x.clone().requires_grad_()
            loss = F.nll_loss(z, classes, reduction=how, **given)
            loss.sum().backward()
            yield from (loss.detach(), z.grad)


def compositions(device):
    x, y = numbers(device, 3, 4) / 5, -numbers(device, 2, 3, 4) / 9
    w, b = numbers(device, 2, 4) / 7, numbers(device, 2)
    yield from (F.linear(each, *rest) for each in (x, y) for rest in [(w,), (w, b)])
    yield from (torch.matmul(y, x.t()), torch.matmul(x, w[0]), torch.outer(b, b))
    yield from (torch.einsum("ij,kj->ik", x, w), torch.einsum("bij->bi", y))
    yield from (x.softmax(0), x.softmax(0, torch.double), F.dropout(x, 0.5, False))
    yield from (F.pad(x, (1, 2)), F.pad(y, (1, 1), "reflect"), x.tile(2), x.tile(2, 2))
    yield from (F.rms_norm(x, (4,)), F.rms_norm(x, (4,), w[1], 0.5))
    q = y[None]
    attend = F.scaled_dot_product_attention
    yield from (attend(q, q, q), attend(q, q, q, is_causal=True))
    yield attend(q, q, q, numbers(device, 3, 3), scale=2.0)
    filters = numbers(device, 3, 2, 2, 2) / 9
    yield from (F.conv2d(q, filters), F.conv2d(q, filters, b.new_ones(3), 2, 1))
    yield F.conv2d(q, filters, dilation=(2, 1))
    yield F.conv1d(y, numbers(device, 1, 3, 2))
    classes = torch.tensor([0, 3, 1]).to(device)
    for given in {}, {"weight": w[0]}, {"label_smoothing": 0.5}, {"ignore_index": 3}:
        yield F.cross_entropy(x, classes, **given)


def arguments_of_a_kind(device):
    x = numbers(device, 3, 4) / 5 - 1
    for limits in (0, 1), (0.5, None), (None, 0.5), (-0.5, 0.5):
        yield from (x.clamp(*limits), x.clone().clamp_(*limits))
    yield from (F.elu(x), F.elu(x, 0.5), F.elu_(x.clone(), 2), F.celu(x), F.selu(x))
    yield from (F.gelu(x), F.gelu(x, approximate="tanh"), torch.cumsum(x, 0))
    yield from (x.argmax(), x.argmax(1), x.argmax(1, True), x.argmin(0), x.cumsum(1))
    yield from (x.cumsum(1, dtype=torch.double), x.cumprod(1), x.var(), x.var(0))
    yield from (x.var(1, correction=0, keepdim=True), x.std(0))
    yield from (x.norm(), x.norm(1, 0), x.norm(2, 0, True), torch.linalg.norm(x, 3, 1))
    index = torch.tensor([2, 0]).to(device)
    yield from (x.gather(0, index[None]), x.gather(1, index[:, None]))
    yield from (x.index_select(0, index), x.index_select(1, index), x.repeat(2, 1))
    yield from (x.repeat(1, 2), x.repeat(2, 1, 1), x.flip(0), x.flip(1), x.flip(0, 1))
    yield from (x.roll(1, 0), x.roll(1, 1), x.roll((1, 2), (0, 1)), x.roll(2))
    yield from (F.pad(x, (1, 2)), F.pad(x, (1, 2), value=3), F.pad(x, (0, 0, 1, 1)))
    for f in torch.max, torch.min, torch.sort, torch.cummax, torch.median:
        yield from (*f(x, 0), *f(x, 1))
    yield from (*x.max(1, True), *x.sort(0, True), *x.sort(dim=1, stable=True))
    yield from (*x.topk(2), *x.topk(3), *x.topk(2, 0), *x.topk(2, 1, False))
    y, filters = numbers(device, 1, 2, 3, 4), numbers(device, 2, 2, 2, 2) / 9
    turned = F.conv_transpose2d
    yield from (turned(y, filters), turned(y, filters, stride=2))
    yield from (F.conv2d(y, filters), F.conv2d(y, filters[:, :1], groups=2))


def activations(device):
    x = numbers(device, 2, 3) / 3 - 1
    for f in F.silu, F.mish, F.gelu, F.leaky_relu, F.softplus, torch.tril, torch.triu:
        z = x.clone().requires_grad_()
        f(z).sum().backward()
        yield z.grad
    yield from (x.tril(n) for n in (-1, 0, 1))


@pytest.mark.parametrize(
    "calls",
    [
        norms,
        gradients_of_norms,
        pools,
        gradients_of_pools,
        joins,
        losses,
        compositions,
        arguments_of_a_kind,
        activations,
    ],
    ids=lambda calls: calls.__name__,
)
@modes
def test_calls_that_differ_in_one_argument(calls, mode):
    gradients = calls in (gradients_of_norms, gradients_of_pools, losses, activations)
    with torch.enable_grad() if gradients else mode():
        eager = [(t, t.stride()) for t in calls("cpu")]
        for _ in range(RUNS):
            lazy = list(calls("lazy"))
            torch.testing.assert_close([t.cpu() for t in lazy], [t for t, _ in eager])
            assert [t.stride() for t in lazy] == [stride for _, stride in eager]


@pytest.mark.parametrize(
    "show",
    [lambda mean: mean[1:], torch.clone, torch.detach],
    ids=["view", "copy", "same"],
)
def test_batch_norm_updates_its_statistics(show):
    def program(device):
        mean, var = torch.zeros(3, device=device), torch.ones(3, device=device)
        shown, kept = show(mean), mean.clone()
        for step in range(4):
            x = numbers(device, 4, 3) * (step + 1)
            out = F.batch_norm(x, mean, var, training=step != 2, momentum=0.5)
        return out, mean, var, kept, shown, mean._version

    *eager, version = program("cpu")
    for _ in range(RUNS):
        *lazy, counted = program("lazy")
        torch.testing.assert_close([t.cpu() for t in lazy], eager)
        assert counted == version


@pytest.mark.parametrize("name", ["silu_backward", "mish_backward"])
def test_what_the_cpu_has_a_kernel_for_is_one_op(name, counts):
    x = numbers("lazy", 2, 3)
    recorded = counts["record.ops"]
    getattr(torch.ops.aten, name)(x, x)
    assert counts["record.ops"] == recorded + 1
