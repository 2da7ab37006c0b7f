# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches joined of tensors that a program keeps: replay buffers, collated lists."""

import random

import pytest
import torch

KEPT = 10
PICKED = 6


def keep(device):
    return [torch.full((2, 3), float(i), device=device) for i in range(KEPT)]


def learn(device, join, steps=20):
    """Yield what each step makes of a sample that may repeat its tensors."""
    random.seed(0)
    kept, weight = keep(device), torch.ones(2, 3, device=device)
    for _ in range(steps):
        picked = random.choices(kept, k=PICKED)
        present = random.choice(kept)  # another op reads it, and it may be picked
        weight.add_((join(picked) * present.sum()).mean() * 0.01)
        yield weight.tolist()


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
def test_what_a_sample_repeats_makes_no_other_graph(join, counts):
    eager = list(learn("cpu", join))
    keep("lazy")[0].tolist()
    counts.restart()
    torch.testing.assert_close(list(learn("lazy", join)), eager)
    assert counts["codegen.graphs"] <= 2


@pytest.mark.parametrize("pieces", ["aa", "aba", "abab", "aaaa"])
def test_pieces_that_are_overwritten(pieces, counts):
    """What a step updates is read first, by the concatenation and by others."""

    def run(device):
        held = {name: torch.arange(4.0, device=device) for name in "ab"}
        joined = []
        for _ in range(4):
            joined.append(torch.cat([held[name] for name in pieces]) * held["a"][1])
            held["a"].mul_(2)
            held["b"] += held["a"]
            torch.lazy.mark_step()
        return *joined, *held.values()

    expected = run("cpu")
    for value, wanted in zip(run("lazy"), expected, strict=True):
        assert torch.equal(value.cpu(), wanted)
