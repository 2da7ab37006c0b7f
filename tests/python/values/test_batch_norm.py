# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm: of no samples, and of statistics that others show, as eager."""

import itertools

import pytest
import torch
import torch.nn.functional as F

SHAPES = ((0, 3), (0, 3, 4), (2, 3, 0), (0, 3, 4, 4))
aten = torch.ops.aten
FORMS = {
    "native": lambda x, w, b, stats, training: aten.native_batch_norm(
        x, w, b, *(stats or (None, None)), training, 0.1, 1e-5
    ),
    "legit": lambda x, w, b, stats, training: (
        aten._native_batch_norm_legit(x, w, b, *stats, training, 0.1, 1e-5)
        if stats
        else aten._native_batch_norm_legit(x, w, b, training, 0.1, 1e-5)
    ),
    "functional": lambda x, w, b, stats, training: (
        stats
        and aten._native_batch_norm_legit_functional(
            x, w, b, *stats, training, 0.1, 1e-5
        )
    ),
    "no training": lambda x, w, b, stats, training: (
        stats and aten._native_batch_norm_legit_no_training(x, w, b, *stats, 0.1, 1e-5)
    ),
    "no update": lambda x, w, b, stats, training: aten._batch_norm_no_update(
        x, w, b, *(stats or (None, None)), 0.1, 1e-5
    ),
    "update": lambda x, w, b, stats, training: (
        stats and aten._batch_norm_with_update(x, w, b, *stats, 0.1, 1e-5)
    ),
}


def described(tensor):
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.tolist()


def told(program, *arguments):
    """Return what the program's tensors are, or what it raises."""
    try:
        return [t if t is None else described(t) for t in program(*arguments)]
    except (RuntimeError, IndexError) as error:
        return type(error), str(error).splitlines()[0]


def arguments(device, shape, has_stats, affine):
    def channels(value):
        return torch.full((3,), value, device=device)

    x = torch.zeros(shape, device=device, requires_grad=True)
    stats = (channels(0.5), channels(2.0)) if has_stats else None
    parameters = (channels(3.0), channels(4.0)) if affine else (None, None)
    return x, *(p if p is None else p.requires_grad_() for p in parameters), stats


@pytest.mark.parametrize("form", FORMS)
def test_of_no_samples(form):
    def run(device, training, *how):
        x, weight, bias, stats = arguments(device, *how)
        with torch.no_grad():
            results = FORMS[form](x, weight, bias, stats, training) or ()
            y, *saved = results or (x,)
            # What is read is the op's: a tensor without elements needs no op.
            return y, (y * 2).sum(), *(s.sum() for s in saved), *(stats or ())

    for how in itertools.product((False, True), SHAPES, *[(False, True)] * 2):
        wanted = told(run, "cpu", *how)
        assert told(run, "lazy", *how) == wanted, how


@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_no_samples(training):
    def run(device, *how):
        x, weight, bias, stats = arguments(device, *how)
        y = F.batch_norm(x, *(stats or (None, None)), weight, bias, training)
        wanted = [t for t in (x, weight, bias) if t is not None]
        return y, *torch.autograd.grad(y.sum(), wanted), *(stats or ())

    for how in itertools.product(SHAPES, *[(False, True)] * 2):
        wanted = told(run, "cpu", *how)
        assert told(run, "lazy", *how) == wanted, how


def test_module_trains_on_no_samples():
    def run(device, training):
        norm = torch.nn.BatchNorm2d(3).to(device).train(training)
        x = torch.zeros(0, 3, 2, 2, device=device, requires_grad=True)
        y = norm(x)
        y.sum().backward()
        return y, x.grad, norm.weight.grad, norm.bias.grad, *norm.buffers()

    for training in (True, False):
        wanted = told(run, "cpu", training)
        assert told(run, "lazy", training) == wanted


def test_what_ends_eager_is_refused():
    """Eager divides an integer by zero, and reads statistics that are not there."""
    none, x = torch.zeros(0, 3, device="lazy"), torch.ones(2, 3, device="lazy")
    saved, mask = torch.zeros(3, device="lazy"), [True] * 3
    with pytest.raises(RuntimeError, match="must have at least one element"):
        aten.native_batch_norm_backward(
            none, none, None, None, None, saved, saved, True, 1e-5, mask
        )
    with pytest.raises(RuntimeError, match="running_mean must be defined"):
        aten._native_batch_norm_legit(x, None, None, False, 0.1, 1e-5)


def test_statistics_that_other_tensors_show():
    def program(device):
        statistics = torch.ones(2, 4).to(device)
        x = torch.arange(24.0).view(6, 4).to(device)
        mean, found = statistics[0], []
        for _ in range(3):
            F.batch_norm(x, statistics[0], statistics[1], training=True)
            found += [statistics.tolist(), mean.tolist()]
        norm = torch.nn.BatchNorm1d(4).to(device)
        part = norm.running_mean[:2]
        for _ in range(3):
            found.append(part.tolist())
            norm(x)
        return [*found, part.tolist(), norm.running_mean.tolist()]

    for lazy, eager in zip(program("lazy"), program("cpu"), strict=True):
        torch.testing.assert_close(torch.tensor(lazy), torch.tensor(eager))
