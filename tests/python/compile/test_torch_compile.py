# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.compile(backend="ltc")`` says what eager says, for CPU and lazy tensors."""

import copy

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
import torch_ltc
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function, **options):
    return torch.compile(function, backend="ltc", **options)


def on(device, tensors):
    return [tensor.detach().clone().to(device) for tensor in tensors]


def branches(x, y):
    if x.sum() > 0:
        return x * y
    return x - y


def writes(x, y):
    x.add_(1)
    x.view(-1)[::2].mul_(y.flatten()[0])
    return x.t(), x[1:]


def sizes(x, y):
    return x.reshape(-1, 2).sum(0) * x.shape[0], x.numel()


def cases(x, y):
    return torch.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x - y, (x, y))


FUNCTIONS = [
    lambda x, y: x @ y.t(),
    lambda x, y: (torch.relu(x) + y.sin()).softmax(-1).sum(0),
    lambda x, y: (x.t(), x.expand(2, 4, 6)[0], y[:, None]),
    lambda x, y: torch.cat([x, y]).sort(1),
    lambda x, y: x[x > 0] + 1,
    lambda x, y: torch.arange(6, device=x.device) * x + torch.ones_like(y),
    lambda x, y: x.new_zeros(3, 3).index_put(
        (torch.tensor([0, 2], device=x.device),), y[:2, :3]
    ),
    lambda x, y: {"a": x.unsqueeze(0), "b": (y, 3)},
    lambda x, y: torch.linalg.svdvals(x),
    lambda x, y: torch.func.vmap(torch.dot)(x, y),
    lambda x, y: torch.func.grad(lambda z: (z.sin() * y).sum())(x),
    branches,
    writes,
    sizes,
    cases,
]


@pytest.mark.parametrize("device", ["cpu", "lazy"])
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_functions(number, device):
    function, inputs = FUNCTIONS[number], (torch.randn(4, 6), torch.randn(4, 6))
    ours, eagers = on(device, inputs), on("cpu", inputs)
    for _ in range(2):
        expected, found = function(*eagers), compiled(function)(*ours)
        flat = torch.utils._pytree.tree_leaves(found)
        assert {t.device.type for t in flat if torch.is_tensor(t)} <= {device}
        torch.testing.assert_close(found, expected, check_device=False)
        torch.testing.assert_close(ours, eagers, check_device=False)
        strides = [t.stride() for t in flat if torch.is_tensor(t)]
        wanted = torch.utils._pytree.tree_leaves(expected)
        assert strides == [t.stride() for t in wanted if torch.is_tensor(t)]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)

    def forward(self, x):
        x = (x * 4).long().clamp(0, 10)
        return self.layer(self.embedding(x)) @ self.embedding.weight.t()


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(
                lambda y, layer=layer: torch.tanh(layer(y)), x, use_reentrant=False
            )
        return x


MODELS = {
    "norm": lambda: nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU()),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 3, padding=1), nn.GELU()
    ),
    "tied": Tied,
    "checkpointed": Checkpointed,
    "recurrent": lambda: nn.GRUCell(6, 5),
}


@pytest.mark.parametrize("device", ["cpu", "lazy"])
@pytest.mark.parametrize("name", MODELS)
def test_training(name, device):
    eager = MODELS[name]()
    ours = copy.deepcopy(eager).to(device)
    step = compiled(ours)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (eager, ours)]
    for _ in range(3):
        x = torch.rand(4, 6)
        losses = eager(x).pow(2).mean(), step(x.to(device)).pow(2).mean()
        for loss, optimizer in zip(losses, optimizers, strict=True):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.testing.assert_close(losses[1].cpu(), losses[0])
    for found, wanted in zip(ours.state_dict(), eager.state_dict(), strict=True):
        torch.testing.assert_close(
            ours.state_dict()[found].cpu(), eager.state_dict()[wanted]
        )
    assert step(x.to(device)).device.type == device


def test_sizes_vary():
    function = compiled(lambda x: (x * 2).sum(0) / x.shape[0], dynamic=True)
    for n in (3, 5, 8, 5):
        x = torch.randn(n, 4)
        torch.testing.assert_close(function(x), (x * 2).sum(0) / n)


@pytest.mark.parametrize("rng", ["fast", "eager"])
def test_dropout_draws_at_each_call_and_from_the_seed(rng):
    with torch_ltc.settings.scope(rng=rng):
        dropout = compiled(nn.Dropout(0.5))
        x = torch.ones(1000)
        first, second = dropout(x), dropout(x)
        assert not torch.equal(first, second)
        assert 350 < (first == 0).sum() < 650
        torch.manual_seed(1)
        first = dropout(x)
        torch.manual_seed(1)
        assert torch.equal(dropout(x), first)


