# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small decisions are made on the host, and leave what is pending pending."""

import threading

import pytest
import torch
import torch.nn.functional as F
import torch_ltc

MASK = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
SCORES = torch.tensor([[0.5, -2.0, 3.0, 0.25], [1.5, 2.0, -1.0, 0.0]])


def written_through_a_view(mask):
    mask = mask.clone()
    mask.t()[3].fill_(1)
    return mask.all()


# What scripts ask of a mask, of labels or of a number, before they go on.
DECISIONS = {
    "all": lambda mask: mask.all(),
    "bool all": lambda mask: mask.to(torch.bool).all(),
    "last column": lambda mask: (mask[:, -1] == 0).all(),
    "longest": lambda mask: mask.sum(-1).max(),
    "first padding": lambda mask: mask.argmin(-1).min(),
    "positions": lambda mask: ((mask.cumsum(-1) - 1) * mask).sum(),
    "written": written_through_a_view,
    "shifted": lambda mask: torch.cat([mask, mask.flip(1)], 1)[0, 3:5].any(),
    "by a table": lambda mask: mask[torch.tensor([1, 0])][0].sum(),
    "finite": lambda mask: torch.isfinite(mask.sum() * 0.5),
    "a mean": lambda mask: mask.sum() / mask.numel() + 0.1,
    # As BART's decoder makes one: of floats, where no padding is.
    "no padding": lambda mask: torch.ones(2, 4, device=mask.device).bool().all(),
    # As torchvision's Normalize asks of the deviations it divides by.
    "zero": lambda mask: (torch.tensor([0.2, 0.3], device=mask.device) == 0).any(),
    "brightest": lambda mask: torch.tensor([0.5, 1.5], device=mask.device).max() > 1,
    # As DETR fits the mask of its images to its features.
    "resized": lambda mask: F.interpolate(mask[None, None].float(), (1, 2)).all(),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_needs_no_graph(name, counts):
    mask, x = MASK.to("lazy"), torch.ones(3, device="lazy") * 2
    assert DECISIONS[name](mask).item() == DECISIONS[name](MASK).item()
    assert counts["execute.launches"] == 0 and counts["graph.host_reads"] == 1
    assert x.tolist() == [2, 2, 2]
    assert counts["execute.launches"] == 1


def test_a_result_of_a_launch_is_decided_by_as_well(counts):
    loss = (torch.arange(100.0, device="lazy") / 7).sum()
    assert not torch.isnan(loss)  # the loss needs a graph
    assert counts["execute.launches"] == 1
    assert not torch.isinf(loss)
    assert (loss / 2).item() == loss.item() / 2
    assert counts["execute.launches"] == 1


@pytest.mark.parametrize(
    "decide",
    [
        lambda: (SCORES.to("lazy") * 3 > 0).all(),
        lambda: SCORES.to("lazy").sum() > 10,
        lambda: torch.ones(300, 300, device="lazy", dtype=torch.int32).sum(),
        lambda: torch.rand(1, device="lazy") > 2,
    ],
    ids=["fractions", "a sum of fractions", "large", "random"],
)
def test_what_the_device_decides(decide, counts):
    with torch_ltc.settings.scope(rng="fast"):  # eager numbers come from the host
        assert decide().item() in (False, 90000)
    assert counts["execute.launches"] == 1 and counts["graph.host_reads"] == 0


def test_errors_are_those_of_the_graph():
    zero = torch.tensor([0, 1]).to("lazy")
    with pytest.raises(RuntimeError, match=r"(?s)ZeroDivision.*host_reads\.py:\d+"):
        (torch.tensor([3, 4]).to("lazy") // zero).sum().item()
    with pytest.raises(RuntimeError, match=r"(?s)out of bounds.*host_reads\.py:\d+"):
        zero[zero + 5].sum().item()


def test_operands_of_an_op_that_splits_the_graph(counts):
    labels, x = torch.tensor([5, -100, 7]).to("lazy"), torch.ones(3, device="lazy") * 2
    kept = labels.masked_select(labels >= 0)
    assert kept.tolist() == [5, 7] and counts["execute.launches"] == 0
    assert counts.fallbacks() == ["record.fallback.aten::masked_select"]
    assert torch.equal(labels.nonzero(), torch.tensor([[0], [1], [2]]).to("lazy"))
    assert x.tolist() == [2, 2, 2]


# Reads end the graphs of loops that have no steps.


def test_a_line_that_reads_other_data_ends_the_graph(counts):
    losses = []
    for i in range(5):
        mask = (MASK + i).to("lazy")
        if mask.all():
            losses.append((mask * 2).sum())
        else:
            losses.append((mask * 3).sum())
    assert counts["execute.launches"] == 4
    # The first has one iteration, the others the end of one and the next.
    assert counts["codegen.graphs"] <= 2
    assert [x.item() for x in losses] == [15, 26, 42, 58, 74]


def test_a_line_may_read_the_same_twice(counts):
    mask, x, launches = MASK.to("lazy"), torch.ones(2, device="lazy"), []
    for _ in range(6):
        x = x * 2
        assert mask.any()
        launches.append(counts["execute.launches"])
    assert launches == [0, 0, 1, 1, 2, 2]
    assert x.tolist() == [64, 64]


def test_layers_may_ask_numbers_of_their_own(counts):
    """As EnCodec's convolutions keep their kernel sizes, by which they pad."""

    def run(device):
        sizes = [torch.tensor(size).to(device) for size in (3, 5, 2, 4)]
        x = torch.ones(1, 2, device=device)
        for size in sizes:
            x = F.pad(x * 2, (0, size - 1), value=1)
        return x

    lazy = run("lazy")
    assert counts["execute.launches"] == 0 and counts["graph.host_reads"] == 4
    assert torch.equal(lazy.cpu(), run("cpu"))
    assert counts["execute.launches"] == 1


def test_numbers_made_in_a_loop_end_the_graph(counts):
    x = torch.ones(3, device="lazy")
    for i in range(4):
        x = x * 2 if torch.tensor(i).to("lazy") * 2 > 3 else x * 3
    assert counts["execute.launches"] == 3
    assert x.tolist() == [36, 36, 36]


def test_a_loop_over_its_own_condition(counts):
    """As generate() runs without an end token: what it asks comes of the last time."""
    unfinished = torch.ones(2, dtype=torch.long, device="lazy")
    x, rounds = torch.ones(3, device="lazy"), 0
    while unfinished.max() > 0:
        rounds += 1
        x = x + 1
        unfinished = unfinished & torch.full((2,), rounds < 9, device="lazy")
    assert rounds == 9 and x.tolist() == [10, 10, 10]
    assert counts["execute.launches"] >= 8


def test_a_step_begins_anew(counts):
    weight = torch.nn.Parameter(torch.ones(4, device="lazy"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    counts.restart()
    for i in range(4):
        mask = (MASK + i).to("lazy")
        scale = 1 if mask.all() else 2
        (weight * mask * scale).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert counts["execute.launches"] == 4 and counts["graph.host_reads"] == 4


# A number that only some steps compute makes no graph of its own.

ANEW = {
    "zero_": lambda total: total.zero_(),
    "fill_": lambda total: total.fill_(0),
    "-=": lambda total: total.sub_(total),
    "*=": lambda total: total.mul_(0),
}


def logged_sums(device, anew):
    """As loops do that look at a loss before they go back, and log now and then."""
    weight = torch.nn.Parameter(torch.arange(4.0).to(device))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    total, logged = torch.tensor(0.0, device=device), []
    for i in range(8):
        loss = weight.square().sum()
        assert not torch.isnan(loss)
        total += loss.detach()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if i % 2:
            logged.append(total.item())
            anew(total)
    return logged


@pytest.mark.parametrize("name", ANEW)
def test_a_sum_that_begins_anew_makes_no_other_graph(name, counts):
    logged = logged_sums("lazy", ANEW[name])
    assert counts["codegen.graphs"] <= 2 and counts["graph.host_numbers"] == 3
    assert logged == pytest.approx(logged_sums("cpu", ANEW[name]), rel=1e-6)


def test_a_number_of_every_step_stays_in_its_graph(counts):
    steps = torch.tensor(0, device="lazy")
    x = torch.ones(3).to("lazy")
    for i in range(6):
        x = x * 2 + 0.0  # a graph that no other test has
        steps += 1
        torch.lazy.mark_step()
        if i % 2:
            assert steps.item() == i + 1
    assert counts["codegen.graphs"] <= 1 and counts["graph.host_numbers"] == 0
    assert x.tolist() == [64] * 3


def test_a_number_of_what_failed_fails_with_it(counts):
    table, number = torch.ones(3).to("lazy"), torch.tensor(0.0, device="lazy")
    for index in (1, 7):
        place = torch.tensor([index]).to("lazy")
        number = number + table.index_select(0, place).sum()
        torch.lazy.mark_step()
        if index == 7:  # the only step that begins anew
            number -= number
        table = table * 1.5
        torch.lazy.mark_step()
    assert counts["graph.host_numbers"] == 0  # what it comes of has failed
    with pytest.raises(IndexError):
        number.item()


def test_threads(counts):
    wrong = []

    def run(seed):
        for i in range(30):
            mask = torch.full((3, 5), seed * 100 + i).to("lazy")
            x = mask * 2 + 1
            if (mask.sum() - mask.min()).item() != (seed * 100 + i) * 14:
                wrong.append(("decided", seed, i))
            if x.sum().tolist() != (seed * 100 + i) * 30 + 15:
                wrong.append(("computed", seed, i))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and counts["graph.host_reads"] > 0


KEPT = []


@torch.library.custom_op("host_reads::keep", mutates_args=(), device_types="cpu")
def keep(x: torch.Tensor) -> torch.Tensor:
    KEPT.append(x)
    return x.nonzero()


def test_what_a_call_on_the_host_keeps_is_never_written_over():
    """It reads the device's own memory, which the next graph would take over."""
    x = torch.ones(1000, device="lazy") + 1
    assert len(keep(x)) == 1000
    for _ in range(2):
        x.add_(1)
        torch.lazy.mark_step()
    assert x.sum().item() == 4000
    assert KEPT.pop().tolist() == [2] * 1000


def test_what_writes_on_the_host_writes_to_its_own_tensors_alone():
    rows = torch.eye(3).to_sparse().to("lazy")
    values = rows._values().clone()
    shared = values.detach()
    rows.add_(rows)
    assert rows.to_dense().tolist() == (torch.eye(3) * 2).tolist()
    assert shared.tolist() == values.tolist() == [1, 1, 1]


def test_a_small_number_that_nothing_waits_beside_needs_no_graph(counts):
    x = torch.linspace(-1, 1, 100)
    y, kept = x.to("lazy"), []
    with torch_ltc.settings.scope(tiers="auto"):
        for i in range(5):
            kept.append((y * i).std())
            assert kept[-1].item() == (x * i).std().item()
        assert counts["execute.interpreted"] == counts["codegen.graphs"] == 0
        assert counts["graph.host_reads"] == 5
        # Each has its value, and is not computed again.
        assert torch.stack(kept).tolist() == [(x * i).std().item() for i in range(5)]
        assert counts["execute.calls"] <= 1
        # Beside what waits, and of more, it is a part of a graph.
        beside = y + 1
        assert y.std().item() == pytest.approx(x.std().item())
        assert counts["graph.host_reads"] == 5
        assert beside.tolist() == (x + 1).tolist()
        many = torch.linspace(-1, 1, 5000)
        assert many.to("lazy").std().item() == pytest.approx(many.std().item())
        assert counts["graph.host_reads"] == 5


def test_a_line_reads_small_things_of_several_sizes(counts):
    y = torch.linspace(-1, 1, 200).reshape(50, 4)
    x = y.to("lazy")
    with torch_ltc.settings.scope(tiers="auto"):
        for bound in (-0.5, 0.0, 0.5):
            found = x[x[:, 0] > bound].mean().item()
            assert found == y[y[:, 0] > bound].mean().item()
    assert counts["execute.interpreted"] == counts["execute.launches"] == 0
    assert counts["graph.host_reads"] == 6


def test_a_view_is_read_once(counts):
    row = torch.arange(12.0).view(3, 4).to("lazy")[1]
    beside = row * 2
    assert [row[2].item(), row[2].item()] == [6, 6]
    number = row[3]
    assert [number.item() for _ in range(3)] == [7, 7, 7]
    assert counts["graph.host_reads"] == 3
    number.add_(1)
    assert number.item() == row[3].item() == 8
    assert beside.tolist() == [8, 10, 12, 14]


def kept_rows(device):
    """As boxes are suppressed: the locals of a turn live on in the next one."""
    x = torch.linspace(-1, 1, 40).view(20, 2).to(device)
    order, kept, widths = torch.arange(20).to(device), [], []
    while len(order):
        first, rest = order[0], order[1:]
        kept.append(first)
        width = (x[first, 0] - x[rest, 0]).abs() * x[first, 1].abs()
        widths.append(width)
        order = rest[width * 2 > 0.1]
    return torch.stack(kept).tolist(), [width.tolist() for width in widths]


def test_what_the_host_has_computed_on_its_way_is_not_computed_again(counts):
    with torch_ltc.settings.scope(tiers="auto"):
        rows, widths = kept_rows("lazy")
    assert counts["execute.launches"] == 0
    # What was left for a graph is to stack the rows that were kept.
    assert counts["execute.interpreted"] == counts["execute.calls"] == 1
    wanted_rows, wanted_widths = kept_rows("cpu")
    assert rows == wanted_rows and len(rows) > 3
    assert widths == wanted_widths


SHAPED = {
    "nonzero": lambda x: (x > 0.3).nonzero(),
    "of a view": lambda x: x[1:, ::2].nonzero(),
    "index": lambda x: x[x[:, 0] > 0],
    "index by pairs": lambda x: x[x.isfinite(), None],
    "masked_select": lambda x: torch.masked_select(x, x > 0),
    "unique": lambda x: x.round().unique(return_counts=True),
    "of nothing": lambda x: x[:0].nonzero(),
}


@pytest.mark.parametrize("name", SHAPED)
def test_ops_shaped_by_values_take_what_was_written_and_hand_on(name, counts):
    """The second call and those after it make no detour."""

    def run(device):
        x = torch.arange(-6.0, 6.0, device=device).reshape(4, 3) / 5
        found = []
        for _ in range(3):
            x[:, 0] *= -1
            x.t()[1].add_(0.3)
            result = SHAPED[name](x)
            parts = result if isinstance(result, tuple) else (result,)
            found += [(part * 2).tolist() for part in parts]
            parts[0].mul_(3)
            found.append(parts[0].tolist())
        return found

    assert run("lazy") == run("cpu")
    assert len(counts.fallbacks()) == 1


def test_a_gradient_passes_an_op_shaped_by_values():
    def gradients(device):
        x = torch.linspace(-1, 1, 12, device=device).reshape(4, 3).requires_grad_()
        for _ in range(3):
            y = x * 2
            y[y[:, 0] > 0].square().sum().backward()
        return x.grad.tolist()

    assert gradients("lazy") == gradients("cpu")
