# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op that the compiler lowers gives eager CPU's results on OpInfo samples.

The rows are asked of ltc-opt, so that a new one is tested as soon as it is there.
"""

import parity
import pytest
import torch
from sampling import sampled

FIRST = (("forward", torch.float32), ("backward", torch.float32))
OTHERS = (
    ("inplace", torch.float32),
    ("forward", torch.bfloat16),
    ("forward", torch.int64),
    ("out", torch.float32),
    ("forward", torch.float16),
    ("forward", torch.bool),
)
SLOW = (
    *FIRST,
    *OTHERS,
    ("forward", torch.float64),
    ("backward", torch.float64),
    *(
        (kind, dtype)
        for kind in ("inplace", "out")
        for dtype in (torch.bfloat16, torch.float16)
    ),
    ("forward", torch.uint8),
    ("forward", torch.int32),
    ("forward", torch.int16),
    ("forward", torch.int8),
    ("forward", torch.complex64),
)

OPS = parity.lowered()


def _compare(name, checks, limit):
    outcomes = parity.check(parity.OPS[name], checks, limit)
    failed = [f"{o.sample}\n    {o.problem}" for o in outcomes if o.problem]
    assert not failed, "\n".join(failed)


@pytest.mark.skipif(not OPS, reason="ltc-opt is not beside the libraries")
def test_most_rows_have_an_op_info():
    assert len(OPS) > 150


@pytest.mark.parametrize(("place", "name"), list(enumerate(OPS)), ids=OPS)
def test_op_gives_what_eager_gives(place, name):
    """Check the first sample: forward, backward, and a third of the others in turns."""
    _compare(name, FIRST + OTHERS[place % 3 * 2 :][:2], limit=1)


@pytest.mark.parametrize("name", sampled(OPS, one_in=16))
def test_op_gives_what_eager_gives_on_all_samples(name):
    for check in SLOW:
        _compare(name, [check], limit=0)
