# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of OpInfo, written as StableHLO and TOSA, have eager's values."""

import pytest
import torch
from egress_samples import export, names, programs
from foreign_compilers import (
    eager,
    lowered_from_tosa,
    needs_jax,
    needs_mlir,
    run_upstream,
    stablehlo_results,
    value_of,
)

# One of each kind of op, for the gate.
GATE = [
    "add",
    "sub",
    "mul",
    "pow",
    "clamp",
    "where",
    "lerp",
    "exp",
    "expm1",
    "log1p",
    "erf",
    "erfc",
    "asin",
    "atan2",
    "sinh",
    "tanh",
    "sigmoid",
    "floor",
    "round",
    "trunc",
    "fmod",
    "remainder",
    "copysign",
    "sign",
    "isnan",
    "logical_and",
    "sum",
    "mean",
    "var",
    "prod",
    "amax",
    "argmin",
    "any",
    "all",
    "logsumexp",
    "norm",
    "cumsum",
    "cumprod",
    "sort",
    "topk",
    "kthvalue",
    "softmax",
    "log_softmax",
    "nn.functional.layer_norm",
    "nn.functional.batch_norm",
    "nn.functional.group_norm",
    "nn.functional.gelu",
    "nn.functional.hardswish",
    "nn.functional.mse_loss",
    "nn.functional.nll_loss",
    "nn.functional.embedding",
    "nn.functional.conv1d",
    "nn.functional.conv2d",
    "nn.functional.conv_transpose2d",
    "nn.functional.max_pool2d",
    "nn.functional.avg_pool2d",
    "nn.functional.linear",
    "matmul",
    "addmm",
    "baddbmm",
    "addmv",
    "addbmm",
    "addr",
    "permute",
    "reshape",
    "expand",
    "cat",
    "stack",
    "split",
    "index_select",
    "gather",
    "scatter",
    "scatter_add",
    "index_put",
    "index_add",
    "index_copy",
    "index_fill",
    "take",
    "flip",
    "roll",
    "tril",
    "repeat",
    "diagonal",
    "as_strided_scatter",
    "select_scatter",
    "slice_scatter",
    "div.no_rounding_mode",
    "nn.functional.pad.constant",
    "nn.functional.pad.reflect",
]

SAMPLED, ALL = (
    pytest.param(6, marks=pytest.mark.slow),
    pytest.param(1, marks=pytest.mark.long),
)

# Of scalars, by booleans, or with a reduction.
REFUSED = {"argmin": 2, "index_put": 1, "index_select": 1, "scatter": 1}


def differing(name, dialect, folder):
    """Return what is wrong of each sample, and how many were refused."""
    wrong, refused = [], 0
    for i, (program, tensors) in enumerate(programs(name)):
        try:
            wanted = eager(program, [x.clone() for x in tensors])
        except RuntimeError:
            continue
        exported, _ = export(program, tensors, folder / f"m{i}", dialect)
        if exported is None:
            refused += 1
            continue
        try:
            if dialect == "stablehlo":
                found = stablehlo_results(exported)
            else:
                text = lowered_from_tosa(exported.path, folder)
                if text is None:
                    continue
                values = run_upstream(text, exported.inputs, folder)
                found = [value_of(result, values) for result in exported.results]
            for mine, value in zip(found, wanted, strict=True):
                if mine is None:
                    continue  # no floats: mlir-runner prints those alone
                if not isinstance(mine, torch.Tensor):
                    mine = torch.tensor(mine).reshape(value.shape)
                torch.testing.assert_close(
                    mine, value, rtol=1e-4, atol=1e-4, equal_nan=True
                )
        except (AssertionError, RuntimeError, ValueError) as error:
            wrong.append(f"{name} {i}: {str(error)[:300]}")
    return wrong, refused


@needs_jax
@pytest.mark.parametrize("every", [SAMPLED, ALL])
def test_xla_gives_eagers_values(tmp_path, every):
    wrong, refused = [], {}
    for name in GATE[::every]:
        bad, count = differing(name, "stablehlo", tmp_path)
        wrong += bad
        if count:
            refused[name] = count
    assert not wrong, "\n".join(wrong)
    assert refused.items() <= REFUSED.items()


@needs_jax
@pytest.mark.long
def test_xla_gives_eagers_values_of_all(tmp_path):
    wrong = []
    for name in names():
        wrong += differing(name, "stablehlo", tmp_path)[0]
    assert not wrong, "\n".join(wrong)


@needs_mlir
@pytest.mark.parametrize("every", [SAMPLED, ALL])
def test_upstreams_passes_give_eagers_values(tmp_path, every):
    wrong = []
    for name in GATE[::every]:
        wrong += differing(name, "tosa", tmp_path)[0]
    assert not wrong, "\n".join(wrong)
