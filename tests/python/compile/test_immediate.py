# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that run when they are made, in programs that read all the time."""

import copy
import threading
import traceback

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn

ENOUGH = 128  # reads of two calls


def end_reading():
    """Make a graph of many calls, which is compiled by the first test."""
    x = torch.ones(3).to("lazy")
    for _ in range(100):
        x = x + 1
    assert x.tolist() == [101] * 3


@pytest.fixture(autouse=True)
def recorded_at_first_and_at_last():
    end_reading()
    with torch_ltc.settings.scope(tiers="auto"):
        yield
    end_reading()


def read_often(device, reads=ENOUGH):
    x = torch.linspace(-1, 1, 30).to(device)
    return [(x * i).sum().item() for i in range(reads)]


def boxes_that_stay(device):
    torch.manual_seed(0)
    corners = torch.rand(30, 2) * 50
    boxes = torch.cat([corners, corners + 20], 1).to(device)
    order, kept = torch.rand(30).to(device).argsort(descending=True), []
    while len(order):
        first, rest = order[0], order[1:]
        kept.append(first)
        low = torch.maximum(boxes[first, :2], boxes[rest, :2])
        high = torch.minimum(boxes[first, 2:], boxes[rest, 2:])
        shared = (high - low).clamp(min=0).prod(1)
        order = rest[shared / (800 - shared) < 0.5]
    return torch.stack(kept)


def written_in_place(device):
    x, y = torch.arange(6.0).to(device), torch.ones(6).to(device)
    read = []
    for i in range(4):
        held = x.clone()
        x.mul_(2).add_(y, alpha=i)
        x[1] += 3
        x.view(2, 3)[:, 0].sub_(1)
        read += [x.sum().item(), held.sum().item()]
    return x, read


def views_of_what_is_written(device):
    x = torch.arange(12.0).to(device)
    rows, turned = x.view(3, 4), x.view(3, 4).t()
    read = []
    for i in range(4):
        x.add_(i)
        read += [rows[1].sum().item(), turned[2].max().item()]
        read.append((turned @ rows).sum().item())
    rows[0].zero_()
    return x, turned, x.expand(2, 12).cumsum(1), read


def turned_over(device):
    x = torch.arange(24.0).view(2, 3, 4).to(device)
    y = x.permute(2, 0, 1)
    return (
        y * 2,
        y.exp() + x[0, 0, 0],
        (y[1:] * y[:1]).sum(0),
        x.transpose(0, 2).clone(),
    )


def with_gradients(device):
    w, read = torch.linspace(-1, 1, 8).to(device).requires_grad_(), []
    for _ in range(4):
        loss = (torch.tanh(w) * w).square().mean()
        loss.backward()
        read.append(loss.item())
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    return w, w.grad, read


def of_every_dtype(device):
    read = []
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.bool, torch.float64):
        x = torch.tensor([0, 1, 1, 0]).to(dtype).to(device)
        read += [x.sum().item(), (x == 1).any().item(), x.max().item()]
        read += [(x.to(torch.float32) / 2).max().item(), (x * 2.5).sum().item()]
    return read


def several_results(device):
    x = torch.linspace(3, -3, 12).view(3, 4).to(device)
    values, places = x.topk(2)
    low, high = x.aminmax()
    parts = torch.cat([values, x.sort(1)[0]], 1).split(3, 1)
    return values, places, (high - low).item(), parts, torch.stack([x, x]).sum(0)


def nothing_and_single_numbers(device):
    x = torch.linspace(-1, 1, 5).to(device)
    none = x[x > 2]
    return none.sum().item(), none * 2, torch.cat([none, x]), x[2] * 3, x.sum() / 0


def made_on_the_device(device):
    x = torch.ones(3, dtype=torch.int32, device=device)
    made = torch.zeros(2, 3, device=device), torch.full((3,), 7, device=device)
    like = torch.zeros_like(x), torch.full_like(x, 2.0), x.new_ones(2)
    return (
        made,
        like,
        torch.arange(3, device=device) + x,
        torch.ones_like(x, device="cpu"),
    )


PROGRAMS = [
    boxes_that_stay,
    written_in_place,
    views_of_what_is_written,
    turned_over,
    with_gradients,
    of_every_dtype,
    several_results,
    nothing_and_single_numbers,
    made_on_the_device,
]
RECORDED = views_of_what_is_written, with_gradients


def described(value):
    """Return the values on the CPU, each with how it lies in memory."""
    if isinstance(value, tuple | list):
        return [described(part) for part in value]
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().cpu(), value.stride()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_are_eagers(program, counts):
    wanted = described(program("cpu"))
    assert read_often("lazy") == read_often("cpu")
    before = counts["execute.immediate"]
    found = program("lazy")
    if program not in RECORDED:
        assert counts["execute.immediate"] > before
    torch.testing.assert_close(described(found), wanted, equal_nan=True)
    assert counts["codegen.graphs"] == 0


def test_calls_run_after_many_reads_and_make_no_graph(counts):
    read_often("lazy")
    assert counts["execute.immediate"] == 0 and counts["graph.host_reads"] == ENOUGH
    read_often("lazy", 3)
    assert counts["execute.immediate"] == 6 and counts["graph.host_reads"] == ENOUGH
    assert counts["execute.interpreted"] == counts["execute.launches"] == 0


