# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op that the compiler lowers gives eager CPU's results on OpInfo samples.

The rows are asked of ltc-opt, so that a new one is tested as soon as it is there.
"""

import parity
import pytest
import torch

FAST = (
    ("forward", torch.float32),
    ("backward", torch.float32),
    ("inplace", torch.float32),
    ("out", torch.float32),
    ("forward", torch.bfloat16),
    ("forward", torch.float16),
    ("forward", torch.int64),
    ("forward", torch.bool),
)
SLOW = (
    *FAST,
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

# Op -> (kind, what a sample says, why). Only failures that say this are let be.
KNOWN = {
    "tensor_split": (
        "forward",
        "expected tensor_indices_or_sections to be on cpu",
        "PyTorch wants these indices on the host, and the samples' are on lazy",
    ),
}

OPS = parity.lowered()


def _failures(name, checks, limit):
    outcomes = parity.check(parity.OPS[name], checks, limit)
    return [f"{o.sample}\n    {o.problem}" for o in outcomes if o.problem]


def _compare(name, checks, limit):
    failed = _failures(name, checks, limit)
    if name in KNOWN:
        failed = [f for f in failed if KNOWN[name][1] not in f]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_to_fail_still_does(name):
    kind, says, _ = KNOWN[name]
    failed = _failures(name, [(kind, torch.float32)], limit=0)
    assert any(says in f for f in failed), "take it out of KNOWN"


@pytest.mark.skipif(not OPS, reason="ltc-opt is not beside the libraries")
def test_most_rows_have_an_op_info():
    assert len(OPS) > 150


@pytest.mark.parametrize("name", OPS)
def test_op_gives_what_eager_gives(name):
    _compare(name, FAST, limit=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_op_gives_what_eager_gives_on_all_samples(name):
    for check in SLOW:
        _compare(name, [check], limit=0)
