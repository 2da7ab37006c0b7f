# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps so short that they run on the thread that records them."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

STEPS = 200


def test_a_loop_of_tiny_steps_has_eagers_values(counts):
    """Among them products, which are library calls."""
    torch.manual_seed(0)
    weight, start = torch.randn(2, 4, 4) / 2
    x, w = start.to("lazy"), weight.to("lazy")
    for _ in range(STEPS):
        x = torch.tanh(x @ w + 0.1)
        torch.lazy.mark_step()
    wanted = start
    for _ in range(STEPS):
        wanted = torch.tanh(wanted @ weight + 0.1)
    torch.testing.assert_close(x.cpu(), wanted)
    assert counts["execute.launches"] == STEPS


def test_modes_of_the_thread_do_not_reach_into_a_step():
    """Neither inference mode nor a mode of the dispatcher sees its kernels."""
    x = torch.randn(4, 4).to("lazy")

    def flops(steps):
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            for _ in range(steps):
                y = (x @ x).relu()
                torch.lazy.mark_step()
        return counter.get_total_flops(), y

    once, _ = flops(1)
    total, y = flops(STEPS)
    assert total == STEPS * once
    torch.testing.assert_close(y.cpu(), (x.cpu() @ x.cpu()).relu())


def test_an_error_of_a_step_is_raised_where_its_values_are_read():
    """And the device stays usable, as it does when another thread runs it."""
    table = torch.arange(8.0).to("lazy")
    for step in range(STEPS):
        place = torch.tensor([step % 8 if step != STEPS - 1 else 8]).to("lazy")
        picked = table[place] * 2
        torch.lazy.mark_step()
    with pytest.raises(IndexError, match="index 8 is out of bounds"):
        picked.cpu()
    torch.lazy.synchronize()
    assert (table[torch.tensor([3]).to("lazy")] * 2).item() == 6


def test_a_step_leaves_the_threads_settings_alone():
    """The number of threads, and what denormals are."""
    threads = torch.get_num_threads()
    x = torch.randn(4, 4).to("lazy")
    torch.set_flush_denormal(True)
    try:
        for _ in range(STEPS):
            y = torch.linalg.matrix_exp(x) @ x
            torch.lazy.mark_step()
        assert torch.tensor([1e-39]).mul(1).item() == 0
    finally:
        torch.set_flush_denormal(False)
    assert torch.get_num_threads() == threads
    wanted = torch.linalg.matrix_exp(x.cpu()) @ x.cpu()
    torch.testing.assert_close(y.cpu(), wanted)
