# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles in programs without PyTorch: the example in C, and ltc-run."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_ltc
from aot.export import main, models
from aot_writer import Writer, arguments
from torch.export import Dim, export

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)
ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = Path(torch_ltc.__file__).parent / "lib"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Export both models and build the example against the package's files."""
    folder = tmp_path_factory.mktemp("example")
    main(folder, targets="baseline")
    compiler = shutil.which("cc") or shutil.which("clang-22")
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command += [ROOT / "examples/aot/run.c", "-I", LIBRARIES.parent / "include"]
    command += ["-L", LIBRARIES, "-lltc_aot", f"-Wl,-rpath,{LIBRARIES.resolve()}"]
    subprocess.run([*command, "-o", folder / "run"], check=True)
    return folder


def run(folder, *arguments):
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [folder / "run", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_example_is_short():
    assert len((ROOT / "examples/aot/run.c").read_text().splitlines()) <= 80


def test_a_cnn_in_c(folder):
    code, out, told = run(folder, "cnn.ltcpkg", "3")
    assert code == 0, told
    found = torch.tensor(
        [[float(x) for x in line.split()] for line in out.splitlines()]
    )
    pixels = torch.arange(3 * 28 * 28) % 255 / 255
    wanted = models()[0](pixels.view(3, 1, 28, 28))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)


def test_a_gpt_in_c(folder):
    code, out, told = run(folder, "gpt.ltcpkg", "40")
    assert code == 0, told
    text = torch.zeros(64, dtype=torch.int64)
    text[0] = 1
    with torch.no_grad():
        wanted = models()[1](text, 40)
    assert [int(word) for word in out.split()] == wanted[1:41].tolist()


def test_the_program_loads_nothing_else(folder):
    loaded = subprocess.run(
        ["ldd", folder / "run"], capture_output=True, text=True, check=True
    ).stdout
    assert "libltc_aot" in loaded
    for name in ("torch", "python", "LLVM", "libltc_runtime"):
        assert name not in loaded


def test_errors_in_c(folder):
    code, _, told = run(folder, "gpt.ltcpkg", "70")
    assert code == 1
    assert "while_loop: aten::index" in told and "64" in told
    code, _, told = run(folder, "absent.ltcpkg", "1")
    assert code == 2 and "absent.ltcpkg: No such file" in told


def ltc_run(*arguments, cwd):
    tool = LIBRARIES.resolve().parent / "bin/ltc-run"
    if not tool.exists():
        pytest.skip("this build has no tools")
    done = subprocess.run(
        [tool, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )
    return done.returncode, done.stdout + done.stderr


class Splits(torch.nn.Module):
    def forward(self, x, scale):
        return x * scale, x.sum(1).long()


def test_ltc_run_takes_files_of_numpys(tmp_path):
    args = torch.rand(2, 3), torch.tensor(2.0, dtype=torch.float64)
    shapes = ({0: Dim("rows")}, None)
    program = export(Splits(), args, dynamic_shapes=shapes)
    torch_ltc.aot.compile(program, tmp_path / "m.ltcpkg", targets=["baseline"])
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "scale.npy", np.float64(0.5))
    code, told = ltc_run("m.ltcpkg", "x.npy", "scale.npy", cwd=tmp_path)
    assert code == 0, told
    np.testing.assert_allclose(np.load(tmp_path / "out0.npy"), x * 0.5)
    np.testing.assert_array_equal(np.load(tmp_path / "out1.npy"), x.sum(1).astype(int))
    code, told = ltc_run("m.ltcpkg", "--list", cwd=tmp_path)
    assert "input x: f32[0.., 3]" in told and "output to: i64[0..]" in told
    code, told = ltc_run("m.ltcpkg", "x.npy", "x.npy", cwd=tmp_path)
    assert code == 1 and "x.npy is f32[4, 3], and input scale is f64[]" in told
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff{}")
    code, told = ltc_run("m.ltcpkg", "bad.npy", "scale.npy", cwd=tmp_path)
    assert code == 1 and "cut short" in told


class Narrows(torch.nn.Module):
    def forward(self, x):
        return x.bfloat16()


def test_ltc_run_refuses_what_numpy_cannot_hold(tmp_path):
    program = export(Narrows(), (torch.ones(2),))
    torch_ltc.aot.compile(program, tmp_path / "m.ltcpkg", targets="baseline")
    np.save(tmp_path / "x.npy", np.ones(2, np.float32))
    code, told = ltc_run("m.ltcpkg", "x.npy", cwd=tmp_path)
    assert code == 1 and "out.npy: numpy has no type for bf16" in told
    assert not (tmp_path / "out.npy").exists()


def test_a_loop_runs_without_torch(tmp_path):
    module = Writer()
    program = export(module, arguments(3, 5, 8))
    torch_ltc.aot.compile(program, tmp_path / "m.ltcpkg", targets="baseline")
    given = arguments(9, 2)
    for name, value in zip(("text", "given", "end"), given, strict=True):
        np.save(tmp_path / f"{name}.npy", value.numpy())
    code, told = ltc_run("m.ltcpkg", "text.npy", "given.npy", "end.npy", cwd=tmp_path)
    assert code == 0, told
    count, text = module(*given)
    assert np.load(tmp_path / "out0.npy") == count
    np.testing.assert_array_equal(np.load(tmp_path / "out1.npy"), text)
