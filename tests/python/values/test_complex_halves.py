# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""complex32: what eager's kernels take gives what they give, the rest is refused."""

import pytest
import torch


def numbers(device):
    return torch.tensor([[1 + 2j, 3], [5, 6j]]).to(torch.complex32).to(device)


def scattered(x, source, *sizes):
    return torch.as_strided_scatter(x, source, sizes, (1,) * len(sizes), 1)


TAKEN = {
    "add": lambda x: x + x,
    "multiply": lambda x: x * (1 + 2j),
    "flip nothing": lambda x: x[:1].flip(0),
    "as_strided_scatter": lambda x: scattered(x, x[0], 2),
    "cat": lambda x: torch.cat([x, x.t()]),
    "index": lambda x: x[torch.tensor([1], device=x.device)],
}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("op", TAKEN.values(), ids=TAKEN)
def test_taken(op):
    found, wanted = (torch.view_as_real(op(numbers(d))).cpu() for d in ("lazy", "cpu"))
    assert torch.equal(found, wanted)


REFUSED = {
    "eye": lambda x: torch.eye(3, dtype=x.dtype, device=x.device),
    "flip": lambda x: x.flip(0, 1),
    "equal": lambda x: torch.equal(x, x.clone()),
    "matmul": lambda x: x @ x,
    "cumsum": lambda x: x.cumsum(0),
    "as_strided_scatter": lambda x: scattered(x, x, 2),
}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("op", REFUSED.values(), ids=REFUSED)
def test_refused_at_the_call(op):
    def words(device):
        with pytest.raises(RuntimeError) as caught:
            op(numbers(device))
        return str(caught.value).splitlines()[0]

    assert words("lazy") == words("cpu")


def test_scattered_bytes_of_floats():
    def program(device):
        x = torch.arange(4.0).view(2, 2).to(torch.float8_e4m3fn).to(device)
        return scattered(x, x[0], 2).cpu().float()

    assert torch.equal(program("lazy"), program("cpu"))
