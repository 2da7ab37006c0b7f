# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of random programs over dtypes: each takes two tensors and a draw.

What a draw decides follows dtypes and ranks, not sizes: at other sizes, a program
has the same structure.
"""

import math

import torch
import torch.nn.functional as F

DTYPES = (
    torch.float32,
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
)
NUMBERS = (0, 1, 2, -1, 3, 7, -5, 0.5, -1.5, 2.0, 0.1, True, False)


def number(d):
    return d.choice(NUMBERS)


def axis(x, d):
    return d.randrange(max(1, x.dim()))


def axes(x, d):
    return d.sample(range(x.dim()), d.randrange(x.dim() + 1))


def other(y, d):
    """Return a second operand: mostly the tensor, now and then a number."""
    return number(d) if d.random() < 0.3 else y


def divisor(y, d):
    """Return a second operand that is not zero, nor -1 under the lowest integer."""
    if y.dtype == torch.bool:
        return y | True
    if y.is_floating_point() or y.is_complex():
        return y
    made = (y & 7) | 1
    return made * -3 if d.random() < 0.5 else made


def small(y):
    """Return a distance for a shift."""
    return y & 7 if not y.is_floating_point() and y.dtype != torch.bool else y


def places(x, dim, d):
    count = x.shape[dim] if x.dim() else 1
    return torch.arange(count, device=x.device) * d.choice([1, 3, 5]) % max(count, 1)


def near(x, d):
    return x.clamp(-20, 20) if not x.is_complex() and x.dtype != torch.bool else x


UNARY = {
    **{
        name: getattr(torch, name)
        for name in [
            "neg",
            "abs",
            "sign",
            "sgn",
            "square",
            "floor",
            "ceil",
            "round",
            "trunc",
            "frac",
            "exp",
            "log1p",
            "sqrt",
            "rsqrt",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "sigmoid",
            "asinh",
            "atanh",
            "erf",
            "erfc",
            "expm1",
            "exp2",
            "log",
            "log2",
            "log10",
            "reciprocal",
            "logical_not",
            "bitwise_not",
            "isnan",
            "isinf",
            "isfinite",
            "signbit",
            "positive",
            "sinc",
            "nan_to_num",
            "real",
            "angle",
            "conj_physical",
            "deg2rad",
            "isposinf",
            "isneginf",
            "isreal",
            "lgamma",
            "digamma",
            "relu",
            "selu",
        ]
    },
    "gelu": lambda x: F.gelu(x.clamp(-9, 9)),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "softplus": F.softplus,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "mish": F.mish,
    "elu": F.elu,
    "relu6": F.relu6,
    "logsigmoid": F.logsigmoid,
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "long": lambda x: x.long(),
    "bool": lambda x: x.bool(),
    "invert": lambda x: ~x,
    "t": lambda x: x.mT if x.dim() > 1 else x,
    "clone": lambda x: x.clone(),
    "flatten": lambda x: x.flatten(),
    "zeros_like": torch.zeros_like,
    "nonnegative sqrt": lambda x: x.abs().sqrt(),
}
BINARY = {
    name: getattr(torch, name)
    for name in [
        "add",
        "sub",
        "mul",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "atan2",
        "hypot",
        "copysign",
        "logaddexp",
        "logaddexp2",
        "gcd",
        "xlogy",
        "heaviside",
        "float_power",
        "isclose",
        "true_divide",
        "nextafter",
        "rsub",
    ]
}
DIVIDING = {
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "div": torch.div,
    "div floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
}
REDUCING = {
    name: getattr(torch, name)
    for name in [
        "sum",
        "mean",
        "prod",
        "amax",
        "amin",
        "argmax",
        "argmin",
        "any",
        "all",
        "var",
        "std",
        "norm",
        "nansum",
        "nanmean",
        "count_nonzero",
        "logsumexp",
        "max",
        "min",
        "median",
        "nanmedian",
        "aminmax",
        "cummax",
        "cummin",
        "cumsum",
        "cumprod",
        "logcumsumexp",
        "softmax",
        "log_softmax",
        "sort",
        "argsort",
        "mode",
        "var_mean",
        "std_mean",
    ]
}
SCANS = set(
    [
        "cummax",
        "cummin",
        "cumsum",
        "cumprod",
        "logcumsumexp",
        "softmax",
        "log_softmax",
        "sort",
        "argsort",
    ]
)
MANY = {"sum", "mean", "amax", "amin", "var", "std", "nansum", "logsumexp", "norm"}


def reduced(name):
    def run(x, y, d):
        op = REDUCING[name]
        options = {}
        takes_dtype = name in ("sum", "mean", "prod", "cumsum", "cumprod", "nansum")
        if takes_dtype and d.random() < 0.25:
            options["dtype"] = d.choice(DTYPES)
        if name in ("argsort", "sort"):
            options = {"stable": True, "descending": d.random() < 0.5}
        if name == "softmax" and not x.is_floating_point():
            options["dtype"] = torch.float32
        if name in SCANS:
            return op(x, dim=axis(x, d), **options)
        if name == "aminmax":
            return op(x, dim=axis(x, d))
        if name == "count_nonzero":
            return op(x, dim=axis(x, d))
        if d.random() < 0.3 and name not in ("mode",):
            return op(x, **options) if name != "logsumexp" else op(x, axes(x, d))
        keep = d.random() < 0.5
        if name in MANY and d.random() < 0.3:
            return op(x, dim=axes(x, d), keepdim=keep, **options)
        return op(x, dim=axis(x, d), keepdim=keep, **options)

    return run


def scaled(op):
    return lambda x, y, d: op(x, other(y, d), alpha=d.choice([1, 2, -3, 0.5, True]))


def swapped(op):
    return lambda x, y, d: op(number(d), x)


def alone(op):
    return lambda x, y, d: op(x)


def paired(op):
    return lambda x, y, d: op(x, other(y, d))


def divided(op):
    return lambda x, y, d: op(x, divisor(y, d))


def divided_by_number(op):
    return lambda x, y, d: op(x, d.choice([1, 2, -3, 7, 0.5, -1.5]))


MIXED = {
    **{n: alone(op) for n, op in UNARY.items()},
    **{n: paired(op) for n, op in BINARY.items()},
    **{n: divided(op) for n, op in DIVIDING.items()},
    **{n + " number": divided_by_number(op) for n, op in DIVIDING.items()},
    **{n: reduced(n) for n in REDUCING},
    "add alpha": scaled(torch.add),
    "sub alpha": scaled(torch.sub),
    "number +": lambda x, y, d: number(d) + x,
    "number -": lambda x, y, d: number(d) - x,
    "number *": lambda x, y, d: number(d) * x,
    "number /": lambda x, y, d: number(d) / divisor(x, d),
    "number **": lambda x, y, d: d.choice([2, 0.5, 3, 1, -2.5]) ** small(x),
    "number &": lambda x, y, d: d.choice([1, 3, True, -2]) & x,
    "number <": lambda x, y, d: number(d) < x,
    "number //": lambda x, y, d: number(d) // divisor(x, d),
    "number %": lambda x, y, d: number(d) % divisor(x, d),
    "pow": lambda x, y, d: torch.pow(near(x, d), small(y)),
    "pow number": lambda x, y, d: torch.pow(
        near(x, d), d.choice([0, 1, 2, 3, 0.5, -1, 2.5, -0.5, 4])
    ),
    "<<": lambda x, y, d: x << small(y),
    ">>": lambda x, y, d: x >> small(y),
    "<< number": lambda x, y, d: x << d.choice([0, 1, 3, 8]),
    ">> number": lambda x, y, d: x >> d.choice([0, 1, 3, 8]),
    "where": lambda x, y, d: (
        torch.where(x > 0, x, other(y, d))
        if not x.is_complex()
        else torch.where(x.real > 0, x, other(y, d))
    ),
    "where number": lambda x, y, d: torch.where(y.bool(), number(d), x),
    "where numbers": lambda x, y, d: torch.where(y.bool(), number(d), number(d)),
    "clamp": lambda x, y, d: x.clamp(
        *d.choice([(0, 3), (-1.5, None), (None, 2), (2, -1), (0, 2.5)])
    ),
    "clamp tensor": lambda x, y, d: (
        x.clamp(min=y) if d.random() < 0.5 else x.clamp(max=y)
    ),
    "lerp": lambda x, y, d: torch.lerp(x, y, d.choice([0.25, 0.75, 2])),
    "lerp tensor": lambda x, y, d: torch.lerp(x, y, x),
    "addcmul": lambda x, y, d: torch.addcmul(x, x, y, value=d.choice([1, 2, 0.5])),
    "addcdiv": lambda x, y, d: torch.addcdiv(x, x, y, value=d.choice([1, 2, 0.5])),
    "cast": lambda x, y, d: x.to(d.choice(DTYPES)),
    "cast again": lambda x, y, d: x.to(d.choice(DTYPES)).to(d.choice(DTYPES)),
    "type_as": lambda x, y, d: x.type_as(y),
    "masked_fill": lambda x, y, d: x.masked_fill(y.bool(), number(d)),
    "cat": lambda x, y, d: torch.cat([x, y], axis(x, d)),
    "cat self": lambda x, y, d: torch.cat([x, x.to(d.choice(DTYPES))], axis(x, d)),
    "stack": lambda x, y, d: torch.stack([x, x.to(y.dtype)], axis(x, d)),
    "hstack": lambda x, y, d: torch.hstack([x, y]),
    "broadcast": lambda x, y, d: torch.broadcast_tensors(x, y),
    "split": lambda x, y, d: x.split(2, axis(x, d)),
    "chunk": lambda x, y, d: x.chunk(2, axis(x, d)),
    "unbind": lambda x, y, d: x.unbind(axis(x, d))[-2:],
    "select": lambda x, y, d: x.select(axis(x, d), -1),
    "narrow": lambda x, y, d: x.narrow(axis(x, d), 1, 1),
    "slice": lambda x, y, d: x[..., 1:],
    "steps": lambda x, y, d: x[..., ::2],
    "rows": lambda x, y, d: x[:-1],
    "permute": lambda x, y, d: x.permute(d.sample(range(x.dim()), x.dim())),
    "transpose": lambda x, y, d: x.transpose(axis(x, d), axis(x, d)),
    "unsqueeze": lambda x, y, d: x.unsqueeze(d.randrange(x.dim() + 1)),
    "squeeze": lambda x, y, d: x.squeeze(),
    "flip": lambda x, y, d: x.flip(axes(x, d)),
    "roll": lambda x, y, d: x.roll(d.choice([1, -2]), axis(x, d)),
    "expand": lambda x, y, d: x.expand(2, *x.shape),
    "repeat": lambda x, y, d: x.repeat(2, *[1] * x.dim()),
    "tril": lambda x, y, d: x.tril(d.choice([0, 1, -1])),
    "triu": lambda x, y, d: x.triu(d.choice([0, 1, -1])),
    "diagonal": lambda x, y, d: x.diagonal(),
    "diag_embed": lambda x, y, d: x.diag_embed(),
    "trace": lambda x, y, d: x.trace(),
    "pad": lambda x, y, d: F.pad(x, (1, 2), value=d.choice([0, 1.5, -1])),
    "index": lambda x, y, d: x[places(x, 0, d)],
    "index_select": lambda x, y, d: (
        lambda dim: x.index_select(dim, places(x, dim, d))
    )(axis(x, d)),
    "last rows": lambda x, y, d: x[:, places(x, 1, d)],
    "gather": lambda x, y, d: x.gather(-1, torch.zeros_like(x, dtype=torch.int64)),
    "scatter": lambda x, y, d: x.scatter(
        -1, torch.zeros_like(x, dtype=torch.int64)[..., :1], number(d)
    ),
    "scatter_add": lambda x, y, d: x.scatter_add(
        0, torch.zeros_like(x, dtype=torch.int64), x
    ),
    "index_add": lambda x, y, d: x.index_add(
        0, places(x, 0, d), x, alpha=d.choice([1, 2])
    ),
    "index_put": lambda x, y, d: x.index_put((places(x, 0, d),), x[:1]),
    "index_fill": lambda x, y, d: x.index_fill(0, places(x, 0, d)[:1], number(d)),
    "matmul": lambda x, y, d: (
        x @ y.mT.to(x.dtype) if y.dim() > 1 else x @ y.to(x.dtype)
    ),
    "square matmul": lambda x, y, d: x @ x.mT,
    "outer": lambda x, y, d: torch.outer(x.flatten()[:9], y.flatten()[:7]),
    "dot": lambda x, y, d: torch.dot(x.flatten(), x.flatten()),
    "einsum": lambda x, y, d: torch.einsum("...i,...i->...", x, y),
    "kron": lambda x, y, d: torch.kron(x[..., :2], y[..., :2]),
    "layer_norm": lambda x, y, d: F.layer_norm(x, x.shape[-1:]),
    "normalize": lambda x, y, d: F.normalize(x, dim=axis(x, d)),
    "topk": lambda x, y, d: x.sort(-1, stable=True)[0].topk(1, -1).values,
    "bucketize": lambda x, y, d: torch.bucketize(
        x, torch.tensor([-1, 0, 2], device=x.device)
    ),
    "sum item": lambda x, y, d: x + y.sum(),
    "tensor number": lambda x, y, d: x + torch.tensor(number(d), device=x.device),
    "host number": lambda x, y, d: x * torch.tensor(number(d)),
    "full_like": lambda x, y, d: torch.full_like(x, number(d)),
    "arange": lambda x, y, d: (
        x
        + torch.arange(
            x.shape[-1],
            device=x.device,
            dtype=d.choice([None, torch.float32, torch.int32]),
        )
    ),
    "complex": lambda x, y, d: torch.complex(x, x),
    "polar": lambda x, y, d: torch.polar(x, x),
    "view_as_real": lambda x, y, d: torch.view_as_real(x),
    "imag": lambda x, y, d: x.imag,
    "conj": lambda x, y, d: x.conj(),
    "view dtype": lambda x, y, d: x.view(
        d.choice([torch.uint8, torch.int16, torch.int32, torch.float32])
    ),
    "one_hot": lambda x, y, d: F.one_hot(x % 3, 3),
    "cross": lambda x, y, d: F.cross_entropy(x, x.argmax(1)),
    "mse": lambda x, y, d: F.mse_loss(x, y),
    "bce": lambda x, y, d: F.binary_cross_entropy_with_logits(x, y.to(x.dtype)),
    "dist": lambda x, y, d: torch.dist(x, y),
    "vector_norm": lambda x, y, d: torch.linalg.vector_norm(
        x, d.choice([0, 1, 2, 3, math.inf, -math.inf, 0.5]), axis(x, d)
    ),
    "renorm": lambda x, y, d: x.renorm(2, 0, 1.5),
    "diff": lambda x, y, d: x.diff(dim=axis(x, d)),
    "cov": lambda x, y, d: x.cov(),
    "unfold": lambda x, y, d: x.unfold(axis(x, d), 2, 1),
    "equal": lambda x, y, d: (x == y).all(),
    "cdist": lambda x, y, d: torch.cdist(x, x),
    "quantile": lambda x, y, d: x.quantile(0.25, axis(x, d)),
    "nan": lambda x, y, d: torch.where(x > 2, x, math.nan),
    "inf": lambda x, y, d: x.masked_fill(x > 2, math.inf),
    "log_scaled": lambda x, y, d: (x * 0.25).tanh(),
    "take": lambda x, y, d: x.take(torch.zeros(3, dtype=torch.int64, device=x.device)),
    "meshgrid": lambda x, y, d: torch.meshgrid(
        x.flatten()[:3], x.flatten()[:2], indexing="ij"
    ),
    "embedding": lambda x, y, d: F.embedding(x.long() % 2, y.flatten()[:8].view(2, -1)),
    "count": lambda x, y, d: (x > 0).sum(axis(x, d)),
    "mean of bools": lambda x, y, d: (x > 0).to(d.choice(DTYPES)).mean(axis(x, d)),
    "addmm": lambda x, y, d: torch.addmm(
        x[:1, :1], x, x.mT, beta=d.choice([1, 2, 0.5]), alpha=d.choice([1, 3])
    ),
    "baddbmm": lambda x, y, d: torch.baddbmm(x[..., :1], x, x.mT, alpha=2),
    "addcmul numbers": lambda x, y, d: torch.addcmul(y, x, y),
    "logit": lambda x, y, d: torch.logit(x, eps=d.choice([None, 0.1])),
    "polygamma": lambda x, y, d: torch.polygamma(1, x),
    "cumulative": lambda x, y, d: torch.cumulative_trapezoid(x),
    "swap": lambda x, y, d: x.movedim(0, -1),
    "repeat_interleave": lambda x, y, d: x.repeat_interleave(2, axis(x, d)),
    "isin": lambda x, y, d: torch.isin(x, y),
    "searchsorted": lambda x, y, d: torch.searchsorted(y.flatten().sort().values, x),
}
