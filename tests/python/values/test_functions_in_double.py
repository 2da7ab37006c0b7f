# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementary functions in float64: within 1 ULP of the truth, a few within 2.

Every exponent is sampled, the ranges where a function does most, and the edges
of what its parts are made for. The truth is numpy's in extended precision, and
of erf, which numpy lacks, mpmath's.
"""

import math
import re

import mpmath
import numpy as np
import pytest
import torch

# 80 bits: where they are 64, numpy knows no more than is tested.
pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="no extended precision"
)

COUNT = 1 << 16
EDGES = [0.0, 1.0, 0.5, 0.75, 1.125, 2.0, 3.0, 6.0, 19.0, 20.0, 40.0, math.pi]
EDGES += [math.pi / 2, 22.0, 709.78, 709.79, 745.2, 2.0**20, 2.0**20 + 1, 1e22]
EDGES += [5e-324, 1e-310, 2.0**-1022, 2.0**-54, 2.0**-27, 1.7e308]
EDGES += [math.inf, math.nan, math.sqrt(0.5), math.log(2) / 2]
EDGES = torch.tensor(EDGES + [-edge for edge in EDGES], dtype=torch.float64)


def anywhere(count=COUNT):
    return torch.randint(-(2**63), 2**63 - 1, (count,)).view(torch.float64)


def between(low, high, count=COUNT):
    return torch.rand(count, dtype=torch.float64) * (high - low) + low


def quarter_turns():
    return torch.arange(1, COUNT, dtype=torch.float64) * (math.pi / 2)


UNARY = {
    "acos": [between(-1, 1), between(0.49, 0.51), 1 - between(0, 1e-9)],
    "asin": [between(-1, 1), between(0.49, 0.51), between(-1e-9, 1e-9)],
    "atan": [between(-4, 4), between(0.59, 0.61), between(2.4, 2.43), anywhere()],
    "atanh": [between(-1, 1), between(-1e-3, 1e-3), anywhere()],
    "cos": [between(-4, 4), between(-1e6, 1e6), quarter_turns()],
    "cosh": [between(-2, 2), between(-712, 712), anywhere()],
    "erf": [between(-6, 6, 4096), between(1, 1.25, 2048), anywhere(1024)],
    "exp2": [between(-2, 2), between(-1080, 1030), anywhere()],
    "expm1": [between(-45, 710), between(-1.5, 1.5)],
    "log": [between(0, 3), between(0.99, 1.01), anywhere()],
    "log10": [between(0, 3), between(0.99, 1.01), anywhere()],
    "log1p": [between(-1, 40), between(-0.01, 0.01), anywhere()],
    "log2": [between(0, 3), between(0.99, 1.01), anywhere()],
    "sin": [between(-4, 4), between(-1e6, 1e6), quarter_turns()],
    "sinh": [between(-2, 2), between(-712, 712), anywhere()],
    "tan": [between(-4, 4), between(-1e6, 1e6), quarter_turns()],
    "tanh": [between(-1.2, 1.2), between(-20, 20), anywhere()],
}
# Of millions, expm1 is up to 1.03 ULP off, tan 1.01, atan2 1.06.
MOST = {"atan2": 1.1, "expm1": 1.1, "tan": 1.1}
MOST |= {"atanh": 2, "cosh": 2, "log1p": 2, "sinh": 2}
POWERS = [
    (EDGES.repeat(len(EDGES)), EDGES.repeat_interleave(len(EDGES))),
    (anywhere(), anywhere()),
    (between(0, 3), between(-300, 300)),
    (between(0.999, 1.001), between(-7e5, 7e5)),
    (between(-3, 3), between(-300, 300).round()),
    (between(0, 1e300), between(-1.07, 1.02)),
]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@np.errstate(all="ignore")
def truth(name, *operands):
    if name != "erf":
        wide = (x.numpy().astype(np.longdouble) for x in operands)
        name = re.sub("^a(?=cos|sin|tan)", "arc", name.replace("pow", "power"))
        return getattr(np, name)(*wide)
    with mpmath.workprec(100):
        exact = [mpmath.erf(x) for x in operands[0].tolist()]
        high = np.array([float(y) for y in exact], dtype=np.longdouble)
        rest = [float(y - mpmath.mpf(float(y))) for y in exact]
    exact = high + np.nan_to_num(np.array(rest, dtype=np.longdouble))
    return np.copysign(exact, operands[0].numpy())


@np.errstate(all="ignore")
def errors_in_ulps(actual, exact):
    """Return how far each element is off, in units of its last place."""
    wanted = exact.astype(np.float64)
    same = (actual == wanted) & (np.signbit(actual) == np.signbit(wanted))
    same |= np.isnan(actual) & np.isnan(wanted)
    _, exponent = np.frexp(exact)
    ulp = np.ldexp(np.longdouble(1), np.maximum(exponent - 53, -1074))
    off = np.abs(actual.astype(np.longdouble) - exact) / ulp
    off = np.nan_to_num(off.astype(np.float64), nan=math.inf)
    # A zero of the other sign, and an infinity beside a finite number, are wrong.
    off[(actual == 0) & (exact == 0)] = math.inf
    return np.where(same, 0.0, off)


def assert_near(name, *operands):
    actual = getattr(torch, name)(*(x.to("lazy") for x in operands)).cpu()
    off = errors_in_ulps(actual.numpy(), truth(name, *operands))
    worst = off.argmax()
    at = [x[worst].item() for x in operands]
    most = MOST.get(name, 1)
    assert off[worst] <= most, f"{name}{at} is {actual[worst]}: {off[worst]} ULP"


@pytest.mark.parametrize("name", UNARY)
def test_function_of_one_number(name):
    assert_near(name, torch.cat([EDGES, *UNARY[name]]))


def test_powers():
    assert_near("pow", *(torch.cat(side) for side in zip(*POWERS, strict=True)))


def test_angles_of_points():
    small = anywhere() * 2.0**-600
    points = [*POWERS, (between(-3, 3), between(-9, 9)), (small, small.flip(0))]
    assert_near("atan2", *(torch.cat(side) for side in zip(*points, strict=True)))


@np.errstate(all="ignore")
def test_remainders_are_exact():
    whole = between(1, 1e6).round()
    for x, y in [*POWERS, (whole * 3, whole), (whole, 1 / whole)]:
        mine = torch.fmod(x.to("lazy"), y.to("lazy")).cpu().numpy()
        # PyTorch's own gives NaN where the quotient overflows.
        off = errors_in_ulps(mine, np.fmod(x.numpy(), y.numpy()).astype(np.longdouble))
        assert not off.any(), f"fmod({x[off.argmax()]}, {y[off.argmax()]})"


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_an_angle_for_the_library_changes_no_other_lane(name):
    x = between(1, 9, 64)
    for angle in (1e9, math.pi, math.inf):
        far = x.clone()
        far[7] = angle
        near, with_far = (getattr(torch, name)(y.to("lazy")).cpu() for y in (x, far))
        others = torch.arange(64) != 7
        assert torch.equal(near[others], with_far[others])
        assert_near(name, far)
