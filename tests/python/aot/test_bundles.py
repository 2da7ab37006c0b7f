# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles give what the exported module gives in eager."""

import platform
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from aot.export import LENGTH, models
from torch import nn
from torch.export import Dim, export
from torch_ltc import aot
from torch_ltc.aot import bundles, tracing
from torch_ltc.aot.library import has_target

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)


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


class TimeFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 24)

    def forward(self, x):
        return self.layer(x.transpose(0, 1))


@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_layer_is_one_product(make, is_frozen):
    """Of weights without gradients PyTorch makes one for each of a batch."""
    module, x = TimeFirst().requires_grad_(not is_frozen), torch.rand(3, 7, 16)
    traced = tracing.Program(export(module, (x,)))
    text = tracing.Trace(traced, [x.shape], tracing.Weights()).built.text()
    assert "aten::bmm" not in text
    assert "aten::mm(" in text
    close(make(module, (x,))(x), module(x))


class KeepsKeys(nn.Module):
    """Writes token by token, and attends to all tokens of the calls before."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(40, 16), nn.Embedding(32, 16)
        self.head = nn.Linear(16, 40)
        self.register_buffer("keys", torch.zeros(32, 16))

    def forward(self, token, place):
        x = self.tokens(token) + self.places(place)
        places = torch.arange(32)
        self.keys.copy_(torch.where((places == place)[:, None], x, self.keys))
        scores = (x @ self.keys.t()).masked_fill(places > place, -torch.inf)
        return self.head(x + scores.softmax(-1) @ self.keys).argmax(-1)


def test_a_model_that_keeps_its_keys_writes_eagers_tokens(make):
    torch.manual_seed(0)
    model = KeepsKeys().eval()
    example = torch.tensor([1]), torch.tensor([0])
    loaded = make(model, example, targets=("avx512", "avx2", "baseline"))

    def write(step):
        tokens = [torch.tensor([1])]
        for place in range(30):
            tokens.append(step(tokens[-1], torch.tensor([place])))
        return torch.cat(tokens).tolist()

    with torch.no_grad():
        wanted = write(model)
    assert write(loaded) == wanted
    loaded.reset()
    assert write(loaded) == wanted
    assert len(set(wanted)) > 3


def test_a_gpt_writes_its_text_in_one_call(make):
    _, gpt = models()
    text = torch.zeros(LENGTH, dtype=torch.int64)
    loaded = make(gpt, (text, 20))
    with torch.no_grad():
        wanted = gpt(text, 20)
    assert torch.equal(loaded(text, 20), wanted)
    assert len(wanted.unique()) > 3


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


class Doubles(nn.Module):
    def forward(self, x):
        return x * 2


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
    program = export(Draws(), (torch.zeros(1),))
    for targets, told in ((["sse9"], "'sse9' is no target"), ((), "targets is empty")):
        with pytest.raises(torch_ltc.Error, match=told):
            aot.compile(program, tmp_path / "x", targets=targets)
    aot.compile(program, tmp_path / "one", targets="baseline")
    assert aot.load(tmp_path / "one").target == "x86-64-v2"


def test_bundles_are_made_for_other_processors(tmp_path):
    path = tmp_path / "model.ltcpkg"
    aot.compile(export(Doubles(), (torch.ones(2),)), path, targets=["avx512"])
    if has_target("x86-64-v4"):
        close(aot.load(path)(torch.ones(2)), torch.full((2,), 2.0))
    else:
        unsupported = torch_ltc.errors.UnsupportedOpError
        with pytest.raises(unsupported, match=r"model\.ltcpkg: .*code for x86-64-v4"):
            aot.load(path)


def test_programs_have_entries_and_examples(tmp_path):
    with pytest.raises(torch_ltc.Error, match="programs is empty"):
        aot.compile({}, tmp_path / "x")
    program = export(Doubles(), (torch.ones(2),))
    program.example_inputs = None
    with pytest.raises(torch_ltc.Error, match="no example_inputs"):
        aot.compile(program, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_two_compiles_of_one_path_do_not_meet(tmp_path, monkeypatch):
    path = tmp_path / "model.ltcpkg"
    program = export(Doubles(), (torch.ones(2),))
    load = bundles.model.load

    def load_late(made):
        monkeypatch.setattr(bundles.model, "load", load)
        aot.compile(program, path, targets="baseline", weights="beside")
        return load(made)

    monkeypatch.setattr(bundles.model, "load", load_late)
    aot.compile(program, path, targets="baseline")
    close(aot.load(path)(torch.ones(2)), torch.full((2,), 2.0))
    names = {"model.ltcpkg", "model.ltcpkg.weights"}
    assert {file.name for file in tmp_path.iterdir()} == names
    assert path.stat().st_mode & 0o022 == 0


class Takes(nn.Module):
    def forward(self, x, scale=2.0, *, left=None, right=None):
        return left * scale - right + x


def test_arguments_are_taken_as_the_module_takes_them(make):
    named = {"right": torch.tensor(3.0), "left": torch.tensor(5.0)}
    x = torch.ones(2)
    loaded = make(Takes(), (x, float("nan")), kwargs=named)
    swapped = {name: named[name] for name in ("left", "right")}
    assert loaded(x, float("nan"), **swapped).isnan().all()
    with pytest.raises(torch_ltc.Error, match="was exported with nan"):
        loaded(x, torch.ones(3), **named)
    loaded = make(Takes(), (x,), kwargs=named)
    close(loaded(x, **swapped), Takes()(x, **named))


def test_what_no_entry_is_named(tmp_path):
    program = export(Doubles(), (torch.ones(2),))
    path = tmp_path / "model.ltcpkg"
    aot.compile({"once": program, "again": program}, path, targets="baseline")
    with pytest.raises(torch_ltc.Error, match=r"entries once, again .*model\['once'\]"):
        aot.load(path)(torch.ones(2))


FEW_THREADS = """
import resource, threading, time, torch
from torch_ltc import aot
from torch_ltc.aot import bundles, tracing
from torch_ltc.aot.library import has_target
loaded = aot.load({path!r})
x = torch.ones(1 << 20)
wanted = x * 2
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
aot.use_threads(24)
assert torch.equal(loaded(x), wanted)
started = 0
try:
    while started < 24:
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
assert started < 24, "there was memory for all"
"""


def test_a_system_without_more_threads_is_no_crash(tmp_path, run_python):
    path = tmp_path / "double.ltcpkg"
    program = export(Doubles(), (torch.ones(2),), dynamic_shapes=({0: Dim("n")},))
    aot.compile(program, path, targets="baseline")
    run_python(FEW_THREADS.format(path=str(path)))


LOADS_LITTLE = """
import sys, torch
from torch_ltc import aot
from torch_ltc.aot import bundles, tracing
from torch_ltc.aot.library import has_target
loaded = aot.load(sys.argv[1] if len(sys.argv) > 1 else {path!r})
assert torch.equal(loaded(torch.ones(2)), torch.full((2,), 2.0))
maps = open("/proc/self/maps").read()
for library in ("libltc_compiler", "libltc_backend", "libltc_driver"):
    assert library not in maps, library
