# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""detect_nan names the first op that makes a NaN or an Inf, and its line."""

import warnings
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch_ltc import NotFiniteError, detect_nan

LAZY = torch.device("lazy")


def line_of(marker):
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = [n for n, text in enumerate(lines, 1) if text.endswith("# " + marker)]
    return found


def lazy(*values):
    return torch.tensor(values).to(LAZY)


def log(x):
    y = x * 2 - 3
    z = y.log()  # log
    return (z.exp() + 1).sum()


def divide(x):
    y = (x - 1) / (x - 1)  # divide
    return y.mean()


def square_root(x):
    return (x - 1).sqrt().add(2).sum()  # square_root


def overflow(x):
    return (x * 30).exp().sum()  # overflow


def half(x):
    return (x * 2e4).half().sum()  # half


CASES = {
    log: ("aten::log", "NaN", "f32[3] from -1 to 5"),
    divide: ("aten::div", "NaN", "f32[3] from 0 to 3"),
    square_root: ("aten::sqrt", "NaN", "f32[3] from -0.5 to 3"),
    overflow: ("aten::exp", "Inf", "f32[3] from 30 to 120"),
    half: ("aten::_to_copy", "Inf", "f32[3] from 20000 to 80000"),
}


@pytest.mark.parametrize("function", CASES, ids=lambda case: case.__name__)
def test_the_first_op_is_named_with_its_line_and_ranges(function):
    op, what, ranges = CASES[function]
    x = lazy(0.5, 1.0, 4.0) if function is square_root else lazy(1.0, 2.0, 4.0)
    with pytest.raises(NotFiniteError) as raised, detect_nan():
        function(x).item()
    error = raised.value
    assert error.op.startswith(op)
    assert error.file.endswith("test_detect_nan.py")
    assert error.line == line_of(function.__name__)
    assert f"it made 1 {what} of 3 values" in error.message
    assert ranges in error.message
    assert isinstance(error, FloatingPointError)
    # Outside of the block nobody looks.
    assert not torch.isfinite(function(x)).item()


def test_a_gradient_names_the_forward_line():
    x = lazy(0.0, 4.0).requires_grad_()
    with pytest.raises(NotFiniteError) as raised, detect_nan():
        y = x.sqrt().sum()  # forward
        y.backward()
        x.grad.cpu()
    error = raised.value
    assert error.line == line_of("forward")
    assert error.function.endswith("(backward)")
    assert "Inf" in error.message


def test_what_the_program_asks_for_or_had_is_not_made():
    mask = torch.tensor([True, False]).to(LAZY)
    bad = lazy(float("nan"), 1.0)
    with detect_nan():
        a = torch.full((2,), -torch.inf, device=LAZY)
        b = lazy(1.0, 2.0).masked_fill(mask, -torch.inf).softmax(0)
        c = bad * 2 + 1
        assert a.max().item() == -torch.inf
        assert b.tolist() == [0.0, 1.0]
        assert c.isnan().sum().item() == 1


def test_nan_alone():
    with detect_nan(inf=False):
        assert lazy(0.0).log().item() == -torch.inf
    with pytest.raises(NotFiniteError), detect_nan(inf=False):
        (lazy(0.0).log() * 0).item()


def test_the_end_of_the_block_looks_at_all_that_it_recorded():
    before = lazy(-1.0).log()
    with pytest.raises(NotFiniteError), detect_nan():
        kept = lazy(-1.0).log()
    assert before.isnan().item()
    with pytest.raises(NotFiniteError):  # it has no value
        kept.cpu()
    with detect_nan():
        kept = lazy(1.0).log()
    assert kept.item() == 0


def test_it_decorates_and_nests():
    @detect_nan()
    def step(x):
        with detect_nan(inf=False):
            return x.log()

    assert step(lazy(1.0)).item() == 0
    with pytest.raises(NotFiniteError):
        step(lazy(-1.0))
    assert torch_ltc.settings.detect_nan == "off"


def test_a_step_that_makes_a_nan_is_undone():
    weight = lazy(1.0, 2.0).requires_grad_()
    optimizer = torch.optim.SGD([weight], 0.5)
    with pytest.raises(NotFiniteError), detect_nan():
        (weight - 2).log().sum().backward()
        optimizer.step()
    assert weight.tolist() == [1.0, 2.0]


def test_autograds_own_anomaly_detection_works():
    x = lazy(0.0, 4.0).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            y = (x.sqrt() * lazy(0.0, 1.0)).sum()
            with pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan values"):
                y.backward()


def test_off_it_costs_no_graph(counts):
    x = lazy(1.0, 3.0)
    counts.restart()
    (x * 2).log().sum().item()
    assert counts["execute.interpreted"] == 0


def test_what_is_not_looked_at_is_told_once(run_python):
    code = """
import torch

x = torch.tensor([-7, 7], dtype=torch.int32).to("lazy")
for _ in range(2):
    print(torch.div(x, -torch.ones_like(x), rounding_mode="trunc").tolist())
"""
    done = run_python(code, LTC_DETECT_NAN="all")
    assert done.stdout == "[7, -7]\n" * 2
    told = [line for line in done.stderr.splitlines() if "detect_nan" in line]
    assert len(told) == 1
    assert "does not look at graph" in told[0] and "aten::div" in told[0]


def test_what_the_hosts_kernels_cannot_do_is_compiled():
    """ATen's division of the lowest integer by -1 ends the process."""
    with torch_ltc.settings.scope(detect_nan="all"):
        x = torch.tensor([-(2**31), 7], dtype=torch.int32).to("lazy")
        assert torch.div(x, -torch.ones_like(x), rounding_mode="trunc").tolist() == [
            -(2**31),
            -7,
        ]
