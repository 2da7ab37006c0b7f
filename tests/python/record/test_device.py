# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module ``torch.lazy``, and every way in which recorded work gets run."""

import contextlib
import io

import pytest
import torch
import torch_ltc
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch_ltc import settings


def test_the_module_is_where_pytorch_looks_for_it():
    assert torch.get_device_module("lazy") is torch.lazy
    assert torch.lazy.is_available() and torch.lazy.is_initialized()
    assert torch.lazy.device_count() >= 1
    assert "lazy" not in torch.lazy.get_device_name() or torch.lazy.device_count()
    assert torch.bfloat16 in torch.lazy.get_amp_supported_dtype()


def test_current_device():
    assert torch.lazy.current_device() == 0
    torch.lazy.set_device("lazy:0")
    with torch.lazy.device(0):
        assert torch.ones(1, device="lazy").device == torch.device("lazy:0")
    assert torch.lazy.current_device() == 0


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
def test_to_its_own_device_is_itself(mode):
    with mode():
        x = torch.ones(2, device="lazy")
        for device in ("lazy", "lazy:0", torch.device("lazy"), x.device):
            assert x.to(device) is x and x.to(device, torch.float32) is x
            assert x.to(device, copy=True) is not x
        assert x.to(torch.zeros(1, device="lazy")) is x


def test_a_device_without_number_is_the_current_one(run_python):
    program = """
import torch
x = torch.ones(2, device="lazy:1")
print(x.to("lazy").device, x.to("lazy:1") is x, x.to(torch.int64).device)
torch.lazy.set_device(1)
print(x.to("lazy") is x, torch.ones(2).to("lazy").device)
"""
    out = run_python(program, LTC_CPU_DEVICES="2").stdout.splitlines()
    assert out == ["lazy:0 True lazy:1", "True lazy:1"]


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.ones(2, device="lazy:9"),
        lambda: torch.ones(2).to("lazy:9"),
        lambda: torch.lazy.set_device(9),
        lambda: torch.lazy.mark_step(device="lazy:9"),
    ],
    ids=["ones", "to", "set_device", "mark_step"],
)
def test_a_device_that_is_not_there(use):
    with pytest.raises(torch_ltc.Error, match="no device lazy:9"):
        use()
    assert (torch.ones(2, device="lazy") + 1).tolist() == [2, 2]


def test_a_device_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="cpu"):
        torch.lazy.synchronize("cpu")


# Sync points.

VALUES = torch.tensor([[1.5, -2.0], [0.25, 8.0]])


def recorded():
    """Return a tensor that is not computed yet, and what it will be."""
    return VALUES.to("lazy") * 3 + 1, VALUES * 3 + 1


