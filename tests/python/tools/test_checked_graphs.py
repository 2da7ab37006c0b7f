# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""verify() and detect_nan() look at graphs that no recording ends, too.

Those of ``torch.compile(backend="ltc")`` on CPU tensors and on lazy ones, of frozen
steps, and of devices whose memory the host cannot reach.
"""

import ctypes
import inspect
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch_ltc import MiscompiledError, NotFiniteError, detect_nan, verify
from torch_ltc.checking import reproducer

BUILD = Path(torch_ltc.__file__).parents[2]
SEEDS = BUILD / "tests" / "libseeded_miscompiles.so"

needs_seeds = pytest.mark.skipif(
    not SEEDS.parent.exists(), reason="an installed package has no seeded miscompiles"
)


@pytest.fixture
def wrong_rows():
    """Have graphs compiled with the row of another op."""
    library = ctypes.CDLL(str(SEEDS))
    torch.lazy.mark_step(wait=True)
    library.ltc_seed(b"row")
    yield
    library.ltc_seed(b"")
    torch_ltc.startup.start().forget_programs()


@pytest.fixture(autouse=True)
def own_graphs():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(function):
    return torch.compile(function, backend="ltc")


def line_of(function, offset):
    return inspect.getsourcelines(function)[1] + offset


def logarithm(x):
    y = x * 2 - 3
    z = y.log()
    return (z.clamp(min=0) + 1).sum()


@pytest.mark.parametrize("device", ["cpu", "lazy"])
def test_a_nan_in_a_compiled_graph_has_its_op_and_line(device):
    x = torch.tensor([1.0, 2.0, 4.0]).to(device)
    run = compiled(logarithm)
    usual = run(x)
    with pytest.raises(NotFiniteError) as raised, detect_nan():
        run(x).item()
    error = raised.value
    assert error.op == "aten::log"
    assert error.line == line_of(logarithm, 2)
    assert error.function == "logarithm"
    assert "it made 1 NaN of 3 values" in error.message
    assert "f32[3] from -1 to 5" in error.message
    # Outside of the block nobody looks.
    torch.testing.assert_close(run(x).cpu(), usual.cpu(), equal_nan=True)


def test_a_nan_in_a_compiled_backward_pass():
    def loss(x):
        return x.sqrt().sum()

    x = torch.tensor([0.0, 4.0], requires_grad=True)
    run = compiled(loss)
    with pytest.raises(NotFiniteError) as raised, detect_nan():
        run(x).backward()
    assert raised.value.line == line_of(loss, 1)
    assert "Inf" in raised.value.message
    assert x.grad is None


def test_what_a_compiled_graph_writes_to_is_as_before():
    def step(weight, x):
        weight.mul_(0.5)
        return (x - 5).log() + weight

    weight = torch.ones(3)
    run = compiled(step)
    with pytest.raises(NotFiniteError), detect_nan():
        run(weight, torch.ones(3))
    assert weight.tolist() == [1.0] * 3
    with detect_nan():
        run(weight, torch.full((3,), 7.0))
    assert weight.tolist() == [0.5] * 3


def test_a_frozen_step_is_looked_at():
    weight = torch.tensor([4.0, 4.0]).to("lazy").requires_grad_()
    optimizer = torch.optim.SGD([weight], 0.1)

    @torch_ltc.freeze
    def step(x):
        optimizer.zero_grad()
        loss = (weight * x).log().sum()
        loss.backward()
        optimizer.step()
        return loss

    good, bad = torch.ones(2).to("lazy"), torch.tensor([1.0, -1.0]).to("lazy")
    for _ in range(3):
        step(good).item()
    assert step.is_frozen
    before = weight.tolist()
    with pytest.raises(NotFiniteError) as raised, detect_nan():
        step(bad).item()
    assert raised.value.op == "aten::log"
    assert weight.tolist() == before
    with verify():
        step(good)
    assert weight.tolist() != before


@needs_seeds
@pytest.mark.parametrize("device", ["cpu", "lazy"])
def test_a_miscompiled_graph_of_torch_compile_is_found(wrong_rows, tmp_path, device):
    def step(weight, x):
        weight.add_(1)
        return (x.cos() + weight).expm1().sum(1)

    weight, x = (
        torch.ones(3, 21).to(device),
        torch.linspace(0, 1, 63).view(3, 21).to(device),
    )
    with (
        torch_ltc.settings.scope(repro_dir=str(tmp_path)),
        pytest.raises(MiscompiledError) as raised,
        verify(),
    ):
        compiled(step)(weight, x).cpu()
    error = raised.value
    assert "At fault: aten::expm1 at " in error.message
    assert error.line == line_of(step, 2)
    (directory,) = tmp_path.iterdir()
    assert reproducer.run(directory) == 1
    if device == "cpu":
        assert torch.equal(weight, torch.ones(3, 21))


def test_a_right_graph_of_torch_compile_passes_and_writes_in_place():
    def step(weight, x):
        weight.add_(x)
        return weight.sin() * torch.rand_like(x)

    weight, x = torch.ones(5, 7), torch.linspace(0, 1, 35).view(5, 7)
    run = compiled(step)
    with verify():
        first = run(weight, x)
    assert torch.equal(weight, 1 + x)
    second = run(weight, x)
    assert torch.equal(weight, 1 + x + x)
    assert not torch.equal(first, second)


ELSEWHERE = """
import ctypes, torch, torch_ltc
x = torch.tensor([0.5, 2.0]).to("lazy")
weight = torch.ones(2).to("lazy")
try:
    with torch_ltc.detect_nan():
        weight.mul_((x - 1).log())
        weight.tolist()
except torch_ltc.NotFiniteError as error:
    print(error.op, error.line, weight.tolist())
"""


@pytest.mark.slow
def test_a_device_with_its_own_memory_is_looked_at(run_python):
    found = run_python(ELSEWHERE, LTC_DEVICE="emulator").stdout
    assert found == "aten::log 7 [1.0, 1.0]\n"
