# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cmake/ccache.sh: what one checkout has compiled is found from another."""

import re
import shutil
import subprocess

import pytest

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
add_library(small STATIC small.cpp)
target_include_directories(small PRIVATE "${PROJECT_SOURCE_DIR}")
target_compile_options(small PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
target_precompile_headers(small PRIVATE <constant.h>)
"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("ccache") and shutil.which("clang++-22")),
    reason="ccache and clang++-22 are needed",
)


def run(*command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def build(root, tmp_path, monkeypatch):
    """Return a function that builds a checkout and counts what ccache had of it."""
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "cache"))

    def build(name, constant):
        checkout = tmp_path / name
        checkout.mkdir()
        (checkout / "CMakeLists.txt").write_text(PROJECT)
        (checkout / "constant.h").write_text(f"constexpr int constant = {constant};\n")
        (checkout / "small.cpp").write_text("int value() { return constant; }\n")
        launcher = f"{root}/cmake/ccache.sh;{shutil.which('ccache')};{checkout}"
        run(
            *("cmake", "-S", checkout, "-B", checkout / "build", "-G", "Ninja"),
            "-DCMAKE_CXX_COMPILER=clang++-22",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
        )
        run("ccache", "--zero-stats")
        run("ninja", "-C", checkout / "build", "small")
        counts = dict(re.findall(r"(\w+)\t(\d+)", run("ccache", "--print-stats")))
        return int(counts["direct_cache_hit"]), int(counts["cache_miss"])

    return build


def test_objects_with_precompiled_headers_are_found_from_another_checkout(build):
    assert build("one", constant=1) == (0, 1)
    assert build("another", constant=1) == (1, 0)
    assert build("changed", constant=2) == (0, 1)
