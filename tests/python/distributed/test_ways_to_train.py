# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training on several ranks: losses and parameters are those of the same on cpu.

The cases import much of PyTorch, so only the ranks do.
"""

import pytest
import ranks


def wrong(module, count, folder, **environment):
    """Return what differs in which case, and that there are so many cases."""
    found = ranks.outcomes(module, 2, folder, **environment)
    assert len(found) == count
    return {name: each for name, each in found.items() if any(each)}


def test_the_main_ways_to_train(tmp_path):
    assert not wrong("training_cases", 5, tmp_path)


@pytest.mark.slow
def test_options_and_other_ways(tmp_path):
    assert not wrong("more_training_cases", 14, tmp_path)


@pytest.mark.slow
def test_graphs_that_run_call_by_call(tmp_path):
    assert not wrong("training_cases", 5, tmp_path, LTC_TIERS="auto")


@pytest.mark.long
def test_compiled_and_frozen_steps(tmp_path):
    assert not wrong("compiled_cases", 5, tmp_path)


@pytest.mark.long
def test_unmodified_programs_through_dynamo(tmp_path):
    assert not wrong("training_cases", 5, tmp_path, LTC_FRONTEND="dynamo")
