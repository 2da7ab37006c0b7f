# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that nobody filled, under torch.use_deterministic_algorithms()."""

import pytest
import torch

MAKERS = {
    "empty": lambda d, t: torch.empty(3, dtype=t, device=d),
    "empty_like": lambda d, t: torch.empty_like(torch.ones(3, dtype=t, device=d)),
    "empty_strided": lambda d, t: torch.empty_strided(
        (2, 2), (1, 2), dtype=t, device=d
    ),
    "empty_permuted": lambda d, t: torch.empty_permuted(
        (2, 3), (1, 0), dtype=t, device=d
    ),
    "new_empty": lambda d, t: torch.ones(1, dtype=t, device=d).new_empty(2, 2),
    "channels last": lambda d, t: torch.empty(
        1, 2, 2, 2, dtype=t, device=d, memory_format=torch.channels_last
    ),
    "new": lambda d, t: torch.ones(1, dtype=t, device=d).new(2),
    "resize_": lambda d, t: torch.ones(2, dtype=t, device=d).resize_(5),
    "resize_ in two": lambda d, t: (
        torch.ones(2, dtype=t, device=d).resize_(4).resize_(3, 3)
    ),
    "resize_as_": lambda d, t: torch.ones(2, dtype=t, device=d).resize_as_(
        torch.ones(2, 3, device=d)
    ),
    "resize_ nothing": lambda d, t: torch.empty(0, dtype=t, device=d).resize_(2, 2),
    "to_empty": lambda d, t: (
        torch.nn.Linear(2, 2, device="meta", dtype=torch.float32)
        .to_empty(device=d)
        .weight.detach()
    ),
    "out": lambda d, t: torch.add(
        torch.ones(3, dtype=t, device=d), 1, out=torch.empty(0, dtype=t, device=d)
    ),
    "written": lambda d, t: torch.empty(3, dtype=t, device=d).fill_(1),
}
DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.int64,
    torch.int8,
    torch.uint8,
    torch.uint16,
    torch.bool,
]


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(False)


def same(lazy, eager):
    assert lazy.dtype == eager.dtype and lazy.stride() == eager.stride()
    lazy = lazy.cpu()
    if eager.is_complex():
        lazy, eager = torch.view_as_real(lazy), torch.view_as_real(eager)
    torch.testing.assert_close(lazy, eager, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_it_is_filled_as_in_eager(make, dtype, deterministic):
    for _ in range(2):  # a call met before goes another way
        try:
            eager = make("cpu", dtype)
        except RuntimeError as error:
            with pytest.raises(RuntimeError):
                make("lazy", dtype)
            assert str(error)
        else:
            same(make("lazy", dtype), eager)


def test_views_of_it_are_filled_too(deterministic):
    def run(device):
        x = torch.empty(4, device=device)
        x[1:3] = 1
        return x

    same(run("lazy"), run("cpu"))


def test_it_is_zeros_otherwise(deterministic):
    torch.utils.deterministic.fill_uninitialized_memory = False
    assert torch.empty(3, device="lazy").tolist() == [0, 0, 0]
    torch.use_deterministic_algorithms(False)
    assert torch.empty(3, device="lazy").tolist() == [0, 0, 0]
