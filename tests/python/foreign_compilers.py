# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run exported graphs by compilers that are not ours: upstream's MLIR, and XLA."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from torch.utils import _pytree as pytree

OPT, RUNNER = shutil.which("mlir-opt-22"), shutil.which("mlir-runner-22")
needs_mlir = pytest.mark.skipif(not RUNNER, reason="there is no mlir-runner-22")
needs_jax = pytest.mark.skipif(
    not importlib.util.find_spec("jax"), reason="jax is not installed"
)

TOSA_PASSES = (
    "builtin.module(func.func(tosa-to-linalg-named,tosa-to-linalg,"
    "tosa-to-arith,tosa-to-tensor),canonicalize)"
)
PASSES = """
--one-shot-bufferize=bufferize-function-boundaries=1
--convert-linalg-to-loops --lower-affine --convert-scf-to-cf --expand-strided-metadata
--lower-affine --convert-math-to-llvm --convert-math-to-libm --convert-arith-to-llvm
--finalize-memref-to-llvm --convert-func-to-llvm --convert-cf-to-llvm
--convert-index-to-llvm --reconcile-unrealized-casts
"""


def call(*command):
    """Return what a command printed; fail with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return done.stdout


def literal(value, kind):
    """Return an MLIR constant of a tensor or a number."""
    if not isinstance(value, torch.Tensor):
        return f"arith.constant {value:.17e} : {kind}" if kind == "f64" else value
    if value.dtype == torch.bool:
        value = value.to(torch.int8)
    return f"arith.constant dense<{value.tolist()}> : {kind}"


def kinds_of(text):
    """Return the types of main's arguments and those of its results."""
    types = re.search(r"function_type = \((.*?)\) -> (\([^)]*\)|[^,(]*<[^>]*>)", text)
    split = [re.findall(r"tensor<[^>]*>|\b[fi]\d+\b", part) for part in types.groups()]
    return split[0], split[1]


def run_upstream(text, inputs, folder):
    """Return the f32 results of main, in linalg's generic form, as numbers."""
    taken, given = kinds_of(text)
    made, names = [], []
    for i, (value, kind) in enumerate(zip(inputs, taken, strict=True)):
        if not isinstance(value, torch.Tensor) and kind.startswith("tensor"):
            value = torch.tensor(value)
        if not isinstance(value, torch.Tensor) and kind == "i64":
            made.append(f"%in{i} = arith.constant {value} : i64")
        elif "?" in kind:
            sizes = "x".join(str(size) for size in value.shape)
            known = f"tensor<{sizes}x{kind.rpartition('x')[2]}"
            made.append(f"%known{i} = {literal(value, known)}")
            made.append(f"%in{i} = tensor.cast %known{i} : {known} to {kind}")
        else:
            made.append(f"%in{i} = {literal(value, kind)}")
        names.append(f"%in{i}")
    if not given:
        return []
    calls = f"%out:{len(given)} = func.call @main({', '.join(names)})"
    made.append(f"{calls} : ({', '.join(taken)}) -> ({', '.join(given)})")
    for i, kind in enumerate(given):
        if "f32" not in kind:
            continue
        buffer = kind.replace("tensor", "memref")
        made += [
            f"%b{i} = bufferization.to_buffer %out#{i} : {kind} to {buffer}",
            f"%u{i} = memref.cast %b{i} : {buffer} to memref<*xf32>",
            f"func.call @printMemrefF32(%u{i}) : (memref<*xf32>) -> ()",
        ]
    body = "\n".join(made)
    entry = (
        "func.func private @printMemrefF32(memref<*xf32>)"
        " attributes {llvm.emit_c_interface}\n"
        f"func.func @entry() {{\n{body}\nreturn\n}}\n"
    )
    end = text.rindex("})")
    source, lowered = folder / "entry.mlir", folder / "lowered.mlir"
    source.write_text(text[:end] + entry + text[end:])
    call(OPT, source, *PASSES.split(), "-o", lowered)
    library = os.path.realpath(RUNNER).replace("bin/mlir-runner", "lib")
    shared = [f"-shared-libs={library}/libmlir_{n}runner_utils.so" for n in ("", "c_")]
    said = call(RUNNER, lowered, "-e", "entry", "-entry-point-result=void", *shared)
    found = []
    for part in said.split("Unranked Memref")[1:]:
        numbers = re.findall(r"-?(?:\d[\d.e+-]*|nan|inf)", part.split("data =", 1)[1])
        found.append([float(x) for x in numbers])
    return [found.pop(0) if "f32" in kind else None for kind in given]


def lowered_from_tosa(path, folder):
    """Return linalg, in the generic form, of a file in TOSA, which is verified.

    None if upstream has no pass for one of its ops.
    """
    if "tosa.scatter" in Path(path).read_text():
        call(OPT, path)
        return None
    lowered = folder / "linalg.mlir"
    passes = f"--pass-pipeline={TOSA_PASSES}"
    call(OPT, path, passes, "--mlir-print-op-generic", "-o", lowered)
    return lowered.read_text()


@functools.cache
def xla():
    """Return the client for the CPU of JAX's XLA, and what compiles with it."""
    import jax
    from jaxlib import _jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    device = jax.devices("cpu")[0]
    return device.client, _jax.DeviceList((device,))


def run_xla(text, inputs):
    """Return the results of main, in StableHLO, as tensors."""
    import jax
    import numpy as np
    from jaxlib import xla_client

    client, devices = xla()
    compiled = client.compile_and_load(text, devices, xla_client.CompileOptions())
    given = []
    for value in inputs:
        if isinstance(value, torch.Tensor):
            value = value.detach()
            wide = value.float() if value.dtype == torch.bfloat16 else value
            array = jax.numpy.asarray(wide.numpy())
            bits = jax.numpy.bfloat16 if value.dtype == torch.bfloat16 else array.dtype
            given.append(array.astype(bits))
        elif isinstance(value, bool):
            given.append(jax.device_put(np.bool_(value)))
        else:
            kind = np.float64 if isinstance(value, float) else np.int64
            given.append(jax.device_put(kind(value)))
    results = compiled.execute_sharded(given).disassemble_into_single_device_arrays()
    return [from_jax(x[0]) for x in results]


def from_jax(array):
    """Return an array of JAX as a tensor."""
    import numpy as np

    if array.dtype == "bfloat16":
        return torch.from_numpy(np.array(array.astype("float32"))).bfloat16()
    return torch.from_numpy(np.array(array))


def eager(program, args):
    """Return what eager gives, as a list of tensors."""
    with torch.no_grad():
        returned = program(*args)
    return [x for x in pytree.tree_leaves(returned) if isinstance(x, torch.Tensor)]


def value_of(result, found):
    """Return a result of the program: one of main's, or a given tensor."""
    return result if isinstance(result, torch.Tensor) else found[result]


def stablehlo_results(exported):
    """Return what the program of a file in StableHLO returns."""
    found = run_xla(Path(exported.path).read_text(), exported.inputs)
    return [value_of(result, found) for result in exported.results]
