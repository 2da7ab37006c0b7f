# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A seed gives the same numbers again, whichever calls were the first of their kind:
nothing that the recorder asks a kernel moves a generator."""

from pathlib import Path

import pytest
import torch
from sampling import sampled

PROGRAM = Path(__file__).with_name("first_draws.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("rng", sampled(["fast", "eager"], kept=()))
def test_first_draws(rng, run_python):
    lines = run_python(PROGRAM, LTC_RNG=rng, timeout=500).stdout.splitlines()
    assert len(lines) == 1, "\n".join(lines)
    assert lines[0].startswith("220 draws")


DRAWING_OPS = """
import torch
lib = torch.library.Library("seeds", "DEF")
tags = (torch.Tag.nondeterministic_seeded,)
lib.define("noise(Tensor x) -> Tensor", tags=tags)
lib.impl("noise", lambda x: x + torch.rand(x.shape), "CPU")
def fake(x):
    torch.rand(2)  # which no shape should depend on, but who knows
    return torch.empty_like(x)
torch.library.register_fake("seeds::noise", fake, lib=lib)

runs = []
for _ in range(2):
    torch.manual_seed(5)
    x = torch.zeros(300, 300, device="lazy")
    drawn = []
    for _ in range(20):
        noise = torch.ops.seeds.noise(x)
        torch.lazy.mark_step()  # whose kernel borrows the process's generator
        drawn += [noise, torch.randint(90, (5,), device="lazy")]
    runs.append([t.tolist() for t in drawn])
    runs[-1].append(torch.initial_seed())
print(runs[0] == runs[1], len({str(noise) for noise in runs[0][:-1:2]}))
"""


def test_draws_beside_an_op_that_takes_no_generator(run_python):
    """Its kernel borrows the process's; what is recorded meanwhile does not see it."""
    assert run_python(DRAWING_OPS).stdout.split() == ["True", "20"]


def test_the_default_generator_given_by_name():
    runs = []
    for given in ({}, {"generator": torch.default_generator}):
        torch.manual_seed(3)
        runs.append(torch.randint(1000, (41,), device="lazy", **given).tolist())
    assert runs[0] == runs[1]
