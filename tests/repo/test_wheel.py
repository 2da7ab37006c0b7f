# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel, installed beside PyTorch alone and beside two other LLVMs."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata

import pytest

pytestmark = pytest.mark.slow

TRAIN_ONE_STEP = """
import torch
model = torch.nn.Linear(4, 2)
x = torch.arange(8.0).reshape(2, 4)
wanted = torch.softmax(model(x), 1)
found = torch.softmax(model.to("lazy")(x.to("lazy")), 1).cpu()
torch.testing.assert_close(found, wanted)
metrics = torch.lazy.metrics()
assert metrics["codegen.graphs"] >= 1, metrics
"""
# Each makes its LLVM do something, so that its initialisers have run.
USE_TRITON = """
from triton._C import libtriton
context = libtriton.ir.context()
libtriton.ir.load_dialects(context)
"""
USE_JAXLIB = """
import jaxlib._jax
from jaxlib.mlir import ir
with ir.Context() as context:
    context.allow_unregistered_dialects = True
    assert "test.op" in str(ir.Module.parse('"test.op"() : () -> ()'))
"""
OTHERS = {"triton": USE_TRITON, "jaxlib": USE_JAXLIB}


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **options,
    )
    if done.returncode:
        told = (done.stdout + done.stderr)[-3000:]
        pytest.fail(f"{command[0]} failed:\n{told}", pytrace=False)
    return done


def clean_environment():
    """Without what would lead Python back to the build tree."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return kept | {"LTC_CACHE": "off", "LTC_TIERS": "off"}


@pytest.fixture(scope="module")
def wheel(root, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
    # As the build was compiled and linked, most of which caches then know.
    pip += ["-C", "cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON"]
    pip += ["-C", f"cmake.define.LTC_THINLTO_CACHE={build}/thinlto"]
    environment = dict(os.environ)
    if shutil.which("clang++-22"):
        environment |= {"CC": "clang-22", "CXX": "clang++-22"}
    run(*pip, "--wheel-dir", folder, root, env=environment)
    (found,) = folder.glob("torch_ltc-*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Make an environment with the wheel; PyTorch is seen in this one."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder)
    program = folder / "bin/python"
    run(program, "-m", "pip", "install", "--no-deps", wheel, env=clean_environment())
    (site,) = folder.glob("lib/python3*/site-packages")
    # A folder named in a .pth file does not have its own .pth files read, so
    # the link to the build tree is not followed.
    (site / "torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return program


@pytest.fixture(scope="module")
def other(python):
    """Install another package that carries an LLVM, or skip."""

    def install(name):
        command = [python, "-m", "pip", "install", "-q", name]
        done = subprocess.run(
            command, capture_output=True, text=True, env=clean_environment()
        )
        if done.returncode:
            pytest.skip(f"{name} cannot be installed: {done.stderr[-300:]}")

    return install


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names}
    assert all(folder.startswith("torch_ltc") for folder in folders), folders
    libraries = {n.removeprefix("torch_ltc/lib/") for n in names if "/lib/" in n}
    assert {
        "libltc_aot.so",
        "libltc_runtime.so",
        "libltc_kernels_cpu.so",
        "libltc_compiler.so",
        "libltc_driver_cpu.so",
        "libltc_driver_cuda.so",
        "libltc_driver_emulator.so",
        "libltc_driver_pjrt.so",
        "ltc-plugin-probe",
        "pkgconfig/ltc_aot.pc",
    } <= libraries
    version = ".".join(metadata.version("torch").split(".")[:2])
    own = {name.removeprefix(f"torch{version}/") for name in libraries}
    own_libraries = {"libltc_backend.so", "libltc_not_dense.so", "libtorch_ltc.so.0.1"}
    assert own_libraries <= own
    assert any(name.startswith("_C.") for name in own)
    assert "torch_ltc/settings.def" in names
    for_cpp = {name for name in names if name.endswith((".a", ".h", ".cmake"))}
    assert for_cpp == {
        "torch_ltc/include/ltc/aot.h",
        "torch_ltc/include/ltc/ltc.h",
        "torch_ltc/include/ltc/linalg_text.h",
        "torch_ltc/include/ltc/mlir_text.h",
        "torch_ltc/include/ltc/plugin.h",
        "torch_ltc/include/ltc/plugin_defaults.h",
        "torch_ltc/include/ltc/program.h",
        "torch_ltc/include/ltc/real_ops.h",
        "torch_ltc/lib/cmake/torch_ltc/torch_ltcConfig.cmake",
        "torch_ltc/lib/cmake/torch_ltc/torch_ltcConfigVersion.cmake",
    }


def test_wheel_says_what_it_serves(wheel):
    version = sys.version_info
    assert f"-cp{version.major}{version.minor}-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode()
    major, minor = map(int, metadata.version("torch").split(".")[:2])
    wanted = {f">={major}.{minor}", f"<{major}.{minor + 1}"}
    (found,) = re.findall(r"^Requires-Dist: torch(\S+)$", text, re.MULTILINE)
    assert set(found.split(",")) == wanted


def test_installed_wheel_computes(python, tmp_path):
    code = TRAIN_ONE_STEP + "import torch_ltc; print(torch_ltc.__file__)"
    done = run(python, "-c", code, cwd=tmp_path, env=clean_environment())
    assert str(python.parents[1]) in done.stdout, "another torch_ltc was imported"


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("order", ["before", "after"])
def test_installed_wheel_lives_beside(python, other, name, order, tmp_path):
    other(name)
    parts = [OTHERS[name], TRAIN_ONE_STEP]
    if order == "after":
        parts.reverse()
    # Once more: neither may have broken the other.
    code = "\n".join(parts + parts)
    run(python, "-c", code, cwd=tmp_path, env=clean_environment())
