# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of a compiled function reads and writes the memory of CPU tensors."""

import gc
import os
import threading

import pytest
import torch
import torch_ltc
from torch import nn

MB = 1 << 20


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function, **options):
    return torch.compile(function, backend="ltc", fullgraph=True, **options)


def allocated_by(call):
    """Return what a call allocates on the device at most, beside what is there."""
    gc.collect()
    before = torch.lazy.memory_allocated()
    torch.lazy.reset_peak_memory_stats()
    call()
    return torch.lazy.max_memory_allocated() - before


def matrix(rows=1024, cols=1024):
    return torch.randn(rows, cols)


LAYOUTS = {
    "whole": lambda: matrix(),
    "a part": lambda: matrix(1030)[3:1027],
    "unaligned": lambda: torch.randn(MB + 1)[1:].view(1024, 1024),
    "transposed": lambda: matrix().t(),
    "permuted": lambda: torch.randn(16, 64, 1024).permute(2, 0, 1),
    "expanded": lambda: torch.randn(1024, 1).expand(1024, 1024),
    "channels last": lambda: torch.randn(4, 16, 128, 128).to(
        memory_format=torch.channels_last
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_inputs_are_read_where_they_are(name):
    def function(x):
        return x.sin().sum() + x.amax()

    x = LAYOUTS[name]()
    call = compiled(function)
    call(x)
    assert allocated_by(lambda: call(x)) < MB
    torch.testing.assert_close(call(x), function(x))


def test_other_layouts_are_copied_and_right():
    base = torch.randn(64, 64)
    for x in (
        base[:, 3:40],
        base[::2],
        base[:, ::3].t(),
        base.as_strided((8, 8), (3, 2)),
    ):
        torch.testing.assert_close(compiled(torch.sin)(x), x.sin())
        torch._dynamo.reset()


def test_a_batch_of_rows_of_many_lengths():
    weight = torch.randn(8, 8, requires_grad=True)

    def function(rows):
        return (rows @ weight).relu()

    call = torch.compile(function, backend="ltc")
    for lengths in ((3, 5), (3, 5), (4, 6)):
        parts = [torch.randn(n, 8) for n in lengths]
        rows = torch.nested.nested_tensor(parts, layout=torch.jagged)
        found, wanted = call(rows).values(), function(rows).values()
        torch.testing.assert_close(found, wanted)
        ours, eagers = (
            torch.autograd.grad(r.sum(), weight)[0] for r in (found, wanted)
        )
        torch.testing.assert_close(ours, eagers)


def test_results_are_made_in_memory_that_they_keep():
    def function(x):
        return [x + 1, (x * 2).t(), x[:, 0] - 1]

    x = matrix()
    call = compiled(function)
    call(x)
    kept = []
    assert allocated_by(lambda: kept.extend(call(x))) < 9 * MB
    first = kept[0].clone()
    again = call(x)
    again[0].zero_()
    assert torch.equal(kept[0], first)
    assert torch.equal(kept[1], (x * 2).t())
    kept[0].resize_(3, 1 << 20).fill_(2)
    assert kept[0].sum() == 6 * MB
    before = torch.lazy.memory_allocated()
    kept.clear()
    again.clear()
    assert torch.lazy.memory_allocated() < before


def test_an_input_is_written_in_place():
    def function(x, y):
        x.mul_(2).add_(y)
        return x.sum()

    x, y = matrix(), matrix()
    place, version, expected = x.data_ptr(), x._version, x * 2 + y
    call = compiled(function)
    total = call(x, y)
    assert x.data_ptr() == place and x._version > version
    torch.testing.assert_close(x, expected)
    torch.testing.assert_close(total, expected.sum())
    assert allocated_by(lambda: call(x, y)) < MB
    torch.testing.assert_close(x, expected * 2 + y)


def test_an_optimizer_updates_in_place():
    model = nn.Linear(512, 512)
    optimizer = torch.optim.AdamW(model.parameters(), 0.1, foreach=True)
    step = torch.compile(optimizer.step, backend="ltc")
    model(torch.randn(4, 512)).sum().backward()
    step()
    places = [p.data_ptr() for p in model.parameters()]
    before = model.weight.clone()
    assert allocated_by(step) < MB
    assert places == [p.data_ptr() for p in model.parameters()]
    assert not torch.equal(model.weight, before)


def swap(x, y):
    old = x.clone()
    x.copy_(y)
    y.copy_(old)


def moved(x, y):
    x.copy_(y * 3 + x)
    y.copy_(x.t().contiguous() - y)
    return x.clone(), y + 1


def given_away(x, y):
    out = x * 2
    x.copy_(y)
    return out, x.clone()


def filled(x, y):
    x.fill_(3)
    y.zero_()
    return x * y


def shifted(x, y):
    x[1:].copy_(x[:-1].clone())
    y[:, 0] = x.sum(1)
    return y.t()


def gives_one_value_to_both(x, y):
    value = x * y
    x.copy_(value)
    y.copy_(value)
    return value + 1


@pytest.mark.parametrize(
    "function", [swap, moved, given_away, filled, shifted, gives_one_value_to_both]
)
@pytest.mark.parametrize(
    "layout",
    [
        "whole",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("transposed", "with gaps")),
    ],
)
def test_what_is_written_is_what_eager_writes(function, layout):
    def inputs():
        torch.manual_seed(1)
        x, y = torch.randn(2, 6, 12)[:, :, :6].contiguous()
        if layout == "transposed":
            x = x.t()
        if layout == "with gaps":
            x = torch.cat([x, x], 1)[:, ::2]
        return x, y

    ours, eagers = inputs(), inputs()
    call = compiled(function)
    for _ in range(2):
        found, wanted = call(*ours), function(*eagers)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(ours, eagers)


def test_one_tensor_may_be_two_arguments():
    call = compiled(lambda x, y: x.add_(1) * y)
    x = torch.ones(5)
    assert call(x, torch.ones(5)).tolist() == [2] * 5
    assert call(x, x).tolist() == [9] * 5
    torch._dynamo.reset()  # PyTorch does not guard on parts that overlap
    base = torch.ones(6)
    assert call(base[:5], base[1:]).tolist() == [4, 4, 4, 4, 2]
    assert base.tolist() == [2] * 5 + [1]


def test_a_failed_call_changes_nothing():
    def function(x, i):
        x.add_(1)
        return x[i] * 2

    call = compiled(function)
    x = torch.zeros(3)
    call(x, torch.tensor([1]))
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        call(x, torch.tensor([7]))
    assert x.tolist() == [1, 1, 1]
    assert call(x, torch.tensor([0])).tolist() == [4]


def test_threads_call_one_function():
    call = compiled(lambda x, y: (x @ y).relu().sum(1))
    inputs = [(torch.randn(32, 32), torch.randn(32, 32)) for _ in range(4)]
    call(*inputs[0])
    wrong = []

    def work(x, y):
        expected = (x @ y).relu().sum(1)
        for _ in range(50):
            if not torch.allclose(call(x, y), expected, atol=1e-4):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=pair) for pair in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_outlive_what_made_them():
    result = compiled(lambda x: x.exp())(torch.randn(100))
    expected = result.tolist()
    torch._dynamo.reset()
    gc.collect()
    assert result.tolist() == expected
    reader, writer = os.pipe()
    if os.fork() == 0:  # a worker may read them, and let them go
        same = result.tolist() == expected
        del result
        os.write(writer, b"y" if same else b"n")
        os._exit(0)
    assert os.read(reader, 1) == b"y"


