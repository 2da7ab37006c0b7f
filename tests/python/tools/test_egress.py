# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs written as StableHLO and as TOSA have eager's values elsewhere.

StableHLO is run by JAX's XLA. TOSA is verified and lowered by upstream's mlir-opt,
and run by mlir-runner.
"""

import subprocess
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from foreign_compilers import (
    call,
    eager,
    lowered_from_tosa,
    needs_jax,
    needs_mlir,
    run_upstream,
    stablehlo_results,
    value_of,
)
from torch import nn

SAMPLES = Path(__file__).resolve().parents[3] / "mlir_lowering/tools/samples"


class Block(nn.Module):
    """A layer of a GPT: it sees what is before."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 64), nn.Linear(64, width)

    def forward(self, x):
        parts = self.qkv(self.first(x)).chunk(3, dim=-1)
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.second(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(20, 16), nn.Embedding(6, 16)
        self.block, self.norm = Block(16, 2), nn.LayerNorm(16)
        self.head = nn.Linear(16, 20, bias=False)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.block(x)))


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, groups=2),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 5),
    )


def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)


def image():
    return torch.randn(2, 3, 8, 8)


NETWORKS = {
    "mlp": (mlp, lambda: torch.randn(5, 6), lambda y: y.square().mean()),
    "cnn": (cnn, image, lambda y: F.cross_entropy(y, y.detach().argmax(1))),
    "encoder": (encoder, lambda: torch.randn(2, 5, 8), lambda y: y.square().mean()),
    "gpt": (
        GPT,
        lambda: torch.randint(20, (2, 6)),
        lambda y: y[:, :-1].logsumexp(-1).mean() - y[:, 1:, 3].mean(),
    ),
}


def network(name):
    torch.manual_seed(0)
    make, draw, loss = NETWORKS[name]
    return make(), draw(), loss


def training_step(module, loss):
    """Return a step of SGD as a function of parameters and a batch."""
    buffers = {k: v.clone() for k, v in module.named_buffers()}

    def step(parameters, buffers, x):
        with torch.enable_grad():
            learned = {k: p.detach().requires_grad_() for k, p in parameters.items()}
            value = loss(torch.func.functional_call(module, (learned, buffers), x))
            gradients = torch.autograd.grad(value, list(learned.values()))
        moved = [
            p - 0.1 * g for p, g in zip(parameters.values(), gradients, strict=True)
        ]
        return value.detach(), moved

    parameters = {k: p.detach() for k, p in module.named_parameters()}
    return step, (parameters, buffers)


def copied(args):
    return torch.utils._pytree.tree_map(
        lambda x: x.clone() if isinstance(x, torch.Tensor) else x, args
    )


def tosa_results(exported, folder):
    text = lowered_from_tosa(exported.path, folder)
    found = run_upstream(text, exported.inputs, folder)
    return [value_of(result, found) for result in exported.results]


def assert_runs(program, args, folder, dialect, rtol=1e-4, atol=2e-5):
    wanted = eager(program, copied(args))
    exported = torch_ltc.export_graph(program, folder / "m", *args, dialect=dialect)
    if dialect == "stablehlo":
        found = stablehlo_results(exported)
    else:
        found = tosa_results(exported, folder)
    assert len(found) == len(wanted)
    for mine, value in zip(found, wanted, strict=True):
        if not isinstance(mine, torch.Tensor):
            mine = torch.tensor(mine).reshape(value.shape)
        torch.testing.assert_close(mine, value, rtol=rtol, atol=atol, equal_nan=True)


@needs_jax
@pytest.mark.parametrize("name", NETWORKS)
def test_xla_runs_networks(tmp_path, name):
    module, x, _ = network(name)
    assert_runs(module.eval(), (x,), tmp_path, "stablehlo")


@needs_jax
@pytest.mark.parametrize("name", NETWORKS)
def test_xla_trains_networks(tmp_path, name):
    module, x, loss = network(name)
    step, state = training_step(module, loss)
    assert_runs(step, (*state, x), tmp_path, "stablehlo")


