# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which cases of a test that has hundreds the gate runs."""

import pytest


def sampled(cases, one_in=4, kept=pytest.mark.slow):
    """Mark every `one_in`-th case as `kept`, and the others long, which the gate omits.

    `kept=()` leaves the former in the ordinary suite.
    """
    return [
        pytest.param(case, marks=pytest.mark.long if i % one_in else kept)
        for i, case in enumerate(cases)
    ]
