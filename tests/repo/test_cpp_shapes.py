# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In a process without Python, each op's results have eager's shapes, or its error.

Python notes what the samples of PyTorch's OpInfo call of ATen, forwards, backwards
and wrongly; a C++ program calls the same on the lazy device.
"""

import collections
import os
import subprocess
import warnings

import op_calls
import pytest
import torch
import torch_ltc

NO_CALL = {
    "_print": "writes to the program's output",
    "quantized_gru.data": "takes a CellParamsBase, which no file of calls holds",
    "quantized_gru.input": "takes a CellParamsBase, which no file of calls holds",
    "quantized_lstm.data": "takes a CellParamsBase, which no file of calls holds",
    "quantized_lstm.input": "takes a CellParamsBase, which no file of calls holds",
    "set.source_Storage": "takes a Storage, which no file of calls holds",
    "set.source_Storage_storage_offset": "takes a Storage",
}
NESTED = (
    *("_nested_from_padded", "_nested_tensor_from_mask"),
    *("_nested_tensor_from_tensor_list", "_nested_view_from_buffer_copy"),
)
UNLIKE = {
    "_copy_from": "copies between devices, which eager has no kernel for",
    "_copy_from_and_resize": "copies between devices",
    "_ctc_loss": "has room for the longest target, whatever the values",
    "_ctc_loss.Tensor": "has room for the longest target, whatever the values",
    "_nnpack_spatial_convolution": "NNPACK refuses the small tensors it is asked with",
    "grid_sampler_2d_backward": "leaves out what output_mask does",
    "grid_sampler_3d_backward": "leaves out what output_mask does",
    "to_mkldnn": "is refused in words of our own",
    **dict.fromkeys(NESTED, "gives a nested tensor, and is refused"),
}
# What eager's kernels refuse by values, and a graph when it runs.
BY_VALUES = (
    *("out of range", "out of bounds", "singular", "must be between"),
    *("without overflow", "ZeroDivisionError"),
)
# Has a line in docs/ops.md that says why; or is of a dtype that graphs do not have.
ON_THE_HOST = {
    *("_foreach_addcdiv.Tensor", "_foreach_addcmul.Tensor"),
    *("_grid_sampler_2d_cpu_fallback", "_grid_sampler_2d_cpu_fallback_backward"),
    *("_make_per_channel_quantized_tensor", "_make_per_tensor_quantized_tensor"),
    *("_scaled_mm_v2", "mkldnn_convolution", "index.Tensor"),
    *("_spdiags", "_to_sparse", "_to_sparse.sparse_dim", *NESTED),
}
SPLITS = ("_to_sparse_", "quantize_per_")


@pytest.fixture(scope="module")
def notes():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two wait long for each other where other tests run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield op_calls.note_all()
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def said(build, notes, tmp_path_factory):
    """Return what a process without Python says of each call, and at its end."""
    program = build / "tests/replay_calls"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    path = tmp_path_factory.mktemp("calls") / "calls"
    torch.save(notes.calls, path)
    done = subprocess.run(
        [program, path],
        capture_output=True,
        text=True,
        env=os.environ | {"LTC_CACHE": "off", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    return lines[: len(notes.calls)], lines[len(notes.calls) :]


def short(call):
    return ".".join(part for part in call[:2] if part).removeprefix("aten::")


def test_every_recorded_overload_is_called(notes):
    called = {name.removeprefix("aten::") for name in notes.names()}
    recorded = {name.removeprefix("aten::") for name in notes.recorded}
    assert recorded - called == NO_CALL.keys()
    assert called <= recorded and set(UNLIKE) <= called


def test_calls_without_python_say_what_eager_says(notes, said):
    unlike = collections.defaultdict(list)
    for call, found, expected in zip(notes.calls, said[0], notes.said, strict=True):
        by_values = any(words in expected for words in BY_VALUES)
        if found.replace(", ", ",") != expected.replace(", ", ",") and not by_values:
            unlike[short(call)].append((expected, found))
    others = {name: both for name, both in unlike.items() if name not in UNLIKE}
    assert not others, others
    assert unlike.keys() == UNLIKE.keys(), UNLIKE.keys() - unlike.keys()


def test_no_python_is_there_and_few_calls_split_the_graph(said):
    python, *fell = said[1]
    assert python == "python 0"
    for line in fell:
        name = line.removeprefix("record.fallback.")
        packet, _, overload = name.partition(".")
        short = name.removeprefix("aten::")
        why = torch_ltc._C.fallback_reason(packet, overload)
        assert why or short in ON_THE_HOST or short.startswith(SPLITS), name
