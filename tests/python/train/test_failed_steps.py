# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step that fails loses nothing: all that it assigned has its value from before.

Each case runs steps, of which one fails, on lazy; and the steps without that one on
cpu. What is left must be the same.
"""

import copy
import threading

import pytest
import torch
import torch_ltc
from failing_programs import (
    BAD,
    GOOD,
    KINDS,
    PLACES,
    BatchNorm,
    Buffers,
    Plain,
    adamw,
    as_cpu,
    batch,
    embedding,
    same,
    total,
    train,
)
from torch import nn


@pytest.fixture(autouse=True)
def in_double():
    """So that what rounding does to an optimizer hides nothing."""
    torch.set_default_dtype(torch.float64)
    with torch_ltc.settings.scope(rng="fast"):  # eager numbers come from the host
        yield
    torch.set_default_dtype(torch.float32)


def refuse_negative(x):
    if (x < 0).any():
        raise ValueError("a negative value")
    return x * 2


@pytest.fixture(scope="module")
def custom_op():
    with torch.library._scoped_library("failed_steps", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", refuse_negative, "CPU")
        torch.library.register_fake(
            "failed_steps::twice", torch.empty_like, lib=library
        )
        yield torch.ops.failed_steps.twice.default


@pytest.fixture
def late_linalg():
    with torch_ltc.settings.scope(linalg_errors="later"):
        yield


def pairs():
    """Every kind at one place and every place with one kind; all others are slow."""
    for fails in KINDS:
        for place in PLACES:
            marks = () if place is adamw or fails is embedding else (pytest.mark.slow,)
            name = f"{fails.__name__}-{place.__name__}"
            yield pytest.param(fails, place, marks=marks, id=name)


@pytest.mark.parametrize(("fails", "place"), list(pairs()))
def test_state_is_as_before(fails, place, late_linalg):
    steps = [(0, GOOD), (1, GOOD), (2, BAD), (3, GOOD), (4, GOOD)]
    found, errors = train(place, "lazy", fails, steps, read=lambda i: True)
    assert len(errors) == 1, errors
    wanted, _ = train(
        place, "cpu", fails, [s for s in steps if s[1] is GOOD], lambda i: True
    )
    same(found, wanted)


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
def test_the_first_step_fails(place):
    steps = [(0, BAD), (1, GOOD), (2, GOOD)]
    found, errors = train(place, "lazy", embedding, steps, read=lambda i: True)
    assert len(errors) == 1
    wanted, _ = train(place, "cpu", embedding, steps[1:], lambda i: True)
    same(found, wanted)


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
def test_steps_in_flight_that_depend_on_it_are_undone_with_it(place):
    steps = [(0, GOOD), (1, GOOD), (2, BAD), (3, GOOD), (4, GOOD), (5, GOOD)]
    found, errors = train(
        place, "lazy", embedding, steps, read=lambda i: i in (1, 4, 5)
    )
    assert {type(e) for e in errors} == {torch_ltc.errors.IndexOutOfRangeError}
    undone = (2, 3, 4)
    wanted, _ = train(
        place,
        "cpu",
        embedding,
        [s for s in steps if s[0] not in undone],
        lambda i: True,
    )
    same(found, wanted)


def test_parameters_made_on_the_device_outlive_a_failing_first_step():
    torch.manual_seed(0)
    with torch.device("lazy"):
        model = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2))
        optimizer = torch.optim.AdamW(model.parameters())
        total(embedding, torch.tensor(BAD)).add(
            model(batch(0).to("lazy")).sum()
        ).backward()
    optimizer.step()
    with pytest.raises(IndexError):
        torch.lazy.synchronize()
    assert all(torch.isfinite(value).all() for value in model.state_dict().values())
    assert model[1].num_batches_tracked.item() == 0
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_failing_custom_op(custom_op):
    def fails(x):
        return custom_op(20 - x)

    for place in (adamw, BatchNorm, Buffers):
        steps = [(0, GOOD), (1, BAD), (2, GOOD)]
        found, errors = train(place, "lazy", fails, steps, read=lambda i: True)
        assert len(errors) == 1
        assert "failed_steps::twice(i64[3]): ValueError: a negative value" in str(
            errors[0]
        )
        wanted, _ = train(place, "cpu", fails, [steps[0], steps[2]], lambda i: True)
        same(found, wanted)


def test_the_reader_of_a_weight_gets_the_error_once():
    program = Plain("lazy", embedding)
    program.step(torch.tensor(GOOD, device="lazy"), batch(0).to("lazy"))
    before = program.model[0].weight.detach().cpu()
    program.step(torch.tensor(BAD, device="lazy"), batch(1).to("lazy"))
    with pytest.raises(IndexError, match=r"aten::embedding\(f64\[10, 2\], i64\[3\]\)"):
        program.model[0].weight.sum().item()
    torch.testing.assert_close(program.model[0].weight.detach().cpu(), before)
    torch.lazy.synchronize()


def test_synchronize_gives_the_error_once():
    program = adamw("lazy", embedding)
    program.step(torch.tensor(GOOD, device="lazy"), batch(0).to("lazy"))
    before = {n: as_cpu(v) for n, v in program.state().items()}
    before = copy.deepcopy(before)
    program.step(torch.tensor(BAD, device="lazy"), batch(1).to("lazy"))
    with pytest.raises(IndexError):
        torch.lazy.synchronize()
    torch.lazy.synchronize()
    same({n: as_cpu(v) for n, v in program.state().items()}, before)


def test_what_never_had_a_value_fails_whenever_it_is_read():
    lost = embedding(torch.tensor(BAD, device="lazy"))
    for _ in range(2):
        with pytest.raises(IndexError):
            lost.cpu()
    with pytest.raises(IndexError):
        (lost + 1).cpu()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.zero_(),
        lambda x: x.fill_(2.0),
        lambda x: x.copy_(torch.ones(3, 2, device="lazy")),
        lambda x: x.uniform_(),
        lambda x: x.normal_(),
        lambda x: x.bernoulli_(0.5),
        lambda x: x.random_(7),
    ],
)
def test_what_is_written_or_drawn_anew_has_a_value_again(write):
    lost = embedding(torch.tensor(BAD, device="lazy"))
    with pytest.raises(IndexError):
        lost.cpu()
    write(lost)
    assert lost.isfinite().all()


def test_a_running_sum_of_losses_does_not_take_later_steps_with_it():
    program = Plain("lazy", embedding)
    kept, mean, raised = torch.zeros((), device="lazy"), 0, 0
    for i, x in [(0, GOOD), (1, BAD), (2, GOOD), (3, GOOD)]:
        loss = program.step(torch.tensor(x, device="lazy"), batch(i).to("lazy"))
        mean = 0.9 * mean + 0.1 * loss
        kept += loss
        try:
            loss.item()
        except IndexError:
            raised += 1
    assert raised == 1
    wanted, _ = train(
        Plain, "cpu", embedding, [(i, GOOD) for i in (0, 2, 3)], lambda i: True
    )
    same({n: as_cpu(v) for n, v in program.state().items()}, wanted)
    with pytest.raises(IndexError):
        mean.item()


def test_a_copy_of_a_value_in_flight_goes_back_too():
    x = torch.ones(4, device="lazy")
    best = torch.full((4,), 7.0, device="lazy")
    torch.lazy.synchronize()
    x.add_(1 + total(embedding, torch.tensor(BAD, device="lazy")))
    torch.lazy.mark_step()
    best.copy_(x)
    with pytest.raises(IndexError):
        x.cpu()
    assert x.tolist() == [1] * 4
    assert best.tolist() == [7] * 4


def test_indices_that_update_in_place_leave_all_rows():
    for write in (
        lambda t, i: t.index_put_((i,), torch.ones(3, 2, device="lazy")),
        lambda t, i: t.index_add_(0, i, torch.ones(3, 2, device="lazy")),
        lambda t, i: t.index_copy_(0, i, torch.ones(3, 2, device="lazy")),
        lambda t, i: t.scatter_(0, i[:, None].expand(3, 2), 5.0),
        lambda t, i: t.scatter_add_(
            0, i[:, None].expand(3, 2), torch.ones(3, 2, device="lazy")
        ),
        lambda t, i: t.index_fill_(0, i, 3.0),
    ):
        table = torch.arange(20.0, device="lazy").view(10, 2).clone()
        torch.lazy.synchronize()
        write(table, torch.tensor([1, 2, 30], device="lazy"))
        with pytest.raises(IndexError):
            table.cpu()
        assert table.flatten().tolist() == list(range(20))
        write(table, torch.tensor([1, 2, 3], device="lazy"))
        assert table[5:].flatten().tolist() == list(range(10, 20))
        assert table[1:4].flatten().tolist() != list(range(2, 8))


def test_a_step_that_fails_compiles_nothing_after_it(counts):
    def run(steps):
        train(adamw, "lazy", embedding, steps, read=lambda i: True)

    run([(0, GOOD), (1, GOOD), (2, GOOD)])
    counts.restart()
    run([(0, GOOD), (1, BAD), (2, GOOD), (3, GOOD)])
    assert counts["codegen.graphs"] == 0


def test_what_is_compiled_does_not_depend_on_whether_launches_are_over(counts):
    def run(wait):
        x = torch.full((400, 400), 1e-3, device="lazy")
        first, second = torch.zeros(2, 400, 400, device="lazy").unbind()
        first, second = first.clone(), second.clone()
        torch.lazy.synchronize()
        for step in range(6):
            for _ in range(20):  # the launch takes longer than what comes next
                first.addmm_(x, x)
            torch.lazy.mark_step(wait=wait)
            if step == 2:
                second.copy_(first)  # two tensors, one buffer
            second.mul_(2)
            torch.lazy.mark_step(wait=wait)
            first.add_(second)
            torch.lazy.mark_step(wait=wait)
        return first.cpu()

    wanted = run(wait=True)
    counts.restart()
    assert torch.equal(run(wait=False), wanted)
    assert counts["codegen.graphs"] == 0


def test_threads_go_on_from_whole_steps():
    programs = [adamw("lazy", embedding) for _ in range(4)]
    failed = [[] for _ in programs]

    def run(own):
        for i in range(8):
            x = torch.tensor(BAD if i == 2 * own else GOOD, device="lazy")
            try:
                programs[own].step(x, batch(i).to("lazy")).item()
            except IndexError:
                failed[own].append(i)

    threads = [threading.Thread(target=run, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for own, program in enumerate(programs):
        assert failed[own] == [2 * own]
        steps = [(i, GOOD) for i in range(8) if i != 2 * own]
        wanted, _ = train(adamw, "cpu", embedding, steps, lambda i: True)
        same({n: as_cpu(v) for n, v in program.state().items()}, wanted)


BROKEN_LOWERING = """
import copy, torch, torch_ltc
from torch import nn

