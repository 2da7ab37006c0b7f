# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thousands of calls of a compiled function hold no more memory than some."""

import copy
import ctypes
import gc
import itertools
import os

import pytest
import torch
from torch import nn

PAGE = os.sysconf("SC_PAGE_SIZE")
CALLS = 2000
# One kept result, gradient or object of 1 KiB a call would be twice as much.
ROOM = CALLS // 3 * 512


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def resident():
    """Return the bytes of memory that the process has, without free blocks."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def live_tensors():
    return sum(issubclass(type(value), torch.Tensor) for value in gc.get_objects())


def infer(call, x):
    with torch.no_grad():
        return call(x)


def train(call, x):
    call(x).square().mean().backward()


def writes(x):
    x.mul_(0.5)
    return x.view(-1)[1:], x + 1


def network():
    return nn.Sequential(nn.Linear(16, 32), nn.Dropout(), nn.Linear(32, 4))


CASES = {
    "inference": (infer, network),
    "training": (train, network),
    "writes": (infer, lambda: writes),
}


def measure(run, call, sizes, device, calls):
    """Return by how many bytes and tensors the process grows with so many calls.

    The least of three rounds: what leaks does so in each, and what else the process
    has to do does not.
    """
    inputs = [torch.randn(size, 16, device=device) for size in sizes]

    def repeat(count):
        for x in itertools.islice(itertools.cycle(inputs), count):
            run(call, x)

    repeat(max(200, 2 * len(sizes)))
    seen = [(resident(), live_tensors())]
    for _ in range(3):
        repeat(calls // 3)
        seen.append((resident(), live_tensors()))
    rounds = list(itertools.pairwise(seen))
    return [min(now[i] - then[i] for then, now in rounds) for i in range(2)]


@pytest.mark.parametrize(
    "device", ["cpu", pytest.param("lazy", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "case", ["inference", "writes", pytest.param("training", marks=pytest.mark.slow)]
)
def test_memory_stays(case, dynamic, device):
    run, make = CASES[case]
    function = make()
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function).to(device)
    call = torch.compile(function, backend="ltc", dynamic=dynamic)
    sizes = (8, 12, 20) if dynamic else (8,)
    grown, more = measure(run, call, sizes, device, CALLS)
    assert more <= 0
    assert grown < ROOM


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_memory_stays_with_more_sizes_than_are_kept(case):
    run, make = CASES[case]
    call = torch.compile(make(), backend="ltc", dynamic=True)
    grown, more = measure(run, call, range(8, 108), "cpu", CALLS // 5)
    assert more <= 0
    assert grown < ROOM
