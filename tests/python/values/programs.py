# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of small programs that test_parity_programs.py runs."""

import torch

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def values(*shape, dtype=torch.float32, seed=0, device="cpu"):
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        made = torch.randn(*shape, generator=generator, dtype=dtype)
    else:
        made = torch.randint(0, 100, shape, generator=generator).to(dtype)
    return made.to(device)
