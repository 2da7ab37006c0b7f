# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles give what the exported module gives in eager."""

import platform
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from aot.export import models
from torch import nn
from torch.export import Dim, export
from torch_ltc import aot

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)


@pytest.fixture
def make(tmp_path):
    """Compile for the oldest target and load: make(module, args, ...)."""

    def bundle(module, args, *, targets=("baseline",), **options):
        path = tmp_path / "model.ltcpkg"
        aot.compile(export(module, args, **options), path, targets=targets)
        return aot.load(path)

    return bundle


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_network_for_batches_of_any_size(make):
    cnn, _ = models()
    batch = Dim("batch", max=64)
    loaded = make(cnn, (torch.rand(8, 1, 28, 28),), dynamic_shapes=({0: batch},))
    for size in (8, 1, 3, 64):
        images = torch.rand(size, 1, 28, 28)
        close(loaded(images), cnn(images))
    with pytest.raises(torch_ltc.Error, match=r"dimension 0 of input images is 65"):
        loaded(torch.rand(65, 1, 28, 28))
    with pytest.raises(torch_ltc.Error, match=r"dimension 2 of input images is 27"):
        loaded(torch.rand(2, 1, 27, 28))
    with pytest.raises(torch_ltc.Error, match=r"images .*torch.float32 with 4"):
        loaded(torch.rand(2, 28, 28))


def test_a_gpt_that_keeps_its_keys_writes_eagers_tokens(make):
    _, gpt = models()
    example = torch.tensor([1]), torch.tensor([0])
    loaded = make(gpt, example, targets=("avx512", "avx2", "baseline"))

    def write(step):
        tokens = [torch.tensor([1])]
        for place in range(30):
            tokens.append(step(tokens[-1], torch.tensor([place])))
        return torch.cat(tokens).tolist()

    with torch.no_grad():
        wanted = write(gpt)
    assert write(loaded) == wanted
    loaded.reset()
    assert write(loaded) == wanted
    assert len(set(wanted)) > 3


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


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x, scale=2.0):
        self.total += self.linear(x).sum(0)
        x.mul_(scale)
        return self.total.clone(), x.shape[1], None


def test_buffers_and_inputs_are_written_to(make):
    module = Counts()
    loaded = make(Counts.eval(module), (torch.randn(3, 4),))
    for _ in range(3):
        x = torch.randn(3, 4)
        mine = x.clone()
        with torch.no_grad():
            wanted = module(x)
        found = loaded(mine)
        close(found[0], wanted[0])
        assert found[1:] == wanted[1:]
        assert torch.equal(mine, x)
    with pytest.raises(torch_ltc.Error, match="exported with other arguments"):
        loaded(torch.randn(3, 4), 3.0)


def test_entries_share_weights(tmp_path):
    linear = nn.Linear(64, 64)
    twice = nn.Sequential(linear, linear)
    x = torch.randn(2, 64)
    programs = {"once": export(linear, (x,)), "twice": export(twice, (x,))}
    path = tmp_path / "model.ltcpkg"
    aot.compile(programs, path, targets=["baseline"])
    loaded = aot.load(path)
    close(loaded["once"](x), linear(x))
    close(loaded["twice"](x), twice(x))
    assert path.stat().st_size < 2 * linear.weight.nbytes + 30_000
    with pytest.raises(KeyError):
        loaded["thrice"]


def test_weights_beside(tmp_path):
    linear = nn.Linear(16, 16)
    x = torch.randn(2, 16)
    path = tmp_path / "model.ltcpkg"
    aot.compile(export(linear, (x,)), path, weights="beside", targets=["baseline"])
    close(aot.load(path)(x), linear(x))
    weights = tmp_path / "model.ltcpkg.weights"
    data = bytearray(weights.read_bytes())
    data[5] ^= 1
    weights.write_bytes(data)
    with pytest.raises(torch_ltc.Error, match="checksum of its weights"):
        aot.load(path)
    weights.unlink()
    with pytest.raises(torch_ltc.Error, match="No such file"):
        aot.load(path)


class Draws(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


def test_random_ops_follow_the_seed(make):
    loaded = make(Draws(), (torch.zeros(100),))
    first, second = loaded(torch.zeros(100)), loaded(torch.zeros(100))
    assert not torch.equal(first, second)
    assert first.min() >= 0 and first.max() < 1 and 0.3 < first.mean() < 0.7
    loaded.seed(0)
    assert torch.equal(loaded(torch.zeros(100)), first)


class Looks(nn.Module):
    def forward(self, table, index):
        return F.embedding(index, table)


def test_an_index_out_of_range_names_the_op(make):
    loaded = make(Looks(), (torch.rand(4, 3), torch.tensor([1])))
    with pytest.raises(torch_ltc.errors.IndexOutOfRangeError, match=r"aten::embedding"):
        loaded(torch.rand(4, 3), torch.tensor([4]))
    close(loaded(torch.ones(4, 3), torch.tensor([3])), torch.ones(1, 3))


class Solves(nn.Module):
    def forward(self, a):
        return torch.linalg.inv_ex(a @ a)[0] + 1


def test_what_needs_pytorch_is_refused_by_name(tmp_path):
    path = tmp_path / "model.ltcpkg"
    with pytest.raises(torch_ltc.errors.UnsupportedOpError) as refused:
        aot.compile(export(Solves(), (torch.eye(3),)), path, targets=["baseline"])
    assert "linalg_inv_ex" in refused.value.op
    assert Path(refused.value.file).name == Path(__file__).name
    assert refused.value.line == Solves.forward.__code__.co_firstlineno + 1
    assert not list(tmp_path.iterdir())


def test_targets_have_names(tmp_path):
    with pytest.raises(torch_ltc.Error, match="'sse9' is no target"):
        aot.compile(
            export(Draws(), (torch.zeros(1),)), tmp_path / "x", targets=["sse9"]
        )


LOADS_LITTLE = """
import sys, torch
from torch_ltc import aot
loaded = aot.load(sys.argv[1] if len(sys.argv) > 1 else {path!r})
assert torch.equal(loaded(torch.ones(2)), torch.full((2,), 2.0))
maps = open("/proc/self/maps").read()
for library in ("libltc_compiler", "libltc_backend", "libltc_driver"):
    assert library not in maps, library
assert "libltc_aot" in maps
for module in ("torch._dynamo", "torch_ltc._C"):
    assert module not in sys.modules, module
"""


class Doubles(nn.Module):
    def forward(self, x):
        return x * 2


def test_loading_needs_no_compiler(tmp_path, run_python):
    path = tmp_path / "double.ltcpkg"
    aot.compile(export(Doubles(), (torch.ones(2),)), path, targets=["baseline"])
    run_python(LOADS_LITTLE.format(path=str(path)))
