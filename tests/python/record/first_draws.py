# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of test_seeds.py: random calls, each the first of its kind in the process.

It prints a line for each that does not repeat what a seed gave, with LTC_RNG=eager
for each that gives other numbers than on cpu, and for each op that draws and should
not."""

import contextlib
import itertools
import os
import warnings

import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
COMPLEX = [torch.complex64, torch.complex32]
INTEGERS = [torch.int64, torch.int16, torch.uint8]
BOOL = [torch.bool]

# Each of a size n, with the dtype and device as `new`, and a generator, given in `g`,
# or none.
OF_ANY_FLOAT = {
    "rand": lambda n, new, g: torch.rand(n, **g, **new),
    "randn": lambda n, new, g: torch.randn(n, **g, **new),
    "rand, out": lambda n, new, g: torch.rand(n, **g, out=zeros(n, new)),
    "randn, out": lambda n, new, g: torch.randn(n, **g, out=zeros(n, new)),
    "rand, resized": lambda n, new, g: torch.rand(n, **g, out=zeros(0, new)),
    "rand_like": lambda n, new, g: torch.rand_like(zeros(n, new)),
    "randn_like": lambda n, new, g: torch.randn_like(zeros(n, new)),
    "normal_": lambda n, new, g: zeros(n, new).normal_(**g),
    "uniform_": lambda n, new, g: zeros(n, new).uniform_(**g),
}
OF_FLOATS = {
    "normal": lambda n, new, g: torch.normal(0.0, 1.0, (n,), **g, **new),
    "normal, out": lambda n, new, g: torch.normal(
        0.0, 1.0, (n,), **g, out=zeros(n, new)
    ),
    "exponential_": lambda n, new, g: zeros(n, new).exponential_(**g),
    "cauchy_": lambda n, new, g: zeros(n, new).cauchy_(**g),
    "log_normal_": lambda n, new, g: zeros(n, new).log_normal_(**g),
    "bernoulli": lambda n, new, g: torch.bernoulli(half(n, new), **g),
    "bernoulli, p": lambda n, new, g: torch.bernoulli(half(n, new), 0.25, **g),
    "bernoulli, out": lambda n, new, g: torch.bernoulli(
        half(n, new), **g, out=zeros(0, new)
    ),
    "bernoulli_ of a tensor": lambda n, new, g: half(n, new).bernoulli_(
        half(n, new), **g
    ),
    "multinomial": lambda n, new, g: torch.multinomial(half(n, new), 2, **g),
    "multinomial, again": lambda n, new, g: torch.multinomial(
        half(n, new), 5, True, **g
    ),
    "multinomial, out": lambda n, new, g: torch.multinomial(
        half(n, new), 2, **g, out=zeros(0, {**new, "dtype": torch.int64})
    ),
    "normal of both": lambda n, new, g: torch.normal(half(n, new), half(n, new), **g),
    "normal of means": lambda n, new, g: torch.normal(half(n, new), 2.0, **g),
    "normal of deviations": lambda n, new, g: torch.normal(2.0, half(n, new), **g),
    "normal of means, out": lambda n, new, g: torch.normal(
        half(n, new), 2.0, **g, out=half(n, new)
    ),
    "poisson": lambda n, new, g: torch.poisson(half(n, new), **g),
    "dropout": lambda n, new, g: F.dropout(half(n, new)),
    "native_dropout": lambda n, new, g: torch.native_dropout(half(n, new), 0.5, True)[
        0
    ],
    "feature_dropout": lambda n, new, g: torch.feature_dropout(half(n, new), 0.5, True),
    "alpha_dropout": lambda n, new, g: F.alpha_dropout(half(n, new), 0.5, True),
    "rrelu": lambda n, new, g: F.rrelu(-half(n, new), training=True),
    "rrelu_": lambda n, new, g: F.rrelu(-half(n, new), training=True, inplace=True),
    "gamma": lambda n, new, g: torch._standard_gamma(half(n, new), **g),
    "binomial": lambda n, new, g: torch.binomial(4 * half(n, new), half(n, new), **g),
    "dirichlet": lambda n, new, g: torch._sample_dirichlet(half(n, new), **g),
    "gumbel": lambda n, new, g: F.gumbel_softmax(half(n, new)),
    "attention": lambda n, new, g: F.scaled_dot_product_attention(
        *[half(n, new)[None]] * 3, dropout_p=0.5
    ),
    "kaiming": lambda n, new, g: torch.nn.init.kaiming_uniform_(half(n, new)),
    "trunc": lambda n, new, g: torch.nn.init.trunc_normal_(half(n, new)),
    "fractional": lambda n, new, g: F.fractional_max_pool2d(
        torch.ones(1, 1, n, n, **new), 2, output_size=2
    ),
}
OF_NUMBERS = {
    "randint": lambda n, new, g: torch.randint(n, (n,), **g, **new),
    "randint, low": lambda n, new, g: torch.randint(1, n, (n,), **g, **new),
    "randint, out": lambda n, new, g: torch.randint(n, (n,), **g, out=zeros(n, new)),
    "randint, low, out": lambda n, new, g: torch.randint(
        1, n, (n,), **g, out=zeros(n, new)
    ),
    "randint_like": lambda n, new, g: torch.randint_like(zeros(n, new), n),
    "randint_like, low": lambda n, new, g: torch.randint_like(zeros(n, new), 1, n),
    "randperm": lambda n, new, g: torch.randperm(n, **g, **new),
    "randperm, out": lambda n, new, g: torch.randperm(n, **g, out=zeros(n, new)),
    "random_, to": lambda n, new, g: zeros(n, new).random_(n, **g),
    "random_, between": lambda n, new, g: zeros(n, new).random_(1, n, **g),
    "geometric_": lambda n, new, g: zeros(n, new).geometric_(0.5, **g),
}
OF_ALL = {
    "random_": lambda n, new, g: zeros(n, new).random_(**g),
    "bernoulli_": lambda n, new, g: zeros(n, new).bernoulli_(0.5, **g),
}
IN_SINGLE = {
    "LSTM": lambda n, new, g: torch.nn.LSTM(3, 3, 2, dropout=0.5, **new)(half(n, new))[
        0
    ],
    "svd_lowrank": lambda n, new, g: torch.svd_lowrank(half(n, new), 2)[1],
}
DRAWS = [
    (f"{name} of {dtype}", draw, dtype)
    for draws, dtypes in (
        (OF_ANY_FLOAT, FLOATS + COMPLEX),
        (OF_FLOATS, FLOATS),
        (OF_NUMBERS, FLOATS + INTEGERS),
        (OF_ALL, FLOATS + INTEGERS + BOOL),
        (IN_SINGLE, FLOATS[:1]),
    )
    for (name, draw), dtype in itertools.product(draws.items(), dtypes)
]


def zeros(n, new):
    return torch.zeros(n, **new)


def half(n, new):
    return torch.full((n, 3), 0.5, **new)


def outcome(draw, n, dtype, device, generator):
    """What is drawn, and what generators give after it."""
    torch.manual_seed(3)
    given = {"generator": torch.Generator().manual_seed(4)} if generator else {}
    try:
        value = draw(n, {"dtype": dtype, "device": device}, given).detach().cpu()
        value = repr(value.to(torch.complex64 if value.is_complex() else torch.float32))
    except (RuntimeError, TypeError, NotImplementedError) as error:
        value = str(error).splitlines()[0]
    return value, torch.rand(2).tolist(), given and torch.rand(2, **given)


def compare_draws(is_eager):
    n = 16
    calls = itertools.product(DRAWS, (False, True))
    for (name, draw, dtype), generator in calls:
        if generator and dtype not in (torch.float32, torch.int64):
            continue
        n += 1  # so that the first call is the first of its kind
        call = draw, n, dtype
        first, second = (str(outcome(*call, "lazy", generator)) for _ in range(2))
        if first != second:
            yield f"{name}: {first}\n    then {second}"
        if is_eager and first != (eager := str(outcome(*call, "cpu", generator))):
            yield f"{name}: {first}\n    eager {eager}"


def moves_generator(op, sample, device):
    """Whether a call, be it refused, draws from the process's generator."""
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with contextlib.suppress(Exception):
        sample = sample.transform(
            lambda x: x.to(device) if isinstance(x, torch.Tensor) else x
        )
        op(sample.input, *sample.args, **sample.kwargs)
    return not torch.equal(torch.get_rng_state(), before)


def compare_ops():
    """Only what draws for eager draws here, at its first call."""
    for op in op_db:
        for dtype in {torch.float32, torch.float16, torch.int64} & op.dtypes:
            sample = next(iter(op.sample_inputs("cpu", dtype)))
            eager, lazy = (moves_generator(op, sample, d) for d in ("cpu", "lazy"))
            if lazy and not eager:
                yield f"{op.full_name} of {dtype} draws"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_printoptions(precision=3)
    is_eager = os.environ["LTC_RNG"] == "eager"
    wrong = [*compare_draws(is_eager), *([] if is_eager else compare_ops())]
    print(*wrong, f"{len(DRAWS)} draws", sep="\n")
