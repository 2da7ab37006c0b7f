# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that run call by call until a compile is worth its time."""

import copy
import itertools
import random

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn
from torch_ltc.metrics import measure


@pytest.fixture(autouse=True)
def tiers():
    with torch_ltc.settings.scope(tiers="auto"):
        yield


def train(model, device, batches, options=None):
    model = copy.deepcopy(model).to(device)
    options = options or {"lr": 1e-2}
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    losses = []
    for x in batches:
        optimizer.zero_grad()
        loss = model(x.to(device)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in model.parameters()]


def network(*sizes):
    torch.manual_seed(0)
    layers = [nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))


@pytest.mark.parametrize("fused", [None, True])
def test_the_first_steps_compile_nothing_and_are_eagers(fused):
    batches = torch.randn(3, 8, 24).unbind()
    options = {"lr": 1e-2, "weight_decay": 0.1, "fused": fused}
    wanted = train(network(24, 32, 24), "cpu", batches, options)
    with measure() as counted:
        found = train(network(24, 32, 24), "lazy", batches, options)
    assert counted["codegen.graphs"] == 0
    assert counted["execute.interpreted"] >= 3
    torch.testing.assert_close(found, wanted)


def test_what_comes_again_is_compiled_and_goes_on_from_there():
    batches = [torch.randn(8, 24)] * 400
    wanted = train(network(24, 20), "cpu", batches)
    with measure() as counted:
        found = train(network(24, 20), "lazy", batches)
    assert 1 <= counted["codegen.graphs"] <= 2
    assert 0 < counted["execute.interpreted"] < 400
    assert counted["execute.launches"] > 0
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_run_that_takes_longer_than_a_compile_is_compiled_at_once():
    x = torch.rand(1 << 24, device="lazy")
    torch.lazy.synchronize()
    with measure() as counted:
        y = x
        for _ in range(40):
            y = y * 0.99 + 0.01
        total = y.sum().item()
    assert counted["codegen.graphs"] == 1
    assert 0.25 < total / (1 << 24) < 1


TWICE = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(12, 12).to("lazy")
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(300):
    x = torch.rand(4, 12, device="lazy")
    opt.zero_grad()
    loss = net(x).square().sum()
    loss.backward()
    opt.step()
    print(loss.item().hex())
print({k: v for k, v in torch.lazy.metrics().items() if k in (
    "execute.interpreted", "codegen.graphs", "execute.launches")})
