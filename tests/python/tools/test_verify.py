# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""verify() finds graphs that are compiled wrong, and the op at fault."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch import nn
from torch_ltc import MiscompiledError, verify
from torch_ltc.checking import reproducer

LAZY = torch.device("lazy")
BUILD = Path(torch_ltc.__file__).parents[2]
SEEDS = BUILD / "tests" / "libseeded_miscompiles.so"

needs_seeds = pytest.mark.skipif(
    not SEEDS.parent.exists(), reason="an installed package has no seeded miscompiles"
)


@pytest.fixture
def seed():
    """Have compiles go wrong in one way from now on."""
    library = ctypes.CDLL(str(SEEDS))
    torch.lazy.mark_step(wait=True)
    yield lambda kind: library.ltc_seed(kind.encode())
    library.ltc_seed(b"")
    torch_ltc.startup.start().forget_programs()


def numbers(*size):
    return torch.linspace(0.5, 2.0, torch.Size(size).numel()).reshape(size).to(LAZY)


# Each: the program, how much of it is at fault, and a part of the verdict.


def row(n):
    x = numbers(3, n)
    return (x.sin() * 2 + x.cos()).expm1().mul(0.5).sum(1)


def order(n):
    x, y = numbers(5, n), numbers(5, n).flip(1)
    return (x * y.cos() - y).tanh().sum(0)


def scalar(n):
    x = numbers(2, n)
    return (x.exp() * 3.0).add(x).div(7.0).sin()


def bound(n):
    x = numbers(67, n)
    return (x @ numbers(n, 4)).relu().softmax(1)


def donation(n):
    weight = numbers(n, n)
    torch.lazy.mark_step(wait=True)
    product = weight @ weight.flip(0)
    weight.sub_(weight * 0.25)
    return product, weight


CASES = {
    row: "At fault: aten::expm1 at ",
    order: "At fault: 2 ops that are right alone: aten::mul.Tensor at ",
    scalar: "aten::div.Tensor at ",
    bound: "At fault: ",
    donation: "At fault: memory that is written over while it is still read, in ",
}


@needs_seeds
@pytest.mark.parametrize("program", CASES, ids=lambda case: case.__name__)
def test_a_seeded_miscompile_is_found_and_bisected(program, seed, tmp_path):
    seed(program.__name__)
    with torch_ltc.settings.scope(repro_dir=str(tmp_path)):
        with pytest.raises(MiscompiledError) as raised, verify():
            kept = program(33)
        error = raised.value
        # It is wrong whenever it comes, and looked into once.
        with pytest.raises(MiscompiledError), verify():
            kept = program(33)
    assert CASES[program] in error.message
    assert error.file.endswith("test_verify.py")
    assert error.function == program.__name__
    assert "ULP" in error.message
    (directory,) = tmp_path.iterdir()
    assert f"{directory}/repro.py fails alone" in error.hint
    assert reproducer.run(directory) == 1
    seed("")
    torch_ltc.startup.start().forget_programs()
    assert reproducer.run(directory) == 0
    with verify():  # made right, it passes
        kept = program(33)
    del kept


@needs_seeds
@pytest.mark.slow
def test_few_ops_are_left_of_many(seed, tmp_path):
    seed("row")
    with (
        torch_ltc.settings.scope(repro_dir=str(tmp_path)),
        pytest.raises(MiscompiledError, match=r"a compiled graph of 4. ops"),
        verify(),
    ):
        x = numbers(4, 31)
        for i in range(20):
            x = (x * 0.7).sin()
            if i == 11:
                x = x.expm1()
    (directory,) = tmp_path.iterdir()
    text = (directory / "graph.ltc").read_text()
    assert text.count(" = aten::") == 1
    assert (directory / "whole.ltc").read_text().count(" = aten::") > 40


@needs_seeds
def test_what_a_wrong_graph_was_to_update_keeps_its_value(seed):
    seed("row")
    weight = numbers(3, 29)
    before = weight.cpu()
    with pytest.raises(MiscompiledError), verify():
        weight.copy_(weight.expm1())
    assert torch.equal(weight.cpu(), before)


@needs_seeds
def test_a_directory_that_cannot_be_written_is_said_and_no_more(seed, tmp_path, capsys):
    seed("row")
    (tmp_path / "file").write_text("")
    with (
        torch_ltc.settings.scope(repro_dir=str(tmp_path / "file")),
        pytest.raises(MiscompiledError, match="no reproducer"),
        verify(),
    ):
        kept = row(27)
    assert "torch_ltc: no reproducer: " in capsys.readouterr().err
    del kept


