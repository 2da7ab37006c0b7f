# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementary functions in float32, within 2 ULP of the truth everywhere.

Every exponent is sampled, the ranges where a function does most, and the edges
of what its parts are made for. The truth is PyTorch's own in float64. Of that,
exp is our own too: it is held to 2 ULP of PyTorch's.
"""

import math

import pytest
import torch

EDGES = [0.0, 1.0, 0.5, 0.6, 0.625, 0.65, 0.75, 2.0, 2.4142135, 3.0, math.pi]
EDGES += [math.pi / 2, 88.7, 89.4, 104.0, 2.0**22, 2.0**22 + 1, 1e8, 3e38]
EDGES += [1e-45, 1e-38, 2.0**-126, math.inf, math.nan]
EDGES = torch.tensor(EDGES + [-edge for edge in EDGES])
COUNT = 1 << 17


def anywhere():
    bits = torch.randint(-(2**31), 2**31, (COUNT,))
    return bits.to(torch.int32).view(torch.float32)


def between(low, high):
    return (torch.rand(COUNT, dtype=torch.float64) * (high - low) + low).float()


def quarter_turns():
    return (torch.arange(1, COUNT) * (math.pi / 2)).float()


UNARY = {
    "acos": [between(-1, 1)],
    "asin": [between(-1, 1)],
    "atan": [between(-4, 4)],
    "atanh": [between(-1, 1), between(-0.01, 0.01)],
    "cos": [between(-40, 40), quarter_turns()],
    "cosh": [between(-90, 90)],
    "erf": [between(-4, 4)],
    "erfc": [between(-4, 4), between(4, 10.2)],
    "exp": [between(-104, 89)],
    "exp2": [between(-150, 128)],
    "expm1": [between(-2, 2)],
    "log": [between(0, 3), between(0.99, 1.01)],
    "log10": [between(0, 3), between(0.99, 1.01)],
    "log1p": [between(-1, 40)],
    "log2": [between(0, 3), between(0.99, 1.01)],
    "sin": [between(-40, 40), quarter_turns()],
    "sinh": [between(-90, 90), between(-1.1, 1.1)],
    "tan": [between(-40, 40), quarter_turns()],
    "tanh": [between(-1, 1)],
}
BINARY = {
    "atan2": [(between(-3, 3), between(-9, 9))],
    "fmod": [(between(-300, 300), between(-9, 9))],
    "pow": [
        (between(0, 3), between(-20, 20)),
        (between(0.99, 1.01), between(-8000, 8000)),
        (between(-3, 3), between(-20, 20).round()),
    ],
}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def errors_in_ulps(actual, exact):
    """Return how far each element is off, in units of its last place."""
    wanted = exact.float()
    same = (actual == wanted) & (torch.signbit(actual) == torch.signbit(wanted))
    same |= torch.isnan(actual) & torch.isnan(wanted)
    _, exponent = torch.frexp(exact)
    ulp = torch.exp2((exponent - 24).clamp(min=-149).double())
    off = ((actual.double() - exact).abs() / ulp).nan_to_num(nan=math.inf)
    # A zero of the other sign, and an infinity beside a finite number, are wrong.
    off[(actual == 0) & (exact == 0)] = math.inf
    return torch.where(same, 0.0, off)


def assert_near(name, *operands):
    function = getattr(torch, name)
    actual = function(*(x.to("lazy") for x in operands)).cpu()
    off = errors_in_ulps(actual, function(*(x.double() for x in operands)))
    worst = off.argmax()
    at = [x[worst].item() for x in operands]
    assert off[worst] <= 2, f"{name}{at} is {actual[worst].item()}"


@pytest.mark.parametrize("name", UNARY)
def test_function_of_one_number(name):
    assert_near(name, torch.cat([EDGES, anywhere(), *UNARY[name]]))


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_numbers(name):
    pairs = [
        (EDGES.repeat(len(EDGES)), EDGES.repeat_interleave(len(EDGES))),
        (anywhere(), anywhere()),
        *BINARY[name],
    ]
    assert_near(name, *(torch.cat(side) for side in zip(*pairs, strict=True)))


def test_gelu_and_its_gradient():
    x = torch.cat([EDGES, between(-13, 13), anywhere()])
    lazy, exact = (t.detach().requires_grad_() for t in (x.to("lazy"), x.double()))
    y, wanted = (torch.nn.functional.gelu(t) for t in (lazy, exact))
    y.sum().backward(), wanted.sum().backward()
    # Squares overflow in float32 alone; a gradient has an infinity times zero.
    near = ~(x.abs() > 1e18)
    for actual, truth, of in (y, wanted, ~x.isinf()), (lazy.grad, exact.grad, near):
        actual, truth = actual.detach().cpu().double(), truth.detach()
        torch.testing.assert_close(
            actual[of], truth[of], rtol=5e-7, atol=6e-7, equal_nan=True
        )
    # Where eager in float32 has no digit left, nearly all of ours are right.
    tail = (x < -1) & (x > -6)
    close = torch.isclose(y.cpu().double()[tail], wanted[tail], rtol=2e-5, atol=0)
    assert close.all(), x[tail][~close]


def test_exp_in_float64():
    edges = [-0.0, 709.7827, 709.79, 710.0, 711.0, 1e300, 1e-320, math.inf, math.nan]
    edges += [708.3964, 744.44, 745.13, 745.14, 746.0, 747.0, math.log(2) / 2]
    x = torch.tensor(edges + [-edge for edge in edges], dtype=torch.float64)
    wide = torch.rand(2 * COUNT, dtype=torch.float64) * 1460 - 748
    near = torch.rand(COUNT, dtype=torch.float64) * 3 - 1.5
    some = torch.randint(-(2**63), 2**63 - 1, (COUNT,)).view(torch.float64)
    x = torch.cat([x, wide, near, some])
    actual, wanted = x.to("lazy").exp().cpu(), x.exp()
    assert torch.equal(actual.isnan(), wanted.isnan())
    # Of numbers that are not negative, the bits count in ULPs.
    actual, wanted = (y.nan_to_num(0.0, math.inf) for y in (actual, wanted))
    off = (actual.view(torch.int64) - wanted.view(torch.int64)).abs()
    assert off.max() <= 2, x[off.argmax()]


@pytest.mark.parametrize("name", ["sin", "pow", "fmod"])
def test_a_large_argument_changes_no_other_lane(name):
    x = between(1, 9)[:64].to("lazy")
    far = x.clone()
    far[7] = 3e38
    operands = [2.5] * (name != "sin")
    function = getattr(torch, name)
    near, with_far = function(x, *operands), function(far, *operands)
    others = torch.arange(64) != 7
    assert torch.equal(near.cpu()[others], with_far.cpu()[others])
