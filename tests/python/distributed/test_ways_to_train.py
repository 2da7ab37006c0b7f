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


@pytest.mark.parametrize(
    ("module", "count", "environment"),
    [
        ("training_cases", 5, {}),
        pytest.param("more_training_cases", 20, {}, marks=pytest.mark.slow),
        pytest.param(
            "training_cases", 5, {"LTC_TIERS": "auto"}, marks=pytest.mark.slow
        ),
        pytest.param("compiled_cases", 5, {}, marks=pytest.mark.long),
        pytest.param(
            "training_cases", 5, {"LTC_FRONTEND": "dynamo"}, marks=pytest.mark.long
        ),
    ],
    ids=["main", "more", "call-by-call", "compiled-and-frozen", "dynamo"],
)
def test_ways(module, count, environment, tmp_path):
    assert not wrong(module, count, tmp_path, **environment)