def test_gradients_fit_the_dropped_places():
    x = torch.ones(1000, requires_grad=True)
    y = compiled(lambda x: F.dropout(x, 0.5))(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_autocast():
    model, x = nn.Linear(6, 3), torch.randn(4, 6)

    def run(function):
        with torch.autocast("cpu", torch.bfloat16):
            return function(x)

    torch.testing.assert_close(run(compiled(model)), run(model))


def test_a_compiled_optimizer():
    eager = nn.Linear(4, 4)
    ours = copy.deepcopy(eager)
    first, second = (torch.optim.AdamW(m.parameters(), 0.1) for m in (eager, ours))
    step = compiled(second.step)
    for _ in range(3):
        x = torch.randn(5, 4)
        for model in (eager, ours):
            model.zero_grad()
            model(x).pow(2).sum().backward()
        first.step()
        step()
    torch.testing.assert_close(ours.state_dict(), eager.state_dict())


def test_the_two_doors_share_programs(counts):
    def function(x, y):
        return (torch.relu(x @ y) + x).sum(1)

    x, y = torch.randn(8, 8), torch.randn(8, 8)
    function(x.to("lazy"), y.to("lazy")).cpu()
    counts.restart()
    compiled(function)(x, y)
    assert counts["codegen.graphs"] == 0

    def other(x, y):
        return (torch.tanh(x @ y) - y).sum(0)

    compiled(other)(x, y)
    counts.restart()
    other(x.to("lazy"), y.to("lazy")).cpu()
    assert counts["codegen.graphs"] == 0


def functional_step(weight, x, y):
    loss = torch.func.grad(lambda w: (torch.tanh(x @ w) - y).pow(2).mean())
    return weight - 0.1 * loss(weight)


@pytest.mark.parametrize("first", ["lazy", "compiled"])
def test_the_two_doors_share_a_training_step(first, counts):
    inputs = [torch.randn(6, 5), torch.randn(4, 6), torch.randn(4, 5)]
    expected = functional_step(*inputs)

    def run(door):
        if door == "lazy":
            kept = on("lazy", inputs)  # or they would be written over
            return functional_step(*kept).cpu()
        return compiled(functional_step)(*inputs)

    second = {"lazy": "compiled", "compiled": "lazy"}[first]
    torch.testing.assert_close(run(first), expected)
    counts.restart()
    torch.testing.assert_close(run(second), expected)
    assert counts["codegen.graphs"] == 0


def test_a_graph_is_compiled_once(counts):
    function = compiled(lambda x: x.exp() * 3)
    for _ in range(4):
        function(torch.randn(7))
    assert counts["codegen.graphs"] == 1


def rows(x, i):
    y = x + 1
    return y[i] * 2


def test_an_error_inside_names_op_and_line():
    with pytest.raises(IndexError, match="index 7 is out of bounds") as raised:
        compiled(rows)(torch.randn(3, 2), torch.tensor([7]))
    line = rows.__code__.co_firstlineno + 2
    assert f"test_torch_compile.py:{line} in rows" in str(raised.value)


def test_options_are_settings():
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no setting"):
        compiled(lambda x: x + 1, options={"speed": "high"})(torch.ones(2))
    function = compiled(lambda x: x + 1, options={"rng": "eager"})
    assert function(torch.ones(2)).tolist() == [2, 2]


def test_other_devices_are_refused():
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="on meta"):
        compiled(lambda x: x + 1)(torch.ones(2, device="meta"))


def test_results_are_written_to_and_nothing_else_is():
    """Results that are a constant, a buffer's value or an input's new one."""

    def run(device, compiled):
        kept = torch.arange(3.0, device=device)

        def function(x, y):
            value = x + y
            x.copy_(value)
            y.copy_(value)
            return value, torch.tensor([1.0, 2, 3], device=device), kept.clone()

        call = compiled(function)
        x, y = torch.ones(3, device=device), torch.ones(3, device=device)
        seen = []
        for _ in range(2):
            results = call(x, y)
            for tensor in (x, *results, kept):
                tensor.add_(1)
                torch.lazy.synchronize()
            seen.append([t.tolist() for t in (x, y, kept, *results)])
        return seen

    assert run("lazy", compiled) == run("cpu", lambda function: function)


@pytest.mark.parametrize(
    "setting", [{"tiers": "auto"}, {"sync": True}, {"verify": True}]
)
def test_a_branch_where_graphs_run_call_by_call(setting):
    x, y = torch.ones(2, 3), torch.ones(2, 3)
    with torch_ltc.settings.scope(**setting):
        found = torch.compile(cases, backend="ltc")(x, y)
    assert torch.equal(found, x + y)