FAILURE = """
import ctypes, pathlib
import torch, torch_ltc
from torch_ltc.checking import reproducer
library = ctypes.CDLL({seeds!r})
torch.lazy.init()
library.ltc_seed(b"failure")
x = torch.linspace(0.5, 2, 93).reshape(3, 31).to("lazy")
print(x.cos().expm1().sum(1).tolist())
(directory,) = pathlib.Path({found!r}).iterdir()
for kind in b"failure", b"":
    library.ltc_seed(kind)
    torch_ltc.startup.start().forget_programs()
    print("status", reproducer.run(directory))
"""


@needs_seeds
@pytest.mark.slow
def test_a_compiler_failure_leaves_a_reproducer(run_python, tmp_path):
    found = tmp_path / "found"
    script = FAILURE.format(seeds=str(SEEDS), found=str(found))
    done = run_python(script, LTC_REPRO_DIR=str(found))
    x = torch.linspace(0.5, 2, 93).reshape(3, 31).cos().expm1().sum(1)
    values = [float(v) for v in done.stdout.splitlines()[0].strip("[]").split(",")]
    torch.testing.assert_close(torch.tensor(values), x)
    (directory,) = found.iterdir()
    assert f"{directory}/repro.py fails alone" in done.stderr
    assert "the compiler fails at a graph" in (directory / "repro.py").read_text()
    assert done.stdout.count("status 1\n") == done.stdout.count("status 0\n") == 1


STALE = """
import ctypes, sys
import torch, torch_ltc
seeds, kind, directory = sys.argv[1:]
library = ctypes.CDLL(seeds)
torch.lazy.init()
library.ltc_seed(kind.encode())
try:
    with torch_ltc.settings.scope(repro_dir=directory, verify=not kind):
        x = torch.linspace(0.5, 2, 93).reshape(3, 31).to("lazy")
        y = x.cos().expm1().sum(1).tolist()
    print("ran")
except torch_ltc.MiscompiledError as error:
    print(error)
"""


@needs_seeds
@pytest.mark.slow
def test_a_stale_entry_on_disk_is_told_from_a_wrong_compile(tmp_path):
    script = tmp_path / "stale.py"
    script.write_text(STALE)
    cache, found = tmp_path / "cache", tmp_path / "found"
    cache.mkdir(mode=0o700)
    environment = os.environ | {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(cache)}

    def run(*command, status=0):
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    assert "ran" in run(script, SEEDS, "row", found)
    said = run(script, SEEDS, "", found)
    assert "At fault: the entry of the cache on disk" in said
    assert "ltc-cache clear" in said
    (directory,) = found.iterdir()
    del environment["LTC_CACHE_DIR"]
    assert "differ" in run(directory / "repro.py", status=1)


def train(steps=2):
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.GELU(),
        nn.Flatten(),
        nn.Linear(144, 5),
    ).to(LAZY)
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = torch.rand(6, 1, 8, 8).to(LAZY), torch.arange(6).remainder(5).to(LAZY)
    for _ in range(steps):
        optimizer.zero_grad()
        out = nn.functional.dropout(model(x), 0.3)
        nn.functional.cross_entropy(out, y).backward()
        optimizer.step()


def test_right_graphs_pass(counts):
    with verify():
        train()
        x = numbers(40, 50)
        (x - x.mean(0)).sum().item()  # rounding errors alone are left
        x.bfloat16().matmul(x.t().bfloat16()).float().tolist()
        (x > x.flip(0)).nonzero().tolist()
        torch.fft.fft(x).abs().tolist()
    assert counts["codegen.graphs"] > 2


def test_it_decorates(counts):
    @verify()
    def step():
        return numbers(7, 19).tan()

    assert step().shape == (7, 19)
    assert counts["codegen.graphs"] == 1
    assert not torch_ltc.settings.verify


def test_its_end_is_at_the_users_line():
    with verify():
        kept = numbers(7, 17).tan()
    here = "test_its_end_is_at_the_users_line"
    rows = [row for row in torch_ltc.syncs() if row.place.function == here]
    assert [(row.cause, row.graphs) for row in rows] == [("synchronize", 1)]
    del kept


def test_a_graph_that_comes_again_is_not_verified_again(counts):
    def step():
        return numbers(7, 23).cos().sum().item()

    with verify():
        step()
        counts.restart()
        step()
    assert counts["cache.hit.memory"] >= 1
    assert counts["codegen.graphs"] == 0


def test_what_would_end_the_process_is_not_verified():
    """ATen's division of the lowest integer by -1 does."""
    x = torch.tensor([-(2**31), 7], dtype=torch.int32).to("lazy")
    with (
        torch_ltc.settings.scope(verify=True),
        pytest.warns(UserWarning, match="the lowest integer by -1"),
    ):
        y = torch.div(x, -torch.ones_like(x), rounding_mode="trunc")
        assert y.tolist() == [-(2**31), -7]