READERS = {
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "tolist": lambda x: torch.tensor(x.tolist()),
    "item": lambda x: torch.tensor([[e.item() for e in row] for row in x]),
    "copy_": lambda x: torch.empty(2, 2).copy_(x),
    "numpy": lambda x: torch.from_numpy(x.cpu().numpy()),
    "deepcopy": lambda x: x.clone().detach().cpu(),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_reading_gives_the_value(read):
    lazy, eager = recorded()
    assert torch.equal(read(lazy), eager)


def test_conditions_and_conversions():
    lazy, eager = recorded()
    assert bool((lazy > 0).any()) is bool((eager > 0).any())
    assert int(lazy[0, 0]) == int(eager[0, 0])
    assert float(lazy.sum()) == float(eager.sum())
    assert f"{lazy.max():.2f}" == f"{eager.max():.2f}"
    assert torch.equal(lazy, eager.to("lazy"))
    assert torch.allclose(lazy, eager.to("lazy"))


def test_printing():
    lazy, eager = recorded()
    assert repr(lazy) == repr(eager)[:-1] + ", device='lazy:0')"
    assert "requires_grad=True" in repr(lazy.requires_grad_())


@pytest.mark.parametrize("wait", [False, True])
def test_mark_step_queues_one_graph(counts, wait):
    lazy, eager = recorded()
    other = lazy.sum()
    torch.lazy.mark_step(wait=wait)
    assert counts["execute.launches"] == 1
    torch.lazy.mark_step()
    assert counts["execute.launches"] == 1  # nothing was recorded since
    assert torch.equal(lazy.cpu(), eager)
    assert other.item() == eager.sum().item()
    assert counts["execute.launches"] == 1


def test_synchronize_runs_what_is_recorded(counts):
    lazy, eager = recorded()
    torch.lazy.synchronize()
    assert counts["execute.launches"] == 1
    assert torch.equal(lazy.cpu(), eager)


def test_the_interface_of_pytorchs_lazy_core(counts):
    import torch._lazy
    from torch._lazy import metrics

    metrics.reset()
    lazy, eager = recorded()
    torch._lazy.mark_step()
    torch._lazy.wait_device_ops()
    assert counts["execute.launches"] == 1
    assert torch.equal(lazy.cpu(), eager)

    again, eager = recorded()
    torch._lazy.sync_multi([again], [])
    assert torch.equal(again.cpu(), eager)
    assert torch.equal(torch._lazy.to_cpu(recorded()[0]), eager)
    assert metrics.counter_value("CachedCompile") >= 1
    assert "CachedCompile" in metrics.counter_names()


def test_counters_of_compiles_and_fallbacks():
    from torch._lazy import metrics

    metrics.reset()
    torch_ltc.settings.rng  # noqa: B018 - settings do not record
    x = torch.tensor([0.0, 3.0, 0.0, 4.0], device="lazy").mul(7.125)
    assert torch.equal(x.nonzero().cpu(), torch.tensor([[1], [3]]))
    assert metrics.counter_value("aten::nonzero") == 1
    assert (x.sinh().atan().cosh() >= 1).all().cpu()
    assert metrics.counter_value("UncachedCompile") >= 1


def test_step_closures_run():
    import torch._lazy

    seen = []
    x = torch.ones(3, device="lazy") + 1
    torch._lazy.add_step_closure(lambda t: seen.append(t.tolist()), args=(x,))
    torch._lazy.mark_step()
    assert seen == [[2.0, 2.0, 2.0]]


def test_step_ends_after_the_optimizer(counts):
    model = nn.Linear(3, 2).to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(4, 3, device="lazy")).sum().backward()
        optimizer.step()

    step()
    assert counts["execute.launches"] == 1
    with settings.scope(auto_step=False):
        step()
        assert counts["execute.launches"] == 1
    expected = nn.Linear(3, 2)
    expected.load_state_dict({k: v.cpu() for k, v in model.state_dict().items()})
    assert counts["execute.launches"] == 2
    torch.testing.assert_close(model.weight.cpu(), expected.weight)


def test_an_optimizer_on_the_cpu_ends_no_step(counts):
    x = torch.ones(2, device="lazy") + 1
    parameter = nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    torch.optim.SGD([parameter], lr=0.5).step()
    assert counts["execute.launches"] == 0
    assert torch.equal(parameter.detach(), torch.full((2,), 0.5))
    assert x.tolist() == [2.0, 2.0]