def test_empty_inputs_and_results():
    call = compiled(lambda x: (x * 2, x.sum(), torch.cat([x, x])))
    x = torch.ones(0, 3)
    torch.testing.assert_close(call(x), (x * 2, x.sum(), torch.cat([x, x])))


def test_results_have_eagers_strides_also_with_gaps():
    def function(x):
        y = torch.empty_strided((4, 2, 3), (20, 1, 4))
        y[:] = x.sin()
        return y, y[1:]

    x = torch.randn(4, 2, 3)
    found, wanted = compiled(function)(x), function(x)
    torch.testing.assert_close(found, wanted)
    assert [y.stride() for y in found] == [y.stride() for y in wanted]
    found[0].zero_()
    assert not found[1].any()


def chain(table, index):
    x = table[index]
    for i in range(20):
        x = x * (1 + i / 8) + i
    table.mul_(0.5)
    return x


def test_numbers_are_handed_over_once():
    """A launch with many numbers is prepared, and outlives one that fails."""
    call = compiled(chain)
    want, got = torch.randn(2, 6, 4).unbind()
    got.copy_(want)
    index = torch.tensor([3, 1])
    for turn in range(8):
        index = (index + 1) % 6
        with torch_ltc.metrics.measure() as counts:
            torch.testing.assert_close(call(got, index), chain(want, index))
        assert torch.equal(got, want)
        if turn in (2, 3, 6, 7):
            assert counts["execute.repeated"] == 1
        if turn == 3:
            with pytest.raises(IndexError, match="7"):
                call(got, torch.tensor([1, 7]))
            assert torch.equal(got, want)


def test_threads_call_it_at_once():
    call = compiled(chain)
    call(torch.randn(6, 4), torch.tensor([3, 1]))
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(50):
            got = torch.randn(6, 4, generator=generator)
            want = got.clone()
            index = torch.randint(6, (2,), generator=generator)
            if not torch.allclose(call(got, index), chain(want, index)):
                wrong.append(seed)
            if not torch.equal(got, want):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