def test_random_numbers_are_those_of_recorded_calls(counts):
    def draw():
        torch.manual_seed(3)
        x = torch.rand(4, device="lazy")
        return [each.tolist() for each in (x, F.dropout(x, 0.5), torch.rand_like(x))]

    wanted = draw()
    read_often("lazy", 200)
    before = counts["execute.immediate"]
    assert draw() == wanted
    read_often("lazy", 1)
    assert counts["execute.immediate"] >= before + 2


def test_without_tiers_all_calls_are_recorded(counts):
    with torch_ltc.settings.scope(tiers="off"):
        read_often("lazy", ENOUGH + 10)
    assert counts["execute.immediate"] == 0


def test_many_calls_without_a_look_are_a_graph(counts):
    read_often("lazy")
    x = torch.ones(4).to("lazy")
    for _ in range(50):
        x = x + 1
    assert counts["execute.immediate"] == 32
    assert x.tolist() == [51] * 4
    assert counts["execute.interpreted"] == 1


def test_training_after_many_reads_is_compiled(counts):
    torch.manual_seed(0)
    model, batch = nn.Sequential(nn.Linear(24, 20), nn.Softplus()), torch.randn(8, 24)

    def train(device, steps=500):
        trained, x = copy.deepcopy(model).to(device), batch.to(device)
        optimizer = torch.optim.SGD(trained.parameters(), 1e-2, momentum=0.9)
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = trained(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    read_often("lazy")
    before = counts["execute.immediate"]
    torch.testing.assert_close(train("lazy"), train("cpu"), rtol=1e-4, atol=1e-5)
    assert counts["execute.launches"] > 30
    assert counts["execute.immediate"] - before <= 32


def test_large_and_pending_operands_are_recorded(counts):
    large, pending = torch.ones(5000).to("lazy"), torch.ones(5000).to("lazy") + 1
    number = pending.sum()
    read_often("lazy")
    before = counts["execute.immediate"]
    assert (large + 1).sum().item() == 10000 and number.item() == 10000
    assert counts["execute.immediate"] == before


def line_of(error):
    return traceback.extract_tb(error.tb)[0].line


def test_an_error_comes_at_its_line():
    read_often("lazy")
    x = torch.ones(3).to("lazy")
    with pytest.raises(IndexError, match="out of range") as raised:
        x.index_select(0, torch.tensor([7]).to("lazy"))
    assert "index_select" in line_of(raised)
    with pytest.raises(RuntimeError, match="must match") as raised:
        x + torch.ones(2).to("lazy")
    assert "torch.ones(2)" in line_of(raised)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(torch.ones(2, 3).to("lazy"))
    assert x.tolist() == [1] * 3
    assert read_often("lazy") == read_often("cpu")


def test_failures_are_those_of_recorded_calls(counts):
    bad = torch.ones(3).to("lazy")[torch.tensor([7]).to("lazy")]
    with pytest.raises(IndexError, match="out of range"):
        bad.tolist()
    read_often("lazy", 200)
    assert counts["execute.immediate"] > 0
    x, failed = torch.ones(3).to("lazy"), torch.ones(3).to("lazy")
    failed.index_copy_(0, torch.arange(3).to("lazy"), torch.ones(3).to("lazy"))
    assert (x + failed).tolist() == [2] * 3


def test_what_is_read_is_never_written_over():
    read_often("lazy")
    x = torch.ones(5).to("lazy")
    held, view = x * 1, x[1:3]
    copies = [x.clone(), x.detach(), held.clone()]
    for _ in range(3):
        x.add_(1)
        held.mul_(2)
    torch.lazy.mark_step()
    assert x.tolist() == [4] * 5 and held.tolist() == [8] * 5
    assert view.tolist() == [4, 4]
    assert [copy.tolist() for copy in copies] == [[1] * 5, [4] * 5, [1] * 5]


def test_results_are_parameters_of_a_graph():
    read_often("lazy")
    w = torch.ones(4).to("lazy") * 3
    moment = w * 0
    assert w.sum().item() == 12
    for _ in range(3):
        for _ in range(50):  # ends it; then w is updated where it is
            w.add_(1)
            moment.mul_(0.5).add_(w)
        torch.lazy.mark_step()
    expected, m = 3.0, 0.0
    for _ in range(150):
        expected += 1
        m = 0.5 * m + expected
    torch.testing.assert_close(w.cpu(), torch.full((4,), expected))
    torch.testing.assert_close(moment.cpu(), torch.full((4,), m))


def test_memory_of_the_device_is_read_where_it_is():
    read_often("lazy")
    x = torch.arange(4.0).to("lazy") * 2
    array = x.numpy(force=True)
    assert array.tolist() == [0, 2, 4, 6]
    x += 1
    assert array.tolist() == [0, 2, 4, 6] and x.tolist() == [1, 3, 5, 7]


def test_threads_each_have_their_order():
    wanted, wrong = (read_often("cpu"), written_in_place("cpu")[1]), []

    def run():
        for _ in range(2):
            # What waits for another thread's graph is rounded as that is.
            if read_often("lazy") != pytest.approx(wanted[0], abs=1e-3):
                wrong.append("numbers")
        # Not boxes_that_stay(), whose random numbers all threads would draw.
        if written_in_place("lazy")[1] != wanted[1]:
            wrong.append("writes")

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