@needs_mlir
@pytest.mark.parametrize("name", NETWORKS)
def test_upstream_lowers_tosa(tmp_path, name):
    module, x, _ = network(name)
    assert_runs(module.eval(), (x,), tmp_path, "tosa")


@needs_mlir
@pytest.mark.slow  # upstream's passes take seconds
@pytest.mark.parametrize("name", NETWORKS)
def test_upstream_lowers_steps_in_tosa(tmp_path, name):
    module, x, loss = network(name)
    step, state = training_step(module, loss)
    assert_runs(step, (*state, x), tmp_path, "tosa")


@needs_jax
def test_dtypes_at_the_boundary(tmp_path):
    def program(flags, bytes_, halves, x, n):
        return (
            flags & (x > 0),
            bytes_ // 3 + 200,
            halves * 2,
            x.argmax(1),
            x.to(torch.int32) + n,
            flags.any(1),
            bytes_.amax(),
        )

    args = (
        torch.tensor([[True, False], [True, True]]),
        torch.tensor([[7, 250], [90, 3]], dtype=torch.uint8),
        torch.tensor([0.5, 3.25]).bfloat16(),
        torch.tensor([[1.5, -2.0], [0.25, 8.0]], dtype=torch.float64),
        3,
    )
    assert_runs(program, args, tmp_path, "stablehlo")


@needs_jax
def test_random_numbers_are_the_ones_of_the_seed(tmp_path):
    def program(x):
        return F.dropout(x, 0.25)

    path, x = tmp_path / "m", torch.ones(4096)
    with torch_ltc.settings.scope(rng="fast"):
        exported = torch_ltc.export_graph(program, path, x, dialect="stablehlo")
    exported = exported._replace(
        inputs=[7 if v is None else v for v in exported.inputs]
    )
    kept = stablehlo_results(exported)[0]
    torch.testing.assert_close(kept.unique(), torch.tensor([0.0, 4 / 3]))
    assert 0.7 < (kept != 0).float().mean() < 0.8


@pytest.mark.parametrize("dialect", ["stablehlo", "tosa"])
def test_what_cannot_be_said_is_refused_by_name(tmp_path, dialect):
    with pytest.raises(torch_ltc.UnsupportedOpError) as caught:
        torch_ltc.export_graph(
            lambda x: (x + 1).lgamma(), tmp_path / "m", torch.ones(3), dialect=dialect
        )
    said = str(caught.value)
    assert "aten::lgamma" in said and Path(__file__).name in said
    assert {"stablehlo": "StableHLO", "tosa": "TOSA"}[dialect] in said
    assert not (tmp_path / "m").exists()


def test_what_only_one_dialect_says(tmp_path):
    args = (lambda x: x.sort().values, tmp_path / "m", torch.ones(3))
    assert torch_ltc.export_graph(*args, dialect="stablehlo").path.exists()
    with pytest.raises(torch_ltc.UnsupportedOpError, match="TOSA does not sort"):
        torch_ltc.export_graph(*args, dialect="tosa")


def test_the_tool_writes_the_same(tmp_path):
    tool = (Path(torch_ltc.__file__).parent / "lib").resolve().parent / "bin/ltc-opt"
    if not tool.exists():
        pytest.skip("ltc-opt is not beside the libraries")
    module, x, _ = network("mlp")
    exported = torch_ltc.export_graph(module, tmp_path / "a", x, dialect="stablehlo")
    torch_ltc.export_graph(module, tmp_path / "g.ltc", x, dialect="graph")
    assert (
        call(tool, tmp_path / "g.ltc", "--emit=stablehlo") == exported.path.read_text()
    )
    for sample in ("cnn", "gpt"):  # whole training steps
        text = call(tool, SAMPLES / f"{sample}.ltc", "--emit=stablehlo")
        assert text.startswith("// StableHLO") and "stablehlo.dot_general" in text
    wrong = subprocess.run(
        [tool, tmp_path / "g.ltc", "--emit=hlo"], capture_output=True, text=True
    )
    assert wrong.returncode == 1 and "stablehlo-part or tosa, not 'hlo'" in wrong.stderr
