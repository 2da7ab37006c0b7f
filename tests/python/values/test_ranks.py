# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of op on tensors of 0 to 8 dimensions, some of size 1, some empty."""

import pytest
import torch
import torch.nn.functional as F

SHAPES = {
    "0-d": (),
    "empty": (0,),
    "empty rows": (3, 0, 2),
    "one": (1, 1, 1),
    "five": (2, 3, 1, 4, 5),
    "six": (2, 1, 3, 2, 1, 4),
    "seven": (2, 3, 2, 1, 2, 3, 2),
    "eight": (2, 1, 3, 2, 2, 1, 2, 3),
}


def ones_where(x, odd):
    """Return x with every other dimension cut to size 1, where there is any."""
    cut = x
    for dim in range(x.dim()):
        if dim % 2 == odd and x.size(dim):
            cut = cut.narrow(dim, 0, 1)
    return cut


def some(x):
    """Return a few of the dimensions, as reductions take them."""
    return [d for d in range(x.dim()) if d % 3 == 0]


OPS = {
    "pointwise": lambda x: torch.where(x > 0, x.exp(), -x),
    "broadcast both": lambda x: ones_where(x, 0) * 2 + ones_where(x, 1),
    "broadcast one": lambda x: x - ones_where(x, 0),
    "broadcast scalar": lambda x: x / x.new_tensor(3.0),
    "in place": lambda x: x.clone().add_(ones_where(x, 1)).mul_(2),
    "cast": lambda x: (x * 100).to(torch.int32).to(torch.bfloat16),
    "compare": lambda x: (x < ones_where(x, 1)) | (x == x),
    "sum": lambda x: x.sum(),
    "sum of some": lambda x: x.sum(some(x)) if x.dim() else x.sum(0),
    "sum of the first": lambda x: x.sum(0),
    "mean of the last": lambda x: x.mean(-1, keepdim=True),
    "product": lambda x: x.prod(-1),
    "largest of some": lambda x: x.amax(some(x)),
    "largest": lambda x: x.max(-1),
    "place of the least": lambda x: x.argmin(0),
    "variance": lambda x: torch.var_mean(x, some(x), correction=0),
    "norm": lambda x: torch.linalg.vector_norm(x, 2, some(x)),
    "all": lambda x: (x > -9).all(0),
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(some(x)),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-2:]),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "permute": lambda x: x.permute(list(range(x.dim()))[::-1]) + 1,
    "transpose, then sum": lambda x: x.transpose(0, -1).sum(-1),
    "flatten": lambda x: x.flatten() * 2,
    "reshape": lambda x: x.permute(list(range(x.dim()))[::-1]).reshape(-1),
    "slice": lambda x: x[..., 1:].neg(),
    "steps": lambda x: x[::2] + 1,
    "select": lambda x: x.select(-1, 0) + 1,
    "unsqueeze": lambda x: x.unsqueeze(0).expand(2, *x.shape) + 1,
    "squeeze": lambda x: x.squeeze() + 1,
    "flip": lambda x: x.flip(list(range(x.dim()))),
    "roll": lambda x: x.roll(1, 0),
    "cat": lambda x: torch.cat([x, x * 2], -1),
    "stack": lambda x: torch.stack([x, x * 2], -1),
    "pad": lambda x: F.pad(x, (1, 2), value=7.0),
    "repeat": lambda x: x.repeat([2] * x.dim()),
    "tril": lambda x: x.tril(),
    "diagonal": lambda x: x.diagonal(0, 0, -1) + 1,
    "gather": lambda x: x.gather(-1, torch.zeros_like(x, dtype=torch.int64)),
    "index": lambda x: x[torch.tensor([0, -1], device=x.device)] + 1,
    "index_select": lambda x: x.index_select(-1, torch.tensor([0], device=x.device)),
    "scatter_add": lambda x: x.scatter_add(
        0, torch.zeros_like(x, dtype=torch.int64), x
    ),
    "write to a part": lambda x: x.clone().select(0, 0).fill_(3.0),
    "sort": lambda x: x.sort(-1),
    "cumsum": lambda x: x.cumsum(0),
    "matmul": lambda x: x @ x.transpose(-1, -2),
    "einsum": lambda x: torch.einsum("...i,...i->...", x, x),
}


def numbers(shape):
    generator = torch.manual_seed(len(shape))
    return torch.randn(shape, generator=generator).mul(8).round() / 8


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def attempt(op, x):
    """Return the results, or eager's words of refusal."""
    try:
        return leaves(op(x))
    except (RuntimeError, IndexError, ValueError) as error:
        return str(error).splitlines()[0]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_all_ops(shape):
    x = numbers(shape)
    wanted = {name: attempt(op, x) for name, op in OPS.items()}
    lazy = x.to("lazy")
    found = {name: attempt(op, lazy) for name, op in OPS.items()}
    assert sum(isinstance(w, tuple) for w in wanted.values()) >= 25
    for name, results in wanted.items():
        if isinstance(results, str):
            assert isinstance(found[name], str), name
            assert results.split(" (")[0] in found[name].replace("lazy", "cpu"), name
            continue
        assert isinstance(found[name], tuple), (name, found[name])
        for f, w in zip(found[name], results, strict=True):
            torch.testing.assert_close(f.cpu(), w, equal_nan=True, msg=name)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_gradients(shape):
    def gradient(x):
        x = x.clone().requires_grad_()
        y = x.exp() * ones_where(x, 0) + ones_where(x, 1).sin()
        (y.sum() + y.sum(some(y)).square().sum()).backward()
        return x.grad.cpu()

    x = numbers(shape).double()
    torch.testing.assert_close(gradient(x.to("lazy")), gradient(x))
