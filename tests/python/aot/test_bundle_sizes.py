# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that a bundle leaves open: formulas, limits, and what has none."""

import platform

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn
from torch.export import Dim, export
from torch_ltc import aot

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        heads = x.unflatten(-1, (4, 8)).transpose(1, 2)
        causal = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        return self.attention(x, x, x)[0] + causal.transpose(1, 2).flatten(2)


def test_two_sizes_that_vary(make):
    module = Attends().eval()
    shapes = ({0: Dim("batch"), 1: Dim("length", min=2, max=100)},)
    loaded = make(module, (torch.randn(3, 10, 32),), dynamic_shapes=shapes)
    for batch, length in ((3, 10), (1, 2), (7, 33)):
        x = torch.randn(batch, length, 32)
        close(loaded(x), module(x))


class Sizes(nn.Module):
    def forward(self, x, y):
        both = torch.cat((x, y.sum(1)))
        return {"mean": both.sum() / both.shape[0], "rows": x.shape[0], "all": both}


def test_sizes_become_numbers_and_results(make):
    rows = Dim("rows")
    shapes = ({0: 2 * rows}, {0: rows, 1: Dim("columns")})
    loaded = make(Sizes(), (torch.randn(6), torch.randn(3, 5)), dynamic_shapes=shapes)
    for n, m in ((3, 5), (8, 2), (50, 7)):
        x, y = torch.randn(2 * n), torch.randn(n, m)
        found, wanted = loaded(x, y), Sizes()(x, y)
        assert found["rows"] == wanted["rows"]
        close(found["mean"], wanted["mean"])
        close(found["all"], wanted["all"])
    with pytest.raises(torch_ltc.Error, match="dimension 0 of input"):
        loaded(torch.randn(7), torch.randn(3, 5))


class Groups(nn.Module):
    def forward(self, x, y):
        return x.view(-1, 8).sum(1) + y.sum()


def test_a_multiple_of_a_size(make):
    shapes = ({0: 8 * Dim("groups", max=8)}, {0: Dim("n")})
    loaded = make(Groups(), (torch.ones(32), torch.ones(5)), dynamic_shapes=shapes)
    for groups, n in ((4, 5), (1, 1), (8, 70)):
        x, y = torch.randn(8 * groups), torch.randn(n)
        close(loaded(x, y), Groups()(x, y))
    for wrong in (12, 72):
        with pytest.raises(torch_ltc.Error, match=f"dimension 0 of input x is {wrong}"):
            loaded(torch.zeros(wrong), torch.zeros(2))


