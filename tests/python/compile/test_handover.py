# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a device may do better than loops reaches it by name, with its attributes.

After the stage `lower` these are still one op each: no sort has become a network,
no scan a loop. A device that knows better looks for `ltc.call "aten::…"`.
"""

import re

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
import torch_ltc
from torch.utils import _pytree as pytree

X = torch.randn(4, 6, generator=torch.manual_seed(0))
SQUARE = X[:, :4] @ X[:, :4].T + torch.eye(4)
BYTES = (X > 0).to(torch.uint8)
INDEX = torch.tensor([[0, 1, 1, 2], [3, 0, 0, 1]])  # some repeat
SCALES = torch.full((4,), 0.1)
ZEROS = torch.zeros(4, dtype=torch.int64)
SIX = torch.randn(2, 1, 3, 2, 1, 4, generator=torch.manual_seed(0))
decomposed = torch.ops.quantized_decomposed
functional = torch.nn.functional

# What a program calls, on which tensors, and what stands in the dump of it: the
# op's name, then attributes.
PROGRAMS = {
    "sort": (lambda x: x.sort(1, True), [X], "sort", "dim = 1", "descending = true"),
    "stable sort": (
        lambda x: torch.sort(x, stable=True),
        [X],
        "sort.stable",
        "stable = true",
    ),
    "argsort": (lambda x: x.argsort(0), [X], "sort", "dim = 0"),
    "topk": (lambda x: x.topk(2, largest=False), [X], "topk", "k = 2", "largest = f"),
    "kthvalue": (lambda x: x.kthvalue(3, 0), [X], "kthvalue", "k = 3", "dim = 0"),
    "median": (lambda x: x.median(1), [X], "median.dim", "dim = 1"),
    "mode": (lambda x: x.mode(1), [X], "mode", "dim = 1"),
    "searchsorted": (
        lambda x, y: torch.searchsorted(x, y, right=True),
        [X.sort().values, X],
        "searchsorted.Tensor",
        "right = true",
    ),
    "fft": (lambda x: torch.fft.fft(x, dim=0), [X], "_fft_r2c", "onesided = false"),
    "rfft2": (torch.fft.rfft2, [X], "_fft_r2c", "dim = array<i64: 0, 1>"),
    "irfft": (torch.fft.irfft, [X + 0j], "_fft_c2r", "last_dim_size = 10"),
    "qr": (torch.linalg.qr, [SQUARE], "linalg_qr", 'mode = "reduced"'),
    "svd": (
        lambda x: torch.linalg.svd(x, full_matrices=False).S,
        [X],
        "_linalg_svd",
        "full_matrices = false",
    ),
    "eigh": (torch.linalg.eigvalsh, [SQUARE], "_linalg_eigh", 'UPLO = "L"'),
    "cholesky": (
        lambda x: torch.linalg.cholesky_ex(x, upper=True),
        [SQUARE],
        "linalg_cholesky_ex",
        "upper = true",
    ),
    "solve": (torch.linalg.solve_ex, [SQUARE, X], "_linalg_solve_ex", "left = true"),
    "triangular": (
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        [SQUARE, X],
        "linalg_solve_triangular",
        "upper = false",
    ),
    "scatter": (lambda x, i: x.scatter(1, i, 2.0), [X, INDEX], "scatter.value", "dim"),
    "scatter multiply": (
        lambda x, i: x.scatter(1, i, x, reduce="multiply"),
        [X, INDEX],
        "scatter.reduce",
        'reduce = "multiply"',
    ),
    "scatter_add": (
        lambda x, i: x.scatter_add(1, i, x),
        [X, INDEX],
        "scatter_add",
        "dim = 1",
    ),
    **{
        f"scatter_reduce {mode}": (
            lambda x, i, mode=mode: x.scatter_reduce(1, i, x, mode, include_self=False),
            [X, INDEX],
            "scatter_reduce.two",
            f'reduce = "{mode}"',
            "include_self = false",
        )
        for mode in ("sum", "prod", "mean", "amax", "amin")
    },
    "index_add": (
        lambda x, i: x.index_add(0, i[0], x, alpha=2),
        [X, INDEX],
        "index_add",
        "dim = 0",
    ),
    "index_reduce": (
        lambda x, i: x.index_reduce(0, i[0], x, "amin"),
        [X, INDEX],
        "index_reduce",
        'reduce = "amin"',
    ),
    "index_put": (
        lambda x, i: x.index_put((i[0],), x, accumulate=True),
        [X, INDEX],
        "index_put",
        "accumulate = true",
    ),
    "cumsum": (lambda x: x.cumsum(1), [X], "cumsum", "dim = 1"),
    "cumprod": (lambda x: x.cumprod(0), [X], "cumprod", "dim = 0"),
    "cummax": (lambda x: x.cummax(1), [X], "cummax", "dim = 1"),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), [X], "logcumsumexp", "dim = 1"),
    **{
        f"embedding_bag {mode}": (
            lambda i, x, mode=mode: functional.embedding_bag(
                i, x, i.new_tensor([0, 3]), mode=mode, padding_idx=2
            ),
            [INDEX.flatten(), X],
            "_embedding_bag_forward_only",
            f"mode = {number}",
            "padding_idx = 2",
        )
        for number, mode in enumerate(("sum", "mean", "max"))
    },
    "a given number of nonzeros": (
        lambda x: torch.nonzero_static(x, size=5),
        [BYTES],
        "nonzero_static",
        "size = 5",
    ),
    "quantize a tensor": (
        lambda x: decomposed.quantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8),
        [X],
        "quantized_decomposed::quantize_per_tensor",
        "zero_point = 3",
        "quant_max = 255",
        "dtype = #ltc.dtype<u8>",
    ),
    "dequantize a tensor": (
        lambda x: decomposed.dequantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8),
        [BYTES],
        "quantized_decomposed::dequantize_per_tensor",
        "zero_point = 3",
    ),
    "quantize channels": (
        lambda x, s, z: decomposed.quantize_per_channel(
            x, s, z, 0, 0, 255, torch.uint8
        ),
        [X, SCALES, ZEROS],
        "quantized_decomposed::quantize_per_channel",
        "axis = 0",
    ),
    "dequantize channels": (
        lambda x, s, z: decomposed.dequantize_per_channel(
            x, s, z, 0, 0, 255, torch.uint8
        ),
        [BYTES, SCALES, ZEROS],
        "quantized_decomposed::dequantize_per_channel",
        "axis = 0",
    ),
    "dequantize floats": (torch.dequantize, [X.half()], "aten::dequantize.self", "f16"),
    "fake_quantize a tensor": (
        lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255),
        [X],
        "fake_quantize_per_tensor_affine_cachemask",
        "quant_max = 255",
    ),
    "fake_quantize channels": (
        lambda x, s, z: torch.fake_quantize_per_channel_affine(
            x, s, z.to(torch.int32), 0, 0, 255
        ),
        [X, SCALES, ZEROS],
        "fake_quantize_per_channel_affine_cachemask",
        "axis = 0",
    ),
    "six dimensions": (
        lambda x: x.cumsum(5),
        [SIX],
        "cumsum",
        "tensor<2x1x3x2x1x4xf32>",
    ),
    "convolution of volumes": (
        lambda x, w: functional.conv3d(x, w, stride=2),
        [SIX[..., 0, :].expand(2, 5, 3, 2, 4), torch.ones(2, 5, 1, 1, 1)],
        "convolution",
        "stride = array<i64: 2, 2, 2>",
        "tensor<2x5x3x2x4xf32>",
    ),
}
# What is made on the way: of index_put's offsets, of a cast of the zero points.
LOOPS = {"embedding_bag", "fake_quantize channels"}


def handed_over(program, tensors, directory):
    """Return the result, and the graph after the stage `lower` as text."""
    lazy = [t.to("lazy") for t in tensors]
    torch.lazy.mark_step(wait=True)
    with torch_ltc.settings.scope(linalg_errors="later"):  # one graph, not yet run
        found = program(*lazy)
    with torch_ltc.settings.scope(dump=str(directory)):
        found = pytree.tree_map(torch.Tensor.cpu, found)
    (lowered,) = directory.glob("*.lower.mlir")
    return found, lowered.read_text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_reaches_a_device_by_name(name, tmp_path):
    program, tensors, op, *attributes = PROGRAMS[name]
    found, text = handed_over(program, tensors, tmp_path)
    wanted = program(*tensors)
    torch.testing.assert_close(found, wanted)
    op = op if "::" in op else f"aten::{op}"
    (call,) = re.findall(rf'ltc\.call "{op}"\(.*', text)
    for attribute in attributes:
        assert attribute in call
    if not any(name.startswith(made) for made in LOOPS):
        assert "linalg." not in text and "scf." not in text
