# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer table of docs/ARCHITECTURE.md, over every #include line."""

import re

import pytest

# What a folder's files may include besides themselves and the system.
MAY_INCLUDE = {
    "include": set(),
    "runtime": {"include"},
    "kernels/cpu": {"include"},
    "mlir_lowering": {"include", "llvm"},
    "ltc_backend": {"include", "torch"},
    "python/bindings": {"include", "ltc_backend", "torch", "python"},
}
OWNERS = {
    "ltc": "include",
    "torch": "torch",
    "ATen": "torch",
    "c10": "torch",
    "caffe2": "torch",
    "mlir": "llvm",
    "mlir-c": "llvm",
    "llvm": "llvm",
    "llvm-c": "llvm",
    "pybind11": "python",
    "Python.h": "python",
    "runtime": "runtime",
    "kernels": "kernels/cpu",
    "mlir_lowering": "mlir_lowering",
    "ltc_backend": "ltc_backend",
}
# Loads object code: the one place where the runtime may see LLVM.
JIT_LINKER = "runtime/drivers/cpu/"
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def layer_of(path):
    return next((f for f in MAY_INCLUDE if path.as_posix().startswith(f + "/")), None)


def owner(root, path, name):
    """Whose header `name` is when `path` includes it; None for the system's."""
    here = root / path.parent / name
    if here.is_file():
        return layer_of(here.resolve().relative_to(root))
    return OWNERS.get(name.split("/")[0])


def includes(root, path):
    text = (root / path).read_text(encoding="utf-8")
    return [name for _, name in INCLUDE.findall(text)]


@pytest.mark.parametrize("layer", MAY_INCLUDE)
def test_layer_includes_only_what_it_may(root, files, layer):
    wrong = []
    for path in files:
        if layer_of(path) != layer or path.suffix not in {".h", ".cpp", ".c", ".def"}:
            continue
        for name in includes(root, path):
            found = owner(root, path, name)
            jit = found == "llvm" and path.as_posix().startswith(JIT_LINKER)
            if found not in {None, layer, *MAY_INCLUDE[layer]} and not jit:
                wrong.append(f"{path} includes {name}, which belongs to {found}")
    assert not wrong, "\n".join(wrong)


def test_only_one_file_of_the_runtime_sees_llvm(root, files):
    users = [
        str(path)
        for path in files
        if layer_of(path) == "runtime"
        and any(owner(root, path, name) == "llvm" for name in includes(root, path))
    ]
    assert len(users) <= 1, users


PLAIN_C = [
    "aot.h",
    "image.h",
    "linalg_text.h",
    "mlir_text.h",
    "plugin.h",
    "plugin_defaults.h",
    "program.h",
    "real_ops.h",
]
# Of the C library, what they may need beside types.
PLAIN_C_MAY_INCLUDE = {"math.h", "stdarg.h", "stdio.h", "stdlib.h", "time.h"}


def test_public_headers_need_only_the_standard_library(root, files):
    wrong = []
    for path in files:
        if path.parent.as_posix() == "include/ltc" and path.name not in PLAIN_C:
            for name in includes(root, path):
                # C++ standard headers have no suffix and no folder.
                if not re.fullmatch(r"ltc/\w+\.(h|def)|[a-z_]+", name):
                    wrong.append(f"{path} includes {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", PLAIN_C)
def test_headers_of_devices_are_plain_c(root, name):
    path = root / "include/ltc" / name
    known = {"stddef.h", "stdint.h", "string.h"} | PLAIN_C_MAY_INCLUDE
    assert set(includes(root, path)) <= known | {"plugin.h", "program.h", "mlir_text.h"}


def test_no_file_sees_both_torch_and_mlir(root, files):
    for path in files:
        if path.suffix in {".h", ".cpp"}:
            owners = {owner(root, path, name) for name in includes(root, path)}
            assert not {"torch", "llvm"} <= owners, path
