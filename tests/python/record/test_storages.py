# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shallow copies, and the bytes of storages, are eager's."""

import copy

import pytest
import torch
import torch_ltc
from torch import nn


def values(device, dtype=torch.float32):
    return torch.arange(12, device=device).to(dtype).view(3, 4)


class Named(torch.Tensor):
    """A class of tensors that a program may have."""


def named(device):
    made = values(device).as_subclass(Named)
    made.note = "mine"
    return made


COPIED = {
    "tensor": values,
    "view": lambda d: values(d)[1:, ::2],
    "transposed": lambda d: values(d).t(),
    "expanded": lambda d: values(d)[:, :1].expand(3, 4),
    "bytes": lambda d: values(d).view(torch.uint8),
    "conjugate": lambda d: values(d, torch.complex64).conj(),
    "parameter": lambda d: nn.Parameter(values(d)),
    "frozen": lambda d: nn.Parameter(values(d, torch.int64), requires_grad=False),
    "result": lambda d: nn.Parameter(values(d)) * 2,
    "class": named,
    "nothing": lambda d: torch.empty(0, 3, device=d),
}


@pytest.mark.parametrize("make", COPIED.values(), ids=COPIED)
def test_a_shallow_copy_shares_its_storage(make):
    def run(device):
        original = make(device)
        copied = copy.copy(original)
        with torch.no_grad():
            places = [copied, original]
            if 0 in copied.stride():  # which is not written to as a whole
                places = [t[0, :1] for t in places]
            places[0].fill_(5)
            first = original.clone().cpu()
            places[1][:1].zero_()
        return copied, original, first

    lazy, eager = run("lazy"), run("cpu")
    for ours, theirs in zip(lazy, eager, strict=True):
        assert type(ours) is type(theirs)
        assert vars(ours) == vars(theirs)
        assert ours.requires_grad == theirs.requires_grad
        assert ours.is_leaf == theirs.is_leaf
        assert ours.stride() == theirs.stride()
        assert ours.storage_offset() == theirs.storage_offset()
        assert torch.equal(ours.detach().cpu(), theirs.detach())
    for ours in lazy[:2]:
        assert ours.device.type == "lazy"
    assert lazy[1]._version == eager[1]._version


def test_a_shallow_copy_of_a_module_shares_parameters():
    model = nn.Linear(2, 2, device="lazy")
    copied = copy.copy(model)
    assert copied.weight is model.weight
    assert copy.copy(torch.ones(2)).tolist() == [1, 1]


def test_a_shallow_copy_runs_nothing(counts):
    x = torch.ones(4, device="lazy") + 1
    copy.copy(x)
    assert counts["execute.launches"] == 0


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.int64])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_a_deep_copy_of_a_storage_is_that_of_its_tensors(order, dtype):
    def run(device):
        x = torch.arange(6, device=device).to(dtype)
        parts = [x, x.storage(), x.view(2, 3)]
        copied = copy.deepcopy([parts[i] for i in order])
        tensor, storage, view = (copied[order.index(i)] for i in range(3))
        tensor.add_(1)
        storage[2] = 9
        view[1].mul_(2)
        return tensor.tolist(), storage.tolist(), view.tolist(), x.tolist()

    assert run("lazy") == run("cpu")


READ = {
    "item": lambda x: x.storage()[3],
    "last item": lambda x: x.storage()[-1],
    "byte": lambda x: x.untyped_storage()[5],
    "list": lambda x: x.storage().tolist(),
    "bytes": lambda x: x.untyped_storage().tolist(),
    "iteration": lambda x: [*x.untyped_storage()][:9],
    "text": lambda x: str(x.storage()).splitlines()[:5],
    "length": lambda x: (len(x.storage()), len(x.untyped_storage())),
    "nbytes": lambda x: (x.untyped_storage().nbytes(), x.storage().nbytes()),
    "clone": lambda x: x.untyped_storage().clone().tolist(),
    "typed clone": lambda x: x.storage().clone().tolist(),
    "copy": lambda x: copy.copy(x.untyped_storage()).tolist(),
    "deepcopy": lambda x: copy.deepcopy(x.storage()).tolist(),
    "cpu": lambda x: (
        x.storage().cpu().tolist(),
        str(x.untyped_storage().cpu().device),
    ),
    "cast": lambda x: x.storage().int().tolist(),
    "too far": lambda x: x.untyped_storage()[1000],
    "no index": lambda x: x.untyped_storage()["a"],
    "same place": lambda x: x.data_ptr() - x.untyped_storage().data_ptr(),
}
SHOWN = {
    "tensor": values,
    "slice": lambda d: values(d)[1:],
    "columns": lambda d: values(d)[:, 1],
    "transposed": lambda d: values(d).t(),
    "halves": lambda d: values(d, torch.bfloat16),
    "wide": lambda d: values(d, torch.int64),
    "complex": lambda d: values(d, torch.complex64),
    "reinterpreted": lambda d: values(d).view(torch.int16),
    "channels last": lambda d: (
        values(d).view(1, 3, 2, 2).to(memory_format=torch.channels_last)
    ),
}


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_bytes_of_a_storage(read, make):
    assert outcome(read, make("lazy")) == outcome(read, make("cpu"))


def set_item(x):
    x.untyped_storage()[2] = 7


def set_typed_item(x):
    x.storage()[2] = 5