class Steps(nn.Module):
    def forward(self, x):
        return x * (x.shape[0] // 64 + 1)


class Clips(nn.Module):
    def forward(self, x):
        return x * torch.sym_min(x.shape[0], 512)


class Lifts(nn.Module):
    def forward(self, x):
        return x * torch.sym_max(x.shape[0], 5)


@pytest.mark.parametrize("module", [Steps(), Clips(), Lifts()])
def test_functions_in_steps(make, module):
    loaded = make(module, (torch.ones(10),), dynamic_shapes=({0: Dim("n")},))
    for n in (2, 4, 5, 6, 63, 64, 65, 511, 512, 513, 1000, 5000):
        x = torch.randn(n)
        close(loaded(x), module(x))


class Computes(nn.Module):
    def forward(self, x, y):
        n, m = x.shape[0], y.shape[1]
        half = x[: n // 2].sum() * torch.arange((n + 1) // 2)
        return (
            half,
            x * max(n - 5, 0),
            torch.zeros(n - 1, n + m) + x.mean(),
            x * n + n // 3,
        )


def test_numbers_computed_from_sizes(make):
    shapes = ({0: Dim.AUTO}, {1: Dim.AUTO})
    example = torch.randn(7, 2), torch.randn(2, 9)
    loaded = make(Computes(), example, dynamic_shapes=shapes)
    for n, m in ((7, 9), (4, 2), (5, 5), (6, 40), (100, 3)):
        inputs = torch.randn(n, 2), torch.randn(2, m)
        for found, wanted in zip(loaded(*inputs), Computes()(*inputs), strict=True):
            close(found, wanted)


class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, stride=2, padding=1)

    def forward(self, x):
        return self.conv(x).relu(), x.chunk(2, -1)[1]


def test_windows_and_chunks_of_open_length(make):
    module = Windows().eval()
    shapes = ({2: Dim.AUTO(min=8, max=200)},)
    loaded = make(module, (torch.randn(2, 3, 30),), dynamic_shapes=shapes)
    for n in (30, 8, 9, 11, 200):
        x = torch.randn(2, 3, n)
        for found, wanted in zip(loaded(x), module(x), strict=True):
            close(found, wanted)


class Padded(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        rows = x.transpose(0, 1).unsqueeze(0)
        return (
            F.pad(x, (0, 0, 0, -n % 8)).reshape(-1, 8, 3).sum(1),
            F.pad(x, (0, 0, n // 2, 1), value=2.0),
            F.pad(rows, (n // 2, 1), mode="reflect"),
            F.pad(rows, (n // 2, 1), mode="replicate"),
        )


class Cut(nn.Module):
    def forward(self, x):
        head, tail = x.split([2, x.shape[0] - 2])
        first, second = x.split((x.shape[0] + 1) // 2)
        return first * 2, second * 2, head.sum() + tail, x.unfold(0, 4, 2) + 1


class Float(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, x):
        return self.of(x, x.shape[0])


FLOATS = {
    "root": lambda x, n: x / n**0.5,
    "one through root": lambda x, n: x * n**-0.5,
    "quotient": lambda x, n: x * (n / 7) + 1,
    "of integers": lambda x, n: torch.arange(n) / n**0.5,
    "a tensor of it": lambda x, n: x + torch.full((2, 3), n**0.5).sum(),
    "several": lambda x, n: x * (n / 7) / n**0.5 + torch.full((2,), n**-0.5).sum(),
}


@pytest.mark.parametrize("module", [Padded(), Cut()])
def test_numbers_computed_from_sizes_move_elements(make, module):
    shapes = ({0: Dim.AUTO(min=10)},)
    loaded = make(module, (torch.randn(13, 3),), dynamic_shapes=shapes)
    for n in (13, 10, 16, 63):
        x = torch.randn(n, 3)
        for found, wanted in zip(loaded(x), module(x), strict=True):
            close(found, wanted)


@pytest.mark.parametrize("name", FLOATS)
def test_floats_computed_from_sizes(make, name):
    module = Float(FLOATS[name])
    loaded = make(module, (torch.randn(6, 3),), dynamic_shapes=({0: Dim.AUTO},))
    for n in (6, 2, 9, 100):
        x = torch.randn(n, 3)
        found, wanted = loaded(x), module(x)
        assert found.dtype == wanted.dtype
        close(found, wanted)


class Scaled(nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x, scale=x.shape[1] ** -0.5)


class Chosen(nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[1] // 2 == 2 else x


@pytest.mark.parametrize("module", [Scaled(), Chosen()])
def test_a_number_that_the_exporter_fixed_is_refused(make, module):
    words = r"fixed a number that depends on a size: .*x\.shape\[1\].*with the number"
    with pytest.raises(torch_ltc.UnsupportedOpError, match=words):
        make(module, (torch.randn(2, 5, 8),), dynamic_shapes=({1: Dim.AUTO},))


class Pairs(nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0] // 2, 2).sum(1)


def test_sizes_that_the_program_does_not_take(make):
    loaded = make(Pairs(), (torch.randn(10),), dynamic_shapes=({0: Dim.AUTO},))
    for n in (10, 4, 64):
        x = torch.randn(n)
        close(loaded(x), Pairs()(x))
    with pytest.raises(torch_ltc.Error, match="input x is 11, which entry"):
        loaded(torch.randn(11))


class Cuts(nn.Module):
    def forward(self, x):
        count = (x > 0).sum().item()
        torch._check(count >= 0)
        return torch.arange(count)


def test_a_size_from_values_is_refused_with_its_line(tmp_path):
    program = export(Cuts(), (torch.ones(5),))
    line = "test_bundle_sizes.py:[0-9]+"
    with pytest.raises(torch_ltc.errors.UnsupportedOpError, match=line) as told:
        aot.compile(program, tmp_path / "x", targets="baseline")
    assert "masks in the place of sizes" in str(told.value)
    assert not list(tmp_path.iterdir())


def test_a_limit_keeps_what_is_the_same_below_it(make):
    shapes = ({0: Dim("n", max=60)},)
    loaded = make(Steps(), (torch.ones(10),), dynamic_shapes=shapes)
    x = torch.randn(60)
    close(loaded(x), Steps()(x))


class Halves(nn.Module):
    def forward(self, x):
        return x + 1, x.shape[0] / 2


def test_a_float_of_a_size_is_no_result(tmp_path, make):
    x = torch.ones(10)
    program = export(Halves(), (x,), dynamic_shapes=({0: Dim("n")},))
    with pytest.raises(torch_ltc.Error, match="result 1 is a number that depends"):
        aot.compile(program, tmp_path / "x", targets="baseline")
    assert make(Halves(), (x,))(x)[1] == 5


class Scans(nn.Module):
    def forward(self, x):
        def add(carry, row):
            return carry + row, carry * row

        return torch._higher_order_ops.scan(add, x[0] * 0, x)


def test_a_loop_through_an_open_number_of_rows(make):
    shapes = ({0: Dim("n")},)
    loaded = make(Scans(), (torch.ones(4, 2),), dynamic_shapes=shapes)
    for n in (4, 2, 9):
        x = torch.randn(n, 2)
        for found, wanted in zip(loaded(x), Scans()(x), strict=True):
            close(found, wanted)


class Slices(nn.Module):
    def forward(self, x, n):
        return x[:n] * 2 + x[:n].flip(0)


@pytest.mark.parametrize("example", [3, 8])
def test_a_slice_may_be_the_whole(make, example):
    x = torch.randn(8, 3)
    shapes = (None, Dim.DYNAMIC(max=8))
    loaded = make(Slices(), (x, example), dynamic_shapes=shapes)
    for n in (2, 3, 5, 8):
        assert torch.equal(loaded(x, n), Slices()(x, n))
    with pytest.raises(torch_ltc.Error, match=r"input n is 9, .* to 8"):
        loaded(x, 9)


class Repeats(nn.Module):
    def forward(self, x, n, scale):
        return x[:n].repeat(n, 1) * scale, n, torch.arange(n)


def test_integers_are_inputs(make):
    module = Repeats()
    shapes = (None, Dim.DYNAMIC(min=2, max=6), Dim.DYNAMIC(min=0))
    loaded = make(module, (torch.randn(8, 3), 4, 3), dynamic_shapes=shapes)
    x = torch.randn(8, 3)
    for n, scale in ((4, 3), (2, 0), (6, 10**12)):
        found, wanted = loaded(x, n, scale), module(x, n, scale)
        close(found[0], wanted[0])
        assert found[1] == n
        assert torch.equal(found[2], wanted[2])
    with pytest.raises(torch_ltc.Error, match=r"input n is 7, .* takes 2 to 6"):
        loaded(x, 7, 1)
    with pytest.raises(torch_ltc.Error, match="input scale is -1"):
        loaded(x, 4, -1)
    with pytest.raises(torch_ltc.Error, match=r"input n .* is an integer"):
        loaded(x, torch.tensor(4), 1)
