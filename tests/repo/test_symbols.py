# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the built libraries take from others, and what they show."""

import re
import subprocess

import pytest

# The torch::jit graph, IR and executor. Schemas, types and the argument stack
# live in the same namespace or in c10 and are not TorchScript.
TORCHSCRIPT = re.compile(
    r"\btorch::jit::(?:\w*Graph\w*|Node|Block|Value|Use|Scope|ProfilingGraph\w*|Code"
    r"|Interpreter\w*|ExecutionPlan|Function|Operator\b|OperatorSet|getOperation"
    r"|AliasDb|SubgraphRewriter|Module|CompilationUnit|script\b|tracer\b|mobile\b"
    r"|fuser\b|tensorexpr\b|compileGraph|inlineCalls\w*|EliminateDeadCode\w*"
    r"|PropagateInputShapes|ConstantPropagation)"
)
TS_BACKEND = re.compile(
    r"\btorch::lazy::(?:TS\w+|Ts\w+|GetTSBackendImpl|InitTorchScriptBackend)"
)
TORCH = re.compile(r"\b(?:at|c10|caffe2|torch)::|^(?:THP|torch_)")
LLVM = re.compile(r"\b(?:llvm|mlir)::|^(?:LLVM|mlir)[A-Z]")
PYTHON = re.compile(r"^_?Py[A-Z_]")

WITHOUT_TORCH = ["ltc_runtime", "ltc_compiler", "ltc_driver_cpu", "ltc_driver_null"]
WITH_TORCH = ["ltc_backend", "_C"]
LIBRARIES = WITHOUT_TORCH + WITH_TORCH


def path_of(build, library):
    if library == "_C":
        found = list((build / "python/torch_ltc").glob("_C.*.so"))
    else:
        found = [build / "lib" / f"lib{library}.so"]
    if not found or not found[0].exists():
        pytest.fail(f"{build} has no {library}")
    return found[0]


def symbols(build, library, which):
    """Demangled names of the dynamic symbols that are defined or undefined."""
    listed = subprocess.run(
        ["nm", "-D", "-C", f"--{which}-only", path_of(build, library)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [line[17:].split(" ", 1)[1] for line in listed.splitlines()]
    return [name.strip() for name in names]


def needed(build, library):
    listed = subprocess.run(
        ["readelf", "-d", path_of(build, library)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", listed)


def matching(pattern, names):
    return [name for name in names if pattern.search(name)]


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_torchscript(build, library):
    undefined = symbols(build, library, "undefined")
    assert undefined, "nm found nothing"
    assert not matching(TORCHSCRIPT, undefined)
    assert not matching(TS_BACKEND, undefined)


@pytest.mark.parametrize("library", WITHOUT_TORCH)
def test_runtime_and_compiler_know_no_torch(build, library):
    assert not matching(TORCH, symbols(build, library, "undefined"))
    assert not matching(PYTHON, symbols(build, library, "undefined"))
    libraries = " ".join(needed(build, library))
    assert not re.search("torch|c10|python", libraries), libraries


@pytest.mark.parametrize("library", WITH_TORCH)
def test_backend_knows_no_compiler(build, library):
    assert not matching(LLVM, symbols(build, library, "undefined"))
    libraries = " ".join(needed(build, library))
    assert not re.search("LLVM|MLIR|ltc_compiler|ltc_driver", libraries), libraries


@pytest.mark.parametrize("library", LIBRARIES)
def test_llvm_is_inside_and_hidden(build, library):
    assert not matching(LLVM, symbols(build, library, "defined"))
    libraries = " ".join(needed(build, library))
    assert not re.search("LLVM|MLIR|zstd|xml2|z3", libraries), libraries


def test_the_compiler_has_one_door(build):
    defined = symbols(build, "ltc_compiler", "defined")
    assert "ltc_compiler_get" in defined
    assert not matching(re.compile(r"\bltc::compiler\b"), defined)