def show(x, *place):
    shown = torch.empty(0, dtype=x.dtype, device=x.device)
    shown.set_(x.untyped_storage(), *place)
    shown += 2
    x -= 1
    return shown


def shown_as_bytes(x):
    shown = torch.empty(0, dtype=torch.uint8, device=x.device)
    shown.set_(x.untyped_storage())
    shown[4:8] = 0
    return shown


def set_to_nothing(x):
    x.set_()
    return x


def from_the_host(x):
    return x.untyped_storage().copy_(
        torch.arange(48, dtype=torch.uint8).untyped_storage()
    )


WRITES = {
    "item": set_item,
    "typed item": set_typed_item,
    "fill": lambda x: x.untyped_storage().fill_(3),
    "typed fill": lambda x: x.storage().fill_(2),
    "from the host": from_the_host,
    "wrong size": lambda x: x.untyped_storage().copy_(torch.UntypedStorage(3)),
    "set": show,
    "set part": lambda x: show(x, 2, (2, 3), (3, 1)),
    "set dense part": lambda x: show(x, 1, (2, 2)),
    "set bytes": shown_as_bytes,
    "set to nothing": set_to_nothing,
    "set other device": lambda x: x.set_(torch.UntypedStorage(48, device="meta")),
    "swapped bytes": lambda x: x.untyped_storage().byteswap(torch.float32),
}


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("make", [values, SHOWN["slice"], SHOWN["transposed"]])
def test_writes_through_a_storage(write, make):
    def run(device):
        x = make(device)
        view = x[1:]
        made = outcome(write, x)
        if isinstance(made, torch.Tensor):
            made = made.tolist(), made.stride(), made.storage_offset()
        elif torch.is_storage(made):
            made = made.tolist()
        return x.tolist(), view.tolist(), made

    assert run("lazy") == run("cpu")


def test_storages_are_made_and_moved():
    made = torch.UntypedStorage(4, device="lazy")
    assert made.device.type == "lazy" and made.fill_(1).tolist() == [1] * 4
    assert torch.UntypedStorage([1, 2], device="lazy:0").tolist() == [1, 2]
    moved = torch.ones(2).untyped_storage().to(device="lazy")
    assert moved.device.type == "lazy" and moved.tolist() == [0, 0, 128, 63] * 2
    typed = torch.TypedStorage(3, dtype=torch.int32, device="lazy")
    assert typed.nbytes() == 12


def test_a_storage_outlives_its_tensor():
    storage = (torch.ones(2, device="lazy") * 2).untyped_storage()
    assert storage.tolist() == [0, 0, 0, 64] * 2


REFUSED = {
    "slice": (lambda s: s[1:2], "take it of a tensor"),
    "resize": (lambda s: s.resize_(3), "resize the tensor"),
    "share": (lambda s: s.share_memory_(), "share a CPU tensor"),
    "pin": (lambda s: s.pin_memory(), "only CPU memory can be pinned"),
    "save": (lambda s: torch.save(s, "/dev/null"), "save the tensor"),
}


@pytest.mark.parametrize("call,words", REFUSED.values(), ids=REFUSED)
def test_what_a_storage_cannot_do_says_what_to_do(call, words):
    with pytest.raises((RuntimeError, TypeError), match=words):
        call(values("lazy").untyped_storage())


@pytest.mark.parametrize(
    "clone",
    [torch._lazy_clone, torch.Tensor._lazy_clone, torch.ops.aten._lazy_clone],
    ids=["function", "method", "op"],
)
@pytest.mark.parametrize("make", [values, SHOWN["slice"], SHOWN["transposed"]])
def test_copy_on_write_clones_are_written_to_by_themselves(clone, make):
    def run(device):
        x = make(device)
        copied = clone(x)
        x += 1
        copied *= 2
        return x.tolist(), copied.tolist(), copied.stride()

    for _ in range(2):  # a call met before goes another way
        assert run("lazy") == run("cpu")


def test_a_freed_storage_has_no_memory_till_it_is_resized_back():
    """As FSDP does with gathered parameters, which autograd has saved by then."""
    results = []
    for device in "cpu", "lazy":
        whole = torch.arange(6.0, device=device)
        view = whole[2:].view(2, 2)
        x = torch.ones(2, 2, device=device, requires_grad=True)
        y = (x * view).sum()
        storage = whole.untyped_storage()
        storage.resize_(0)
        assert storage.size() == 0 and view.shape == (2, 2)
        storage.resize_(24)
        assert storage.size() == 24
        with torch.autograd._unsafe_preserve_version_counter(whole):
            whole.copy_(torch.arange(6.0, device=device) * 2)
        y.backward()
        results.append([whole.cpu(), view.cpu(), x.grad.cpu(), y.detach().cpu()])
    torch.testing.assert_close(*results)


def test_a_freed_storage_is_not_read():
    x = torch.ones(2, 2, device="lazy")
    x.untyped_storage().resize_(0)
    with pytest.raises(torch_ltc.Error, match=r"freed by resize_\(0\)"):
        x.t().tolist()
    x.untyped_storage().resize_(16)
    assert x.fill_(2).tolist() == [[2, 2], [2, 2]]


def test_a_freed_storage_gives_its_memory_back():
    x = torch.ones(1 << 20, device="lazy")
    torch.lazy.synchronize()
    before = torch.lazy.memory_allocated()
    x.untyped_storage().resize_(0)
    assert torch.lazy.memory_allocated() <= before - (1 << 22)