"""


def test_two_runs_of_a_script_are_the_same_bit_for_bit(run_python):
    first, second = (run_python(TWICE, LTC_TIERS="auto").stdout for _ in range(2))
    assert first == second
    assert "'codegen.graphs': 0" not in first


LENGTHS = """
import random, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh()).to(DEVICE)
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
for n in random.Random(0).choices(range(3, 60), k=400):
    loss = net(torch.linspace(-1, 1, n * 16).view(n, 16).to(DEVICE)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""
COUNTS = """
found = torch.lazy.metrics()
print(found["codegen.graphs"], found["execute.launches"] > 20)
"""


def test_sizes_that_vary_count_together_and_are_compiled_once_for_all(run_python):
    """In a process of its own: each compile there was makes the next one later."""
    code = LENGTHS.replace("DEVICE", "'lazy'") + COUNTS
    loss, counted = run_python(code, LTC_TIERS="auto").stdout.splitlines()
    assert counted in ("1 True", "2 True")
    eager = run_python(LENGTHS.replace("DEVICE", "'cpu'")).stdout
    assert float(loss) == pytest.approx(float(eager), rel=1e-3)


DRAWS = {
    "dropout": lambda x: F.dropout(x, 0.3),
    "rand": lambda x: torch.rand_like(x),
    "uniform": lambda x: torch.empty_like(x).uniform_(-2, 3),
    "bernoulli.p": lambda x: torch.empty_like(x).bernoulli_(0.4),
    "bernoulli": lambda x: torch.bernoulli(torch.sigmoid(x)),
    "normal": lambda x: torch.empty_like(x).normal_(1, 3),
    "randn": lambda x: torch.randn_like(x),
    "exponential": lambda x: torch.empty_like(x).exponential_(1.5),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_compiled_graphs(name, dtype):
    x = torch.linspace(-3, 3, 5000, dtype=dtype).view(50, 100).to("lazy")

    def draw(tiers):
        with torch_ltc.settings.scope(tiers=tiers, rng="fast"), measure() as counted:
            torch.manual_seed(7)
            drawn = DRAWS[name](x).cpu()
        return drawn, counted["codegen.graphs"]

    (interpreted, none), (compiled, _) = draw("auto"), draw("off")
    assert none == 0
    rounded = name in ("normal", "randn", "exponential")
    tolerance = {} if rounded else {"rtol": 0, "atol": 0}
    if dtype == torch.bfloat16 and rounded:
        tolerance = {"rtol": 1e-2, "atol": 1e-2}
    torch.testing.assert_close(interpreted, compiled, **tolerance)
    assert len(interpreted.float().unique()) > 1


def test_numbers_of_other_types_are_drawn_by_compiled_graphs_alone():
    x = torch.ones(1013, dtype=torch.float16).to("lazy")
    with torch_ltc.settings.scope(dynamic="off", rng="fast"), measure() as counted:
        F.dropout(x, 0.5).cpu()
    assert counted["codegen.graphs"] == 1 and counted["execute.interpreted"] == 0


def views(x, w):
    parts = x.view(4, 6, 5).transpose(0, 1)[1:, ::2].flip(0)
    joined = torch.cat([parts, parts.expand(5, 2, 5) * 2], 1)
    product = joined.reshape(-1, 5) @ w.t()[:, :3]
    top, bottom = product.chunk(2)
    square = torch.as_strided(top + bottom, (3, 3), (3, 1))
    return square.diagonal().sum() + square.unfold(0, 2, 1).amax(), square.mT, top[0]


def test_views_are_aliases_with_the_values_of_copies():
    x, w = torch.randn(24, 5), torch.randn(5, 5)
    with measure() as counted:
        found = [t.cpu() for t in views(x.to("lazy"), w.to("lazy"))]
    assert counted["codegen.graphs"] == 0
    torch.testing.assert_close(found, list(views(x, w)))


STRIDED = {
    "group_norm": lambda a, w: F.group_norm(a.transpose(2, 3), 3),
    "group_norm grad": lambda a, w: F.group_norm(a, 3).transpose(2, 3) * w,
    "pdist": lambda a, w: F.pdist(a[0, 0].t()),
    "weight_norm": lambda a, w: torch._weight_norm(a[0, 0].t(), w[:1, :1, :, 0], 0),
    "overlapping": lambda a, w: a.unfold(3, 2, 1).clone().mul_(3),
    "written": lambda a, w: a.unfold(3, 2, 1).clone()[:, ::2].mul_(3),
    "scatter": lambda a, w: torch.slice_scatter(a.mT, a.mT[:, :2], 1, 0, 2),
    "layer_norm": lambda a, w: F.layer_norm(a.transpose(1, 3), a.shape[1:2]),
    "softmax": lambda a, w: a.transpose(1, 3).softmax(1),
    "cumsum": lambda a, w: a.mT.cumsum(2),
    "sort": lambda a, w: a.mT.sort(2).values,
    "pool": lambda a, w: F.max_pool2d(a.mT, 2),
    "convolution": lambda a, w: F.conv2d(a.mT, w.expand(3, 6, 4, 4), padding=1),
    "product": lambda a, w: a[:, :, 1:].mT @ a[:, :, 1:],
    "expanded": lambda a, w: (
        w.expand(4, 6, 4, 4).reshape(4, -1)
        @ torch.ones_like(w.expand(4, 6, 4, 4).reshape(4, -1)).t()
    ),
    "embedding": lambda a, w: F.embedding((a[0, 0].t() > 0).long(), a[0, 0].t()),
    "gather": lambda a, w: a.mT.gather(2, (a.mT > 0).long()),
    "cat": lambda a, w: torch.cat([a, a, a.mT, a, a.mT], 1),
    "stack": lambda a, w: torch.stack([a.mT] * 5) + torch.stack([a] * 4 + [a.mT]),
    "shared": lambda a, w: torch.cat([a, a * 2, a * 3, a * 4]).sum(0) + a[0] + a[1],
}


@pytest.mark.parametrize("name", STRIDED)
def test_operands_of_any_strides(name):
    def run(device):
        torch.manual_seed(0)
        a = torch.randn(4, 6, 4, 4).to(device).requires_grad_()
        w = torch.randn(1, 1, 4, 4).to(device).requires_grad_()
        result = STRIDED[name](a, w)
        (
            result * torch.linspace(1, 2, result.numel()).to(device).view_as(result)
        ).sum().backward()
        grads = [torch.zeros(1) if p.grad is None else p.grad.cpu() for p in (a, w)]
        return [result.detach().cpu(), *grads]

    with measure() as counted:
        found = run("lazy")
    assert counted["execute.interpreted"] and not counted["codegen.graphs"]
    torch.testing.assert_close(found, run("cpu"), rtol=1e-4, atol=1e-5)


def test_a_result_that_aliases_another_has_memory_of_its_own():
    x = torch.arange(12.0).to("lazy")
    y = x * 2
    flat, turned, again = y.view(3, 4), y.view(3, 4).t(), y.view(12)
    torch.lazy.mark_step()
    y.add_(1)
    again.mul_(10)
    torch.lazy.mark_step()
    wanted = (torch.arange(12.0) * 2 + 1) * 10
    torch.testing.assert_close(flat.cpu(), wanted.view(3, 4))
    torch.testing.assert_close(turned.cpu(), wanted.view(3, 4).t())
    torch.testing.assert_close(x.cpu(), torch.arange(12.0))


def test_a_gradient_that_shows_a_parameter_is_read_before_that_is_written():
    def run(tiers):
        with torch_ltc.settings.scope(tiers=tiers):
            p, q = (torch.arange(9.0).view(3, 3).to("lazy") for _ in "pq")
            optimizer = torch.optim.SGD([p, q], 0.5, fused=True)
            for _ in range(3):
                p.grad, q.grad = torch.ones_like(p), p.detach().t()
                optimizer.step()
            return p.cpu(), q.cpu()

    torch.testing.assert_close(run("auto"), run("off"), rtol=0, atol=0)


def test_an_index_out_of_range_names_line_and_indices():
    table, rows = torch.randn(10, 2).to("lazy"), torch.tensor([3, 12]).to("lazy")
    weight = torch.ones(2, device="lazy")
    torch.lazy.mark_step()
    weight.add_(F.embedding(rows, table).sum(0))  # the failing line
    with pytest.raises(IndexError, match=r"i64\[2\] holds 3 to 12") as caught:
        weight.cpu()
    assert "test_tiers.py" in str(caught.value)
    assert weight.cpu().tolist() == [1, 1]


ENDLESS = """
import torch
x = torch.linspace(-1, 1, 64).view(8, 8).to(DEVICE)
w = torch.eye(8).to(DEVICE).requires_grad_()
for _ in range(3000):
    (x @ w).pow(2).mean().backward()
    with torch.no_grad():
        w -= 1e-3 * w.grad
        w.grad.zero_()
print(w.detach().square().sum().item())
"""
ENDS = """
found = torch.lazy.metrics()
runs = found["execute.launches"] + found["execute.interpreted"]
print(found["codegen.graphs"], 10 < runs < 60, found["execute.launches"] > runs // 2)
"""


def test_a_loop_that_nothing_ends_is_cut_where_it_comes_round(run_python):
    code = ENDLESS.replace("DEVICE", "'lazy'") + ENDS
    done = run_python(code, LTC_TIERS="auto", LTC_MAX_PENDING_OPS="2000")
    value, counted = done.stdout.splitlines()
    assert counted == "1 True True"
    eager = run_python(ENDLESS.replace("DEVICE", "'cpu'")).stdout
    assert float(value) == pytest.approx(float(eager), rel=1e-4)


def test_structures_that_never_repeat_are_never_compiled():
    kinds = [torch.tanh, torch.relu, torch.sigmoid, torch.sin, torch.cos]
    choice, x = random.Random(0), torch.randn(16)
    chains = [choice.choices(kinds, k=12) for _ in range(30)]

    def run(device):
        sums = []
        for chain in chains:
            y = x.to(device)
            for kind in chain:
                y = kind(y)
            sums.append(y.sum().item())
        return sums

    with measure() as counted:
        found = run("lazy")
    assert counted["codegen.graphs"] == 0
    torch.testing.assert_close(found, run("cpu"))


@pytest.mark.parametrize("name", ["tiers", "dump"])
def test_settings_that_compile_at_once(name, tmp_path):
    value = {"tiers": "off", "dump": str(tmp_path)}[name]
    x = torch.ones(1231 + len(name)).to("lazy")
    changed = {name: value, "dynamic": "off"}
    with torch_ltc.settings.scope(**changed), measure() as counted:
        assert (x + 1).tolist() == [2] * len(x)
    assert counted["execute.interpreted"] == 0
    assert counted["codegen.graphs"] >= 1


def test_an_unknown_value_is_refused():
    with pytest.raises(torch_ltc.Error, match="tiers"):
        torch_ltc.settings.tiers = "sometimes"


def test_ops_of_others_are_left_to_compiled_graphs():
    @torch.library.custom_op("tiers::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    x = torch.ones(3, device="lazy")
    with measure() as counted:
        assert (twice(x) + 1).tolist() == [3, 3, 3]
    assert counted["execute.interpreted"] == 0


def test_a_device_that_is_not_the_host_runs_programs(run_python):
    code = "import torch; x = torch.ones(3, device='lazy') + 1; x.cpu(); print("
    code += "torch.lazy.metrics().get('execute.interpreted', 0))"
    done = run_python(code, LTC_TIERS="auto", LTC_DEVICE="null")
    assert done.stdout.split()[-1] == "0"


def test_explain_names_what_is_not_compiled_and_why():
    x = torch.randn(7, 3).to("lazy")
    for _ in range(3):
        (x * 2 + 1).cos().cpu()  # the line
    report = torch_ltc.explain()
    found = [each for each in report.interpreted if each.ops == 3 and each.runs == 2]
    assert [each for each in found if "test_tiers.py" in each.needed_by.file]
    assert 0 < found[0].spent < found[0].until
    assert "not compiled" in str(report)
    assert "a compile is worth it" in str(found[0])


def test_a_guard_lets_what_was_deferred_go_on_and_raises_for_the_rest():
    def step(size):
        return torch.full((size,), 2.0, device="lazy").mul(3).cosh().sum().item()

    step(5201)
    with torch_ltc.no_compile():
        for _ in range(3):
            step(5201)
    with pytest.raises(torch_ltc.errors.UnexpectedCompileError), torch_ltc.no_compile():
        torch.full((5203,), 2.0, device="lazy").mul(3).sinh().sum().item()


def test_memory_that_runs_out_loses_no_parameter(run_python):
    code = """
import torch
p = [torch.full((262144,), float(i), device="lazy") for i in range(4)]
torch.lazy.synchronize()
optimizer = torch.optim.SGD(p, 0.5, fused=True)
for each in p:
    each.grad = torch.ones_like(each)
try:
    optimizer.step()
    torch.lazy.synchronize()
except torch.OutOfMemoryError as error:
    print("none left")
print([each[:2].tolist() for each in p])
"""
    limit = str(9 * 1048576)
    done = run_python(code, LTC_TIERS="auto", LTC_MEMORY_LIMIT_BYTES=limit)
    values = [[float(i)] * 2 for i in range(4)]
    assert done.stdout.splitlines() == ["none left", str(values)]


def test_what_the_hosts_kernels_cannot_do_is_compiled():
    """ATen ends the process at the first, and refuses the second."""
    lowest = torch.full((20,), torch.iinfo(torch.int64).min)
    found = torch.div(lowest.to("lazy"), -1, rounding_mode="trunc")
    assert torch.equal(found.cpu(), lowest)
    counts = torch.histc(torch.tensor([1, 1, 4]).to("lazy"), 4, 0, 8)
    assert counts.tolist() == [2, 0, 1, 0]


def test_an_index_outside_of_nothing():
    x, rows = torch.zeros(3, 0).to("lazy"), torch.zeros(1, 0).to("lazy")
    for write in (torch.index_add, torch.index_copy):
        assert write(x, 0, torch.tensor([7]).to("lazy"), rows).cpu().shape == (3, 0)
