# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported linalg goes through upstream's own tools and has eager's values."""

import re

import pytest
import torch
import torch_ltc
from foreign_compilers import needs_mlir, run_upstream
from torch import nn


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))


def gradient(weight, x, target):
    error = (x @ weight).tanh() - target
    return error.square().mean(), x.t() @ (error * (1 - (error + target).square()))


PROGRAMS = {
    "mlp": (mlp, lambda: (torch.randn(5, 6),)),
    "softmax": (lambda: lambda x: (x * 2).softmax(1), lambda: (torch.randn(4, 7),)),
    "gradient": (
        lambda: gradient,
        lambda: (torch.randn(4, 3), torch.randn(5, 4), torch.randn(5, 3)),
    ),
    "attention without a kernel": (
        lambda: lambda q, k, v: torch.bmm((torch.bmm(q, k.mT) / 2).softmax(-1), v),
        lambda: tuple(torch.randn(2, 3, 4) for _ in range(3)),
    ),
    "a number": (
        lambda: lambda x, n: torch.add(x, x, alpha=n),
        lambda: (torch.ones(3), 3),
    ),
}


@needs_mlir
@pytest.mark.parametrize("name", PROGRAMS)
def test_upstreams_tools_run_it(tmp_path, name):
    make, draw = PROGRAMS[name]
    program = make()
    torch.manual_seed(1)
    args = draw()
    exported = torch_ltc.export_graph(program, tmp_path / "graph.mlir", *args)
    with torch.no_grad():
        wanted = program(*args)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = run_upstream(exported.path.read_text(), exported.inputs, tmp_path)
    assert len(exported.results) == len(wanted)
    for result, value in zip(exported.results, wanted, strict=True):
        mine = torch.tensor(found[result]).reshape(value.shape)
        torch.testing.assert_close(mine, value, rtol=1e-4, atol=1e-5)


@needs_mlir
def test_open_sizes_of_an_exported_program(tmp_path):
    model = mlp()
    batch = torch.export.Dim("batch", min=2, max=64)
    example = torch.randn(3, 6)
    program = torch.export.export(model, (example,), dynamic_shapes=({0: batch},))
    exported = torch_ltc.export_graph(program, tmp_path / "open.mlir")
    text = exported.path.read_text()
    assert 'ltc.sizes = ["s0", 6]' in text
    assert "linalg.matmul" in text
    at = next(i for i, x in enumerate(exported.inputs) if x.shape == example.shape)
    for rows in (2, 5):
        inputs = list(exported.inputs)
        inputs[at] = torch.randn(rows, 6)
        with torch.no_grad():
            wanted = model(inputs[at])
        found = run_upstream(text, inputs, tmp_path)
        mine = torch.tensor(found[exported.results[0]]).reshape(rows, 3)
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dialect", ["stablehlo", "tosa"])
def test_open_sizes_are_refused_where_there_are_none(tmp_path, dialect):
    model, rows = mlp(), torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(
        model, (torch.randn(3, 6),), dynamic_shapes=({0: rows},)
    )
    path = tmp_path / "graph.mlir"
    with pytest.raises(torch_ltc.UnsupportedOpError, match="leaves s0 open") as refused:
        torch_ltc.export_graph(program, path, dialect=dialect)
    assert "pass export_graph arguments of the sizes" in str(refused.value)
    assert not path.exists()
    # Which is what that does: for two sizes.
    for size in (5, 7):
        x = torch.randn(size, 6)
        closed = torch_ltc.export_graph(program, path, x, dialect=dialect)
        own = torch_ltc.export_graph(model, tmp_path / "own.mlir", x, dialect=dialect)
        assert sum(value is x for value in closed.inputs) == 1
        assert len(closed.results) == 1
        without_lines = [
            re.sub(r" loc\(.*", "", one.path.read_text()) for one in (closed, own)
        ]
        assert without_lines[0] == without_lines[1]
        assert f"tensor<{size}x3xf32>" in without_lines[0]


def test_a_modules_state_is_an_input(tmp_path):
    module = mlp()
    x = torch.randn(5, 6)
    exported = torch_ltc.export_graph(module, tmp_path / "m", x, dialect="graph")
    tensors = [v for v in exported.inputs if isinstance(v, torch.Tensor)]
    assert len(tensors) == 1 + len(list(module.parameters()))
    text = exported.path.read_text()
    assert text.startswith("graph {") and "aten::native_layer_norm" in text
    assert text.count("= input f32") == len(tensors)


def test_what_is_written_is_told(tmp_path):
    module = nn.BatchNorm1d(3)
    exported = torch_ltc.export_graph(module, tmp_path / "m", torch.randn(4, 3))
    names = {id(v): k for k, v in module.named_buffers()}
    written = {names[id(tensor)] for tensor, _ in exported.written}
    assert len({value for _, value in exported.written}) == 3  # results of main
    assert written == {"running_mean", "running_var", "num_batches_tracked"}
    assert module.num_batches_tracked == 0  # nothing has run


class Overwrites(nn.Module):
    """Writes to a buffer that it does not read."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))
        self.register_buffer("count", torch.ones(2))

    def forward(self, x):
        self.last.copy_(x * 2)
        self.count.zero_()
        return x


def test_what_is_written_and_not_read_is_told(tmp_path):
    module, x = Overwrites(), torch.randn(3)
    exported = torch_ltc.export_graph(module, tmp_path / "m", x, dialect="graph")
    written = {id(tensor): value for tensor, value in exported.written}
    assert set(written) == {id(module.last), id(module.count)}
    assert sorted(written.values()) == [0, 1]
    assert exported.inputs[0] is x
    assert exported.results == [x]  # what is returned as it is


def test_a_tensor_given_twice_is_two_inputs(tmp_path):
    x = torch.randn(3)

    def program(x, y):
        y.mul_(2)
        return x - y

    exported = torch_ltc.export_graph(program, tmp_path / "m", x, x, dialect="graph")
    assert sum(value is x for value in exported.inputs) == 2
    assert len(exported.written) == 1 and exported.written[0][0] is x


def test_a_tensor_that_is_no_argument_is_refused(tmp_path):
    table = torch.randn(3)
    for program in (
        lambda x: x + table.to(x.device),
        lambda x: (x + 1, table.to(x.device)),
    ):
        with pytest.raises(torch_ltc.UnsupportedOpError, match="none of its arguments"):
            torch_ltc.export_graph(program, tmp_path / "m", torch.ones(3))
    assert not (tmp_path / "m").exists()


def test_nothing_is_compiled(tmp_path):
    before = torch.lazy.metrics().get("codegen.graphs", 0)
    torch_ltc.export_graph(lambda x: x.cosh() - 0.375, tmp_path / "m", torch.ones(17))
    assert torch.lazy.metrics().get("codegen.graphs", 0) == before


def test_bytecode_and_wrong_names(tmp_path):
    x = torch.ones(2, 2)
    add = lambda x: x + 1  # noqa: E731
    exported = torch_ltc.export_graph(add, tmp_path / "b", x, dialect="bytecode")
    assert exported.path.read_bytes()[:4] == b"ML\xefR"
    with pytest.raises(ValueError, match="stablehlo, tosa, not 'hlo'"):
        torch_ltc.export_graph(add, tmp_path / "t", x, dialect="hlo")
    whole = torch_ltc.export_graph(lambda x: x.sort().values, tmp_path / "s", x)
    assert '"aten::sort' in whole.path.read_text()
