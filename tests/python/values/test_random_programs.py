# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs, each on sizes that vary, give what eager gives.

`python tests/python/values/test_random_programs.py 7` shows the program of a seed.
"""

import inspect
import sys
import warnings

import pytest
import torch
import torch_ltc
from random_programs import Program, sizes_of
from sampling import sampled

FAST = range(10)


def run(program, sizes):
    """Run it on eager's device and on ours; return what eager refuses, or None."""
    x = program.data(sizes)
    try:
        wanted = [value.detach() for value in program(x, "cpu")]
    except Exception as error:
        return error
    found = [value.detach().cpu() for value in program(x, "lazy")]
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        largest = b.nan_to_num(0, 0, 0).abs().max().item() if b.numel() else 0
        torch.testing.assert_close(
            a, b, rtol=1e-7, atol=1e-9 * max(1, largest), equal_nan=True
        )
    return None


def check(seed, count):
    """Run the program of a seed on so many sizes; return for how many eager does."""
    program = Program(seed)
    with torch_ltc.settings.scope(rng="eager"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = 0
        for sizes in sizes_of(seed, count):
            try:
                ran += run(program, sizes) is None
            except Exception as error:
                raise AssertionError(f"{program} on {sizes}: {error}") from error
    return ran


def test_random_programs(counts):
    ran = sum(check(seed, 7) for seed in FAST)
    assert ran > 5 * len(FAST)
    # Most are programs for all sizes; their first and last ones are not.
    assert counts["cache.dynamic_versions"] > len(FAST) / 3
    assert counts["cache.dynamic_hits"] > len(FAST)


@pytest.mark.parametrize("seed", sampled(range(FAST.stop, 400)))
def test_a_random_program(seed):
    assert check(seed, 10)


if __name__ == "__main__":
    shown = Program(int(sys.argv[1]))
    print(shown, "of gradients" if shown.trains else "")
    for change in shown.steps:
        print(inspect.getsource(change))
