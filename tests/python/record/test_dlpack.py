# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other libraries get of lazy tensors by DLPack."""

import gc

import numpy as np
import pytest
import torch
from torch.utils import dlpack


def values(device, dtype=torch.float32):
    return torch.arange(12, device=device).to(dtype).view(3, 4)


SHOWN = {
    "tensor": values,
    "recorded": lambda d: values(d) * 2 + 1,
    "slice": lambda d: values(d)[1:],
    "columns": lambda d: values(d)[:, 1],
    "transposed": lambda d: values(d).t(),
    "expanded": lambda d: values(d)[:, :1].expand(3, 4),
    "negative": lambda d: torch._neg_view(values(d)),
    "halves": lambda d: values(d, torch.float16),
    "bool": lambda d: values(d) > 3,
    "bytes": lambda d: values(d).view(torch.uint8),
    "complex": lambda d: values(d, torch.complex64),
    "nothing": lambda d: values(d)[:0],
    "number": lambda d: values(d)[1, 2],
    "channels last": lambda d: (
        values(d).view(1, 3, 2, 2).to(memory_format=torch.channels_last)
    ),
    "written": lambda d: values(d).index_fill_(0, torch.tensor([1], device=d), 9),
}


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
def test_numpy_reads_the_values(make):
    array = np.from_dlpack(make("lazy"))
    eager = np.from_dlpack(make("cpu").resolve_neg())  # eager's forgets the sign
    assert array.dtype == eager.dtype and array.shape == eager.shape
    assert np.array_equal(array, eager)
    assert array.size == 0 or not array.flags.writeable
    copied = np.from_dlpack(make("lazy"), copy=True)
    assert np.array_equal(copied, eager)


@pytest.mark.parametrize("name", ["tensor", "slice", "columns", "transposed"])
def test_strides_are_eagers(name):
    make = SHOWN[name]
    assert np.from_dlpack(make("lazy")).strides == np.from_dlpack(make("cpu")).strides


def test_arrays_of_one_storage_share_its_memory():
    x = values("lazy")
    array = np.from_dlpack(x)
    assert np.shares_memory(array, np.from_dlpack(x))
    assert np.shares_memory(array, np.from_dlpack(x[1:].t()))


def test_a_later_write_to_the_tensor_does_not_reach_the_array():
    x = values("lazy") + 1
    array = np.from_dlpack(x)
    before = array.copy()
    for _ in range(3):  # each would take over the memory of the one before
        x += 1
        torch.lazy.mark_step(wait=True)
        assert np.array_equal(array, before)
    assert np.array_equal(np.from_dlpack(x), before + 3)


def test_the_array_outlives_the_tensor():
    arrays = [np.from_dlpack(values("lazy") * i) for i in range(20)]
    gc.collect()
    torch.lazy.synchronize()
    for _ in range(20):
        values("lazy").add(1).cpu()
    for i, array in enumerate(arrays):
        assert np.array_equal(array, values("cpu") * i)
    before = torch.lazy.memory_allocated()
    big = np.from_dlpack(torch.ones(1 << 16, device="lazy"))
    assert torch.lazy.memory_allocated() >= before + big.nbytes
    del big
    assert torch.lazy.memory_allocated() < before + (1 << 16)


CAPSULES = {
    "function": dlpack.to_dlpack,
    "top level": torch.to_dlpack,
    "method": lambda x: x.__dlpack__(),
    "versioned": lambda x: x.__dlpack__(max_version=(1, 0)),
    "copied": lambda x: x.__dlpack__(max_version=(1, 0), copy=True),
    "old": lambda x: x.__dlpack__(max_version=(0, 8)),
}


@pytest.mark.parametrize("export", CAPSULES.values(), ids=CAPSULES)
@pytest.mark.parametrize("name", ["tensor", "transposed", "slice"])
def test_a_tensor_made_of_a_capsule_is_written_to_by_itself(export, name):
    x = SHOWN[name]("lazy")
    made = torch.from_dlpack(export(x))
    assert made.device.type == "cpu"
    assert torch.equal(made, SHOWN[name]("cpu"))
    made += 1
    x *= 3
    assert torch.equal(x.cpu(), SHOWN[name]("cpu") * 3)
    assert torch.equal(made, SHOWN[name]("cpu") + 1)


@pytest.mark.parametrize("load", [torch.from_dlpack, dlpack.from_dlpack])
@pytest.mark.parametrize("name", ["tensor", "transposed", "slice"])
def test_torch_shares_a_lazy_tensor_as_eager_does(load, name):
    def run(device):
        x = SHOWN[name](device)
        made, copied = load(x), load(x, copy=True)
        made += 1
        x *= 2
        return made, x, copied, load(x, device=device)

    for lazy, eager in zip(run("lazy"), run("cpu"), strict=True):
        assert lazy.device.type == "lazy" and lazy.stride() == eager.stride()
        assert torch.equal(lazy.cpu(), eager)
    moved = load(values("lazy"), device="cpu")
    assert moved.device.type == "cpu" and torch.equal(moved, values("cpu"))


def test_the_device_that_others_are_told():
    assert values("lazy").__dlpack_device__() == values("cpu").__dlpack_device__()


def outcome(function, *arguments):
    try:
        return str(function(*arguments))
    except Exception as error:
        return type(error), str(error)


REFUSED = {
    "gradient": lambda d: np.from_dlpack(values(d).requires_grad_()),
    "conjugate": lambda d: np.from_dlpack(values(d, torch.complex64).conj()),
    "stream": lambda d: values(d).__dlpack__(stream=3),
    "gradient, function": lambda d: dlpack.to_dlpack(values(d).requires_grad_()),
    "gradient, torch": lambda d: torch.from_dlpack(values(d).requires_grad_()),
    "dtype": lambda d: np.from_dlpack(values(d, torch.bfloat16)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_eager_refuses_is_refused_in_its_words(call):
    assert outcome(call, "lazy") == outcome(call, "cpu")


def test_an_old_consumer_that_wants_no_copy_is_refused():
    with pytest.raises(BufferError, match="read-only"):
        values("lazy").__dlpack__(copy=False)
    with pytest.raises(ValueError, match="without copying"):
        torch.from_dlpack(values("lazy"), device="cpu", copy=False)


def test_errors_of_the_graph_are_raised():
    table = torch.rand(4, 2, device="lazy")
    rows = torch.nn.functional.embedding(torch.tensor([9], device="lazy"), table)
    with pytest.raises(RuntimeError, match="embedding"):
        np.from_dlpack(rows)
