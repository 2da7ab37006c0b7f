# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which op made a NaN or an Inf.

with torch_ltc.detect_nan():
    loss = model(x)
    loss.backward()
"""

from torch_ltc.checking.checked_block import CheckedBlock


class detect_nan(CheckedBlock):
    """Raise at the first op of a block or a function that makes a NaN or an Inf.

    The error, a `torch_ltc.NotFiniteError`, names the op, its line, or for a gradient
    the line of the forward op, and the ranges of its operands. An op has made none
    that one of its operands has, or that the program asks for: ``full(n, inf)``.
    ``inf=False`` looks for NaN alone.

    Graphs run call by call meanwhile, in all threads, with a look at each result: about
    as fast as autograd's `detect_anomaly`. Those of torch.compile, and of devices other
    than the CPU, do so before each launch. What was recorded before the block is not
    looked at, and the end of the block computes all that was recorded inside.
    ``LTC_DETECT_NAN=all`` does so to a whole program.
    """

    def __init__(self, *, inf=True):
        super().__init__(detect_nan="all" if inf else "nan")
