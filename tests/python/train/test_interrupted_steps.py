# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step that Ctrl-C or an error breaks off is taken again, and the run goes on."""

import copy
import signal

import pytest
import torch
import torch.nn.functional as F
from torch import nn

STEPS = 12


def train(device, breaks=None):
    """Return the losses, and how many steps were begun in vain.

    ``breaks(step)`` is called before a step, and may see to it that it raises.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    batches = [(torch.randn(8, 16), torch.randint(0, 3, (8,))) for _ in range(STEPS)]
    losses, broken = [], 0
    while len(losses) < STEPS:
        x, y = (tensor.to(device) for tensor in batches[len(losses)])
        kept = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
        try:
            if breaks:
                breaks(broken + len(losses))
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            value = loss.item()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except (KeyboardInterrupt, RuntimeError):
            signal.setitimer(signal.ITIMER_REAL, 0)
            # On any device an interrupt in optimizer.step() may leave it off.
            torch.set_grad_enabled(True)
            broken += 1
            model.load_state_dict(kept[0])
            optimizer.load_state_dict(kept[1])
            continue
        losses.append(value)
    return torch.tensor(losses), broken


@pytest.fixture
def interrupts():
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_interrupts_at_any_time(interrupts):
    def soon(attempt):
        if attempt % 2:
            signal.setitimer(signal.ITIMER_REAL, 5e-5 * (1 + attempt))

    losses, broken = train("lazy", soon)
    assert broken
    torch.testing.assert_close(losses, train("cpu")[0])


@pytest.mark.parametrize("pass_", ["forward", "backward"])
def test_errors_within_a_step(pass_):
    """Part of the step is recorded when it raises."""

    def fail(*arguments):
        raise RuntimeError("this layer, this time")

    def sometimes(attempt):
        handles = getattr(sometimes, "handles", [])
        for handle in handles:
            handle.remove()
        sometimes.handles = []
        if attempt % 3 == 1:
            register = nn.modules.module.register_module_forward_hook
            if pass_ == "backward":
                register = nn.modules.module.register_module_full_backward_hook
            sometimes.handles = [register(fail)]

    losses, broken = train("lazy", sometimes)
    sometimes(0)
    assert broken == STEPS // 2
    torch.testing.assert_close(losses, train("cpu")[0])
