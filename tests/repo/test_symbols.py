# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the built libraries take from others, and what they show."""

import importlib.util
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

# TorchScript's graph, IR and executor all live here; we use nothing of it.
TORCHSCRIPT = re.compile(r"\btorch::jit::")
TS_BACKEND = re.compile(
    r"\btorch::lazy::(?:TS\w+|Ts\w+|GetTSBackendImpl|InitTorchScriptBackend)"
)
TORCH = re.compile(r"\b(?:at|c10|caffe2|torch)::|^(?:THP|torch_)")
LLVM = re.compile(r"\b(?:llvm|mlir)::|^(?:LLVM|mlir)[A-Z]")
PYTHON = re.compile(r"^_?Py[A-Z_]")

WITHOUT_TORCH = [
    "ltc_aot",
    "ltc_runtime",
    "ltc_kernels_cpu",
    "ltc_compiler",
    "ltc_driver_cpu",
    "ltc_driver_cuda",
    "ltc_driver_emulator",
    "ltc_driver_null",
    "ltc_driver_pjrt",
]
WITH_TORCH = ["ltc_backend", "ltc_not_dense", "_C"]
LIBRARIES = WITHOUT_TORCH + WITH_TORCH
TORCH_VERSION = ".".join(metadata.version("torch").split(".")[:2])


def path_of(build, library):
    folder = f"torch{TORCH_VERSION}" if library in WITH_TORCH else "."
    name = "_C.*.so" if library == "_C" else f"lib{library}.so"
    found = list((build / "lib" / folder).glob(name))
    if not found:
        pytest.fail(f"{build} has no {library}")
    return found[0]


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def symbols(path, which):
    """Demangled names of the dynamic symbols that are defined or undefined."""
    listed = subprocess.run(
        ["nm", "-D", "-C", f"--{which}-only", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [line[17:].split(" ", 1)[1] for line in listed.splitlines()]
    return [name.strip() for name in names]


def needed(path):
    listed = subprocess.run(
        ["readelf", "-d", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", listed)


def matching(pattern, names):
    return [name for name in names if pattern.search(name)]


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_torchscript(build, library):
    undefined = symbols(path_of(build, library), "undefined")
    assert undefined, "nm found nothing"
    assert not matching(TORCHSCRIPT, undefined)
    assert not matching(TS_BACKEND, undefined)


def test_torchscript_would_be_seen():
    spec = importlib.util.find_spec("torch")
    library = Path(spec.origin).parent / "lib/libtorch_python.so"
    assert matching(TORCHSCRIPT, symbols(library, "undefined"))


@pytest.mark.parametrize("library", WITHOUT_TORCH)
def test_runtime_and_compiler_know_no_torch(build, library):
    assert not matching(TORCH, symbols(path_of(build, library), "undefined"))
    assert not matching(PYTHON, symbols(path_of(build, library), "undefined"))
    libraries = " ".join(needed(path_of(build, library)))
    assert not re.search("torch|c10|python", libraries), libraries


@pytest.mark.parametrize("library", WITH_TORCH)
def test_backend_knows_no_compiler(build, library):
    assert not matching(LLVM, symbols(path_of(build, library), "undefined"))
    libraries = " ".join(needed(path_of(build, library)))
    assert not re.search("LLVM|MLIR|ltc_compiler|ltc_driver", libraries), libraries


@pytest.mark.parametrize("library", LIBRARIES)
def test_llvm_is_inside_and_hidden(build, library):
    assert not matching(LLVM, symbols(path_of(build, library), "defined"))
    libraries = " ".join(needed(path_of(build, library)))
    assert not re.search("LLVM|MLIR|zstd|xml2|z3", libraries), libraries


@pytest.mark.parametrize("library", WITHOUT_TORCH + WITH_TORCH)
def test_leaves_no_symbols_of_others(build, library):
    names = symbols(path_of(build, library), "defined")
    own = re.compile(r"\bltc::|^ltc_\w+$|^PyInit__C$|^(?:typeinfo|vtable)\b.*\bltc::")
    assert not [name for name in names if not own.search(name)]


@pytest.fixture(scope="module")
def wanted(build):
    """Return what the libraries, tools and tests of a build take from each other."""
    if not (build / "tests/engine_unit_test").exists():
        pytest.skip("the build has no unit tests")
    files = [*build.glob("lib/**/*.so*"), *build.glob("bin/*"), *build.glob("tests/*")]
    taken = [symbols(f, "undefined") for f in files if f.is_file() and is_elf(f)]
    return {name for names in taken for name in names}


@pytest.mark.parametrize("library", ["ltc_runtime", "ltc_kernels_cpu", "ltc_backend"])
def test_exports_what_others_of_ours_link_to(build, wanted, library):
    shown = set(symbols(path_of(build, library), "defined"))
    # A class that is derived from, or thrown, comes with these.
    of_classes = re.compile(r"^(?:typeinfo|vtable)\b|(\w+)::~?\1\(")
    assert not {name for name in shown - wanted if not of_classes.search(name)}


def test_what_others_of_ours_link_to_is_exported(build, wanted):
    libraries = build.glob("lib/**/*.so")
    shown = {name for path in libraries for name in symbols(path, "defined")}
    own = re.compile(r"^(?:(?:typeinfo|vtable)\b.*)?\bltc::")
    assert not {name for name in wanted - shown if own.search(name)}


def test_the_compiler_has_one_door(build):
    defined = symbols(path_of(build, "ltc_compiler"), "defined")
    assert "ltc_compiler_get" in defined
    assert not matching(re.compile(r"\bltc::compiler\b"), defined)


def test_the_library_for_bundles_stands_alone(build):
    path = path_of(build, "ltc_aot")
    assert all(name.startswith("ltc_aot_") for name in symbols(path, "defined"))
    assert {re.sub(r"\.so.*", "", name) for name in needed(path)} <= {
        "libstdc++",
        "libm",
        "libgcc_s",
        "libc",
        "ld-linux-x86-64",
        "libpthread",
        "libdl",
    }
    assert path.stat().st_size < 5 << 20
