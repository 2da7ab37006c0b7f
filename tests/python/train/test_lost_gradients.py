# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of steps that failed, with other threads that train."""

import gc
import sys
import threading

import pytest
import torch
from torch import nn


@pytest.fixture
def weight():
    weight = torch.ones(4, 2, device="lazy", requires_grad=True)
    torch.lazy.synchronize()
    return weight


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Tracebacks hold frames, whose tensors would be in the next test's graph."""
    yield
    gc.collect()


def fail(weight):
    with pytest.raises(IndexError):
        loss = weight[torch.tensor([9], device="lazy")].sum()
        loss.backward()
        loss.item()


def test_a_lost_gradient_is_none(weight):
    fail(weight)
    assert weight.grad is None


def test_a_gradient_from_before_stays(weight):
    (weight * weight).sum().backward()
    torch.lazy.synchronize()
    fail(weight)
    assert weight.grad.tolist() == [[2, 2]] * 4


def test_backward_goes_on_after_another_thread_recorded(weight):
    other = threading.Thread(target=fail, args=(weight.detach().requires_grad_(),))
    other.start()
    other.join()
    fail(weight)
    for _ in range(2):
        (weight * weight).sum().backward()
    assert weight.grad.tolist() == [[4, 4]] * 4


def test_threads_train_while_steps_fail(weight):
    over = threading.Event()
    unexpected = []

    def train():
        layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(20)]).to("lazy")
        x = torch.ones(2, 4, device="lazy")
        while not over.is_set():
            try:
                layers(x).sum().backward()
                torch.lazy.mark_step()
            except IndexError:  # the thread's ops were in a graph that failed
                pass
            except BaseException as error:
                unexpected.append(error)
                raise
            layers.zero_grad()

    threads = [threading.Thread(target=train) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(20):
            fail(weight)
    finally:
        over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not unexpected
    (weight * weight).sum().backward()
    assert weight.grad.tolist() == [[2, 2]] * 4