@torch.library.custom_op("failed::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
twice.register_fake(torch.empty_like)
torch_ltc.register_lowering("failed::twice", mlir="module {}")
model = nn.Linear(4, 3).to("lazy")
optimizer = torch.optim.AdamW(model.parameters())
def step(extra):
    loss = (model(torch.ones(2, 4, device="lazy")) + extra).sum()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    return loss
def state():
    return copy.deepcopy([p.detach().cpu() for p in model.parameters()])
def steps():
    return [int(s["step"]) for s in optimizer.state.values()]
step(0).item()
before = state()
try:
    step(twice(torch.ones(3, device="lazy"))).item()
except torch_ltc.CompileError as error:
    print("CompileError")
print(all(map(torch.equal, state(), before)))
print(steps())
print(torch.isfinite(step(0)).item(), steps())
"""


def test_a_compile_that_fails(run_python):
    done = run_python(BROKEN_LOWERING, LTC_FALLBACK="error")
    assert done.stdout.splitlines() == ["CompileError", "True", "[1, 1]", "True [2, 2]"]


NO_MEMORY = """
import copy, torch, torch_ltc
from torch import nn

model = nn.Linear(4, 3).to("lazy")
optimizer = torch.optim.AdamW(model.parameters())
def step(rows):
    loss = model(torch.ones(rows, 4, device="lazy")).pow(2).sum()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    return loss
def state():
    return copy.deepcopy([p.detach().cpu() for p in model.parameters()])
def steps():
    return [int(s["step"]) for s in optimizer.state.values()]
step(2).item()
for rows in (1 << 19, 1 << 18):
    before = state()
    try:
        step(rows).item()
    except torch.OutOfMemoryError as error:
        print("OutOfMemoryError")
    print(all(map(torch.equal, state(), before)), steps())
print(torch.isfinite(step(2)).item())
"""


def test_memory_that_runs_out(run_python):
    done = run_python(NO_MEMORY, LTC_MEMORY_LIMIT_BYTES=str(1 << 20))
    assert done.stdout.splitlines() == ["OutOfMemoryError", "True [1, 1]"] * 2 + [
        "True"
    ]


INTERRUPTED = """
import copy, signal, torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
eager, lazy = net, copy.deepcopy(net).to("lazy")
def train(model, device, interrupt):
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
    x = torch.linspace(-1, 1, 256 * 512).view(256, 512).to(device)
    broken = 0
    for i in range(8):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        if interrupt and i % 2:
            signal.setitimer(signal.ITIMER_REAL, 0.002)
        try:
            loss.item()
        except KeyboardInterrupt:
            broken += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    return broken
def stop(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
train(eager, "cpu", False)
train(lazy, "lazy", True)
for a, b in zip(eager.parameters(), lazy.parameters()):
    torch.testing.assert_close(b.detach().cpu(), a.detach(), rtol=1e-4, atol=1e-6)
print("same")
"""


def test_a_wait_that_ctrl_c_ends_undoes_nothing(run_python):
    assert run_python(INTERRUPTED).stdout.splitlines() == ["same"]
