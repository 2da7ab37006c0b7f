# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a C++ project finds: the installed package, and the example built with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

TORCH = Path(torch.__file__).parent


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def succeed(*command, **environment):
    done = run(*command, **environment)
    if done.returncode:
        told = (done.stdout + done.stderr)[-3000:]
        pytest.fail(f"{command[0]} failed:\n{told}", pytrace=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def prefix(build):
    """Install there: always the same place, so that ccache knows what is compiled."""
    folder = build / "tests/cpp_package"
    shutil.rmtree(folder, ignore_errors=True)
    succeed("cmake", "--install", build, "--prefix", folder, "--component", "cpp")
    return folder


def configure(source, folder, prefixes, **variables):
    found = ";".join(str(prefix) for prefix in prefixes)
    options = [f"-D{name}={value}" for name, value in variables.items()]
    # A machine that make test set up may have no compiler but the build's.
    own = {} if shutil.which("c++") else {"CC": "clang-22", "CXX": "clang++-22"}
    command = ["cmake", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={found}"]
    return run(*command, *options, **own)


@pytest.fixture
def project(tmp_path):
    """Write a project that finds the package and says which library it got."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(finds LANGUAGES C CXX)\n"
        "find_package(torch_ltc REQUIRED)\n"
        "get_target_property(library torch_ltc::torch_ltc IMPORTED_LOCATION)\n"
        'message(STATUS "library ${library}")\n'
    )
    return tmp_path


def test_example_trains_as_eager_without_python(root, prefix, tmp_path):
    example = root / "examples/cpp_embedding"
    launcher = shutil.which("ccache") or ""
    done = configure(
        example, tmp_path, [prefix, TORCH], CMAKE_CXX_COMPILER_LAUNCHER=launcher
    )
    assert done.returncode == 0, done.stderr
    succeed("cmake", "--build", tmp_path)
    digits = tmp_path / "digits.bin"
    succeed(sys.executable, example / "write_digits.py", digits)
    # One thread: two wait long for each other where other tests run, too.
    settings = {"LTC_CACHE": "off", "OMP_NUM_THREADS": "1"}
    said = succeed(tmp_path / "train_digits", digits, **settings)
    assert said.count(" 0 fallbacks") == 2, said
    assert "train_digits: ok" in said, said


def test_installs_one_header_and_no_python(prefix):
    installed = [path for path in prefix.rglob("*") if path.is_file()]
    headers = [path.name for path in installed if path.suffix == ".h"]
    assert headers == ["ltc.h"]
    assert not [path for path in installed if "_C." in path.name]


def test_another_torch_stops_the_configuration(prefix, project, tmp_path):
    old = tmp_path / "old/share/cmake/Torch"
    old.mkdir(parents=True)
    (old / "TorchConfig.cmake").write_text("set(TORCH_LIBRARIES)\n")
    (old / "TorchConfigVersion.cmake").write_text(
        "set(PACKAGE_VERSION 1.13.1)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
    )
    done = configure(project, tmp_path / "build", [prefix, tmp_path / "old"])
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "serves PyTorch 2." in said and "PyTorch 1.13.1 was found in" in said


def test_the_python_package_is_found_too(build, project, tmp_path):
    said = succeed(
        sys.executable,
        "-m",
        "torch_ltc",
        "--cmake-prefix-path",
        PYTHONPATH=str(build / "python"),
    )
    done = configure(project, tmp_path / "build", [said.strip(), TORCH])
    assert done.returncode == 0, done.stderr
    (library,) = [
        line.removeprefix("-- library ")
        for line in done.stdout.splitlines()
        if line.startswith("-- library ")
    ]
    assert Path(library).name == "libltc_backend.so" and Path(library).exists()
