# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of test_warnings.py: what calls on a device warn of, three times each."""

import json
import sys
import warnings

import torch

device = sys.argv[1]
RUNS = 3


def ones(*size, **given):
    return torch.ones(size, device=device, **given)


def integers(*values, **given):
    return torch.tensor(values, device=device, **given)


def half():
    return torch.zeros(3, dtype=torch.float16, device=device)


def imaginary():
    return ones(3, dtype=torch.complex64)


def mask():
    return integers(0, 1, 1, dtype=torch.uint8)


def put_bytes():
    x = ones(3)
    x[mask()] = ones(2)
    return x


def cast_back():
    x = imaginary().requires_grad_()
    return torch.autograd.grad(x.to(torch.float32).sum(), x)[0]


# What is said once in a process comes in the first call of its kind.
CALLS = {
    "var": lambda: ones(3, 1).var(1),
    "var of enough": lambda: ones(3, 2).var(1),
    "var, by correction": lambda: ones(3, 2).var(1, correction=2),
    "std": lambda: ones(3, 1).std(1),
    "std of all": lambda: ones(1).std(),
    "std of none": lambda: ones(0).std(),
    "std, complex": lambda: ones(1, dtype=torch.complex64).std(),
    "var_mean": lambda: torch.var_mean(ones(3, 1), 1)[0],
    "std_mean": lambda: torch.std_mean(ones(3, 1), 1)[0],
    "var, out": lambda: torch.var(ones(3, 1), 1, out=ones(3)),
    "arange, out": lambda: torch.arange(5, out=ones(3)),
    "fftfreq, out": lambda: torch.fft.fftfreq(5, out=ones(3)),
    "rfftfreq, out": lambda: torch.fft.rfftfreq(5, out=ones()),
    "cast": lambda: imaginary().to(torch.float32),
    "cast again": lambda: imaginary().to(torch.float64),
    "copy_": lambda: ones(3).copy_(imaginary()),
    "cast of the cpu's": lambda: torch.ones(2, dtype=torch.complex64).to(
        device, torch.float32
    ),
    "cast with a gradient": cast_back,
    "sum": lambda: imaginary().sum(dtype=torch.float32),
    "searchsorted": lambda: torch.searchsorted(ones(3, 3).t(), ones(3, 3)),
    "searchsorted, other": lambda: torch.searchsorted(ones(3, 3), ones(3, 3).t()),
    "bucketize": lambda: torch.bucketize(ones(3, 4).t(), ones(3)),
    "index_reduce_": lambda: ones(3).index_reduce_(0, integers(0, 1), ones(2), "prod"),
    "index_reduce": lambda: ones(3).index_reduce(0, integers(0, 1), ones(2), "prod"),
    "random_": lambda: half().random_(0, 5000),
    "random_ to": lambda: ones(3).random_(2**40),
    "random_ of both": lambda: half().bfloat16().random_(-1000, 1000),
    "random_ that fits": lambda: half().random_(0, 50),
    "randint": lambda: torch.randint(5000, (3,), dtype=torch.float16, device=device),
    "randint, out": lambda: torch.randint(5000, (3,), out=half()),
    "randint_like": lambda: torch.randint_like(half(), 5000),
    "cholesky": lambda: torch.cholesky(torch.eye(3, device=device)),
    "lu_solve": lambda: torch.lu_solve(
        ones(3, 1), *torch.linalg.lu_factor(torch.eye(3, device=device))
    ),
    "triangular_solve": lambda: torch.triangular_solve(
        ones(3, 1), torch.eye(3, device=device)
    )[0],
    "qr": lambda: torch.qr(torch.eye(3, device=device))[0],
    "lu": lambda: torch.lu(torch.eye(3, device=device))[0],
    "scatter": lambda: ones(3).scatter(0, integers(0, 1), ones(2), reduce="add"),
    "x[bytes]": lambda: ones(3)[mask()],
    "x[bytes] = y": put_bytes,
    "x[bytes] = 2": lambda: ones(3).__setitem__(mask(), 2),
    "where": lambda: torch.where(mask(), ones(3), ones(3)),
    "masked_scatter": lambda: ones(3).masked_scatter(mask(), ones(3)),
    "a complex half": lambda: ones(3, dtype=torch.complex32),
    "cross": lambda: torch.cross(ones(2, 3), ones(2, 3)),
    "T": lambda: ones(2, 3, 3).T,
    "resized": lambda: torch.add(ones(3), 1, out=ones(2)),
    "expanded, index_put_": lambda: (
        ones(1).expand(3).index_put_((integers(0),), ones(1))
    ),
    "expanded, masked_fill_": lambda: (
        ones(1).expand(3).masked_fill_(integers(True, False, True), 2.0)
    ),
    "expanded, index_fill_": lambda: ones(1).expand(3).index_fill_(0, integers(0), 2.0),
    "isin": lambda: torch.isin(1, ones(3)),
    "range": lambda: torch.range(0, 3, device=device),
    "nothing": lambda: (ones(3) + 1).softmax(0),
}


def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(RUNS):
            try:
                result = call()
            except RuntimeError:
                result = None
            if isinstance(result, torch.Tensor):
                result.tolist()
    return [
        (str(w.message).partition(" (Triggered")[0], w.category.__name__, w.lineno)
        for w in caught
        if w.filename == __file__
    ]


if __name__ == "__main__":
    print(json.dumps({name: told(call) for name, call in CALLS.items()}))