assert "libltc_aot" in maps
for module in ("torch._dynamo", "torch_ltc._C"):
    assert module not in sys.modules, module
"""


def test_loading_needs_no_compiler(tmp_path, run_python):
    path = tmp_path / "double.ltcpkg"
    aot.compile(export(Doubles(), (torch.ones(2),)), path, targets=["baseline"])
    run_python(LOADS_LITTLE.format(path=str(path)))


class Puts(nn.Module):
    def forward(self, x, i, v):
        y = x.clone()
        y[:, i] = v
        y[i[:2], :, i[:2]] += v.sum()
        y.index_put_((i[:, None], i - 1), v[0, 0, 0], accumulate=True)
        return y, torch.arange(4).index_put((i,), torch.tensor(7))


def test_elements_are_written_by_index(make):
    module = Puts()
    given = torch.randn(3, 4, 5), torch.tensor([0, 2, 2]), torch.randn(3, 3, 5)
    loaded = make(module, given)
    close(loaded(*given), module(*given))
    i = torch.tensor([-1, 1, 0])
    close(loaded(given[0], i, given[2]), module(given[0], i, given[2]))
    with pytest.raises(torch_ltc.errors.IndexOutOfRangeError, match="index 4 is out"):
        loaded(given[0], torch.tensor([0, 1, 4]), given[2])
