# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs run several times: the first run meets its calls, the others record them
in the shorter way."""

import pytest
import torch

RUNS = 3

MODES = {
    "gradients": torch.enable_grad,
    "none": torch.no_grad,
    "inference": torch.inference_mode,
}
modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


def describe(value):
    if not isinstance(value, torch.Tensor):
        return value
    facts = value.dtype, value.stride(), value.requires_grad, value.is_leaf
    version = None if value.is_inference() else value._version
    return value.tolist(), *facts, version


def outcome(program, device):
    try:
        return [describe(value) for value in program(device)]
    except (RuntimeError, TypeError) as error:
        return str(error).splitlines()[0]


def same(program):
    """Assert that each run on lazy gives what eager gives."""
    eager = outcome(program, "cpu")
    assert [outcome(program, "lazy") for _ in range(RUNS)] == [eager] * RUNS