def test_optimizers_take_their_foreach_form_and_agree_with_eager(counts):
    def train(device):
        parameters = [
            nn.Parameter(torch.arange(1.0, 5.0).mul(scale).to(device))
            for scale in range(1, 9)
        ]
        optimizer = torch.optim.AdamW(parameters, lr=0.1, weight_decay=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            sum(p.square().sum() for p in parameters).backward()
            counts.restart()
            with settings.scope(auto_step=False):
                optimizer.step()
            recorded = counts["record.ops"]
            torch.lazy.mark_step()
        return [p.detach().cpu() for p in parameters], recorded

    lazy, recorded_ops = train("lazy")
    eager, _ = train("cpu")
    for a, b in zip(lazy, eager, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=0)
    assert recorded_ops < 8 * 8  # not one op for each of the 8 parameters


def test_pending_graph_is_text(counts):
    lazy, eager = recorded()
    text = torch.lazy.pending_graph()
    assert "aten::mul.Tensor" in text and "f32[2, 2]" in text
    assert "test_device.py" in text
    assert counts["execute.launches"] == 0
    assert torch.equal(lazy.cpu(), eager)


# Memory.


def test_memory_is_counted_and_given_back():
    torch.lazy.synchronize()
    before = torch.lazy.memory_allocated()
    x = torch.ones(1 << 20, device="lazy") * 2
    torch.lazy.synchronize()
    torch.lazy.reset_peak_memory_stats()
    held = torch.lazy.memory_allocated() - before
    assert held >= 4 << 20
    assert torch.lazy.max_memory_allocated() >= torch.lazy.memory_allocated()
    assert torch.lazy.memory_reserved() >= torch.lazy.memory_allocated()
    del x
    torch.lazy.synchronize()
    torch.lazy.empty_cache()
    assert torch.lazy.memory_allocated() - before < 4 << 20


LOOP = """
import sys, torch, torch_ltc

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
torch_ltc.settings.max_pending_ops = 400
x = torch.zeros(256, device="lazy")
for step in range(steps):
    x = x * 0.5 + 1
    if step == steps // 4:
        before = resident()
grown = resident() - before
assert abs(x.sum().item() - 512) < 1e-3, x
assert torch.lazy.metrics()["codegen.graphs"] < 8, torch.lazy.metrics()
assert grown < 64 << 20, grown
print("flat")
"""


@pytest.mark.parametrize("steps", [4000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_loop_without_mark_step_keeps_flat_memory(run_python, steps):
    done = run_python(LOOP.replace("STEPS", str(steps)), timeout=600)
    assert done.stdout == "flat\n"


def test_a_training_loop_without_mark_step_keeps_flat_memory(run_python):
    done = run_python("""
import torch
from torch import nn

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).to("lazy")
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(32, 64, device="lazy")
losses = []
for step in range(1200):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    if step == 300:
        before = resident()
assert resident() - before < 64 << 20
assert losses[-1].item() < losses[0].item() * 0.1
print("flat")
""")
    assert done.stdout == "flat\n"


# Random numbers.


def test_manual_seed_repeats():
    def draw(seed):
        seed(7)
        return torch.rand(100, device="lazy").cpu()

    first = draw(torch.manual_seed)
    assert torch.equal(first, draw(torch.lazy.manual_seed))
    assert torch.equal(first, draw(torch.lazy.manual_seed_all))
    assert not torch.equal(first, torch.rand(100, device="lazy").cpu())
    assert torch.lazy.initial_seed() == 7


def test_rng_state_repeats():
    state = torch.lazy.get_rng_state()
    first = torch.randn(50, device="lazy").cpu()
    torch.lazy.set_rng_state(state)
    assert torch.equal(first, torch.randn(50, device="lazy").cpu())
    torch.lazy.set_rng_state_all(torch.lazy.get_rng_state_all())


def test_fork_rng():
    torch.manual_seed(3)
    expected = torch.rand(5, device="lazy").cpu()
    torch.manual_seed(3)
    with torch.random.fork_rng(device_type="lazy"):
        torch.rand(5, device="lazy")
    assert torch.equal(torch.rand(5, device="lazy").cpu(), expected)


def test_eager_numbers():
    with settings.scope(rng="eager"):
        torch.manual_seed(11)
        lazy = [torch.rand(3, 5, device="lazy"), torch.randn(40, device="lazy")]
        mask = nn.functional.dropout(torch.ones(64, device="lazy"), 0.3)
    torch.manual_seed(11)
    assert torch.equal(lazy[0].cpu(), torch.rand(3, 5))
    assert torch.equal(lazy[1].cpu(), torch.randn(40))
    assert torch.equal(mask.cpu(), nn.functional.dropout(torch.ones(64), 0.3))


def test_dropout_draws_anew_and_keeps_the_mean():
    with settings.scope(rng="fast"):
        ones = torch.ones(200_000, device="lazy")
        first = nn.functional.dropout(ones, 0.25).cpu()
        second = nn.functional.dropout(ones, 0.25).cpu()
    assert not torch.equal(first, second)
    assert set(first.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert abs(first.mean().item() - 1) < 0.01


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_repeats_dropout(reentrant):
    layers = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).to("lazy")
    x = torch.ones(4, 8, device="lazy", requires_grad=True)
    torch.manual_seed(5)
    layers(x).square().sum().backward()
    plain = x.grad.cpu()
    x.grad = None
    torch.manual_seed(5)
    checkpoint(layers, x, use_reentrant=reentrant).square().sum().backward()
    torch.testing.assert_close(x.grad.cpu(), plain)


# What PyTorch offers around tensors.


def test_default_device():
    with torch.device("lazy"):
        assert torch.zeros(2).device.type == "lazy"
        layer = nn.Linear(2, 2)
    assert layer.weight.device.type == "lazy"


def test_in_place_through_views():
    def write(device):
        x = torch.zeros(4, 4, device=device)
        row = x[1]
        row.add_(1)
        x[:, 2] = 5
        x.t()[0].mul_(3)
        row[3:] = x[0, 2]
        return x

    assert torch.equal(write("lazy").cpu(), write("cpu"))


@pytest.mark.parametrize(
    "turn", [torch.t, lambda x: x.transpose(0, 1)], ids=["t", "transpose"]
)
def test_a_view_turned_back_still_shares(turn):
    def run(device):
        x = (torch.arange(6.0).view(2, 3).to(device) + 1).exp()
        once, back = turn(x), turn(turn(x))
        back[0].add_(1)
        once.mul_(2)
        seen = [t.clone().cpu() for t in (x, once, back)]
        back.sub_(x.sum())
        x[1] = turn(turn(x * x))[1]
        strides = [t.stride() for t in (x, once, back)]
        return seen + [t.cpu() for t in (x, once, back)], strides

    (lazy, strides), (eager, expected) = run("lazy"), run("cpu")
    assert strides == expected
    torch.testing.assert_close(lazy, eager)


def test_a_weights_gradient_is_held_once():
    model = torch.nn.Linear(256, 512).to("lazy")
    x = torch.ones(4, 256).to("lazy")
    torch.lazy.synchronize()
    before = torch.lazy.memory_allocated()
    model(x).square().sum().backward()
    norm = model.weight.grad.norm()
    torch.lazy.synchronize()
    assert norm > 0
    assert model.weight.grad.shape == model.weight.shape
    # Of half a MiB, beside scratch memory and the bias's.
    assert torch.lazy.memory_allocated() - before < 0.8 * 2**20


def test_integer_indices_stay_in_the_graph(counts):
    x = torch.arange(30.0).view(10, 3)
    rows, lazy = torch.tensor([3, -1]), x.to("lazy")
    assert torch.equal(lazy[rows.to("lazy")].cpu(), x[rows])
    assert torch.equal(lazy[rows].cpu(), x[rows])  # as on any device
    assert torch.equal(lazy[:, [2, 0]].cpu(), x[:, [2, 0]])
    lazy[rows] = 7
    x[rows] = 7
    assert torch.equal(lazy.cpu(), x)
    assert counts.fallbacks() == []
    assert torch.equal(lazy[lazy > 9].cpu(), x[x > 9])
    assert counts["record.fallback.aten::index.Tensor"] == 1
    with pytest.warns(UserWarning, match="uint8"):  # PyTorch's meta kernel refuses
        assert torch.equal(lazy[(lazy > 9).byte()].cpu(), x[(x > 9).byte()])


def test_data_loader_with_workers_while_steps_are_queued():
    data = torch.utils.data.TensorDataset(torch.arange(24.0).view(12, 2))
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
    total = torch.zeros(2, device="lazy")
    for _ in range(2):
        for (batch,) in loader:
            total = total + batch.to("lazy").sum(0)
            torch.lazy.mark_step()
    assert torch.equal(total.cpu(), 2 * torch.arange(24.0).view(12, 2).sum(0))


def test_other_programs_output_is_untouched():
    output = io.StringIO()
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
        (torch.ones(3, device="lazy") + 1).cpu()
    assert output.getvalue() == ""


def test_names_that_library_code_looks_up():
    torch.lazy.init()
    assert torch.lazy.is_initialized()
    x = torch.ones(1000, device="lazy") + 1
    torch.lazy.synchronize()
    stats = torch.lazy.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.lazy.memory_allocated()
    assert stats["allocated_bytes.all.peak"] == torch.lazy.max_memory_allocated()
    assert stats["reserved_bytes.all.current"] == torch.lazy.memory_reserved()
    assert stats["reserved_bytes.all.peak"] == torch.lazy.max_memory_reserved()
    assert torch.lazy.max_memory_reserved() >= torch.lazy.max_memory_allocated()
    torch.lazy.reset_accumulated_memory_stats()
    lines = torch.lazy.memory_summary().splitlines()
    assert [line.split()[0] for line in lines] == list(stats)
    with torch.lazy.device_of(x), torch.lazy.device_of(x.cpu()):
        assert torch.lazy.current_device() == 0
    assert isinstance(torch.lazy.stream(None), torch.lazy.StreamContext)
    assert not torch.lazy.is_current_stream_capturing()
    assert issubclass(torch_ltc.errors.OutOfMemoryError, torch.lazy.OutOfMemoryError)
