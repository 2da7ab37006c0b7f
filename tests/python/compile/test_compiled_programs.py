# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is hard for a compiler behind ``torch.compile`` is as in eager."""

import copy

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.map import map as map_op
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils.checkpoint import checkpoint

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*op by op on the lazy device"),
    pytest.mark.filterwarnings("ignore:.*flex_attention called without:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*Profiler record function:UserWarning"),
]


@pytest.fixture(autouse=True)
def forget_compiled():
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function, **options):
    return torch.compile(function, backend="ltc", **options)


def table(*rows, ordinary=()):
    """Parametrise by rows; all but the ordinary ones are slow."""
    return [
        pytest.param(
            row, id=row.__name__, marks=() if row in ordinary else pytest.mark.slow
        )
        for row in rows
    ]


@torch.library.custom_op("ltc_tests_compiled::bump", mutates_args=("x", "y"))
def bump(x: torch.Tensor, y: torch.Tensor, by: float) -> torch.Tensor:
    x.add_(by)
    y.mul_(x)
    return x + y


bump.register_fake(lambda x, y, by: torch.empty_like(x))


@torch.library.custom_op("ltc_tests_compiled::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_fake(torch.empty_like)
twice.register_autograd(lambda context, grad: grad * 2)

layer = nn.Linear(6, 6)


# Without gradients: what is returned, and what becomes of the inputs.


def turns_its_input(x, y):
    x.t_()
    return x + 1


def returns_what_it_writes(x, y):
    x.add_(y)
    return x, x * 2, x.view(-1)


def writes_with_a_custom_op(x, y):
    return bump(x[0], y[1], 2.5) * 2 + x.sum()


def makes_constants(x, y):
    return x * torch.tensor([1.0, 2, 3, 4, 5, 6]), torch.tensor(3), torch.arange(3)


def copies_what_it_returns(x, y):
    z = x + 1
    return z, z.clone(), x.clone(), z.t()


def reads_a_number(x, y):
    return x * y.sum().item()


def takes_what_is_positive(x, y):
    return x[x > 0] + 1


def grad(x, y):
    return torch.func.grad(lambda z: (z.sin() * y).sum())(x)


def vmap(x, y):
    return torch.func.vmap(torch.dot)(x, y)


def jvp(x, y):
    return torch.func.jvp(torch.sin, (x,), (y,))


def vjp(x, y):
    return torch.func.vjp(torch.sin, x)[1](y)[0]


def jacrev(x, y):
    return torch.func.jacrev(lambda z: z.sin().sum(1))(x)


def jacfwd(x, y):
    return torch.func.jacfwd(lambda z: z.sin().sum(1))(x)


def hessian(x, y):
    return torch.func.hessian(lambda z: (z**3).sum())(x[0])


def grad_of_a_model(x, y):
    def loss(parameters):
        return torch.func.functional_call(layer, parameters, (x,)).pow(2).mean()

    return torch.func.grad(loss)(dict(layer.named_parameters()))


def autocast(x, y):
    with torch.autocast("cpu", torch.bfloat16):
        return layer(x)


def cond(x, y):
    return torch.cond(x.sum() > 0, torch.add, torch.sub, (x, y))


def while_loops(x, y):
    return while_loop(
        lambda i, z: i < 5, lambda i, z: (i + 1, z * 1.5), (torch.tensor(0), x)
    )


def scans(x, y):
    return scan(lambda c, row: (c + row, c * row), torch.zeros(6), x)


def scans_by_halves(x, y):
    return associative_scan(torch.add, x, 0, combine_mode="generic")


def maps(x, y):
    return map_op(lambda row: row.sin() + 1, x)


def attends(x, y):
    q = torch.stack([x, y])[None]
    return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + (i - j))


ORDINARY = (turns_its_input, returns_what_it_writes, writes_with_a_custom_op)


@pytest.mark.parametrize(
    "function",
    table(
        turns_its_input,
        returns_what_it_writes,
        writes_with_a_custom_op,
        makes_constants,
        copies_what_it_returns,
        reads_a_number,
        takes_what_is_positive,
        grad,
        vmap,
        jvp,
        vjp,
        jacrev,
        jacfwd,
        hessian,
        grad_of_a_model,
        autocast,
        cond,
        while_loops,
        scans,
        scans_by_halves,
        maps,
        attends,
        ordinary=(*ORDINARY, makes_constants, copies_what_it_returns, jacrev, scans),
    ),
)
def test_values(function):
    ours, eagers = (
        [torch.linspace(-1, 1.5, 24).view(4, 6), torch.linspace(2, 1, 24).view(4, 6)]
        for _ in range(2)
    )
    call = compiled(function)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(call(*ours), function(*eagers))
            torch.testing.assert_close(ours, eagers)


# With gradients.


def breaks_its_graph(x):
    y = x * 2
    torch._dynamo.graph_break()
    return y + x if y.sum() > 0 else y - x


def checkpoints(x):
    return checkpoint(lambda y: torch.tanh(layer(y)), x, use_reentrant=False)


def saves_views(x):
    q = x.view(2, 2, 6).transpose(0, 1)
    return (q.softmax(-1) @ q.transpose(1, 2)).reshape(-1) * q.sum()


def saves_turned(x):
    q = (x.t() * 2).sin()
    return (q * q.exp()).t().reshape(-1)


def returns_views_of_one(x):
    y = x * 2
    return torch.cat([y.t().reshape(-1), y[0] ** 2])


def scans_with_gradients(x):
    return scan(lambda c, row: (c + row, (c * row).sin()), torch.zeros(6), x)[1]


@torch.compiler.nested_compile_region
def region(x):
    return x.sin() + 1


def calls_a_region_twice(x):
    return region(region(x)) * 2


def attends_to_itself(x):
    q = x.view(1, 2, 4, 3)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


def calls_a_custom_op(x):
    return twice(x.sin()) + 1


def chooses(x):
    return torch.cond(x.sum() > 0, torch.exp, torch.sin, (x,))


@pytest.mark.parametrize(
    "function",
    table(
        breaks_its_graph,
        checkpoints,
        saves_views,
        saves_turned,
        returns_views_of_one,
        scans_with_gradients,
        calls_a_region_twice,
        attends_to_itself,
        calls_a_custom_op,
        chooses,
        ordinary=(checkpoints, saves_views, saves_turned, calls_a_region_twice),
    ),
)
def test_gradients(function):
    call = compiled(function)
    for _ in range(2):
        ours, eagers = (
            torch.linspace(-1, 1.5, 24).view(4, 6).requires_grad_() for _ in range(2)
        )
        found, expected = call(ours), function(eagers)
        torch.testing.assert_close(found, expected)
        found.sin().sum().backward()
        expected.sin().sum().backward()
        torch.testing.assert_close(ours.grad, eagers.grad)


def test_what_checkpointing_drops_is_dropped_in_backward():
    def function(x):
        return checkpoint(lambda y: F.dropout(y.sin(), 0.5), x, use_reentrant=False)

    x = torch.ones(1000, requires_grad=True)
    y = compiled(function)(x)
    y.sum().backward()
    assert 350 < (y == 0).sum() < 650
    assert torch.equal(x.grad != 0, y != 0)


def test_outputs_that_are_views_are_views():
    def of_input(x):
        return x.view(-1), x[1], x, x.t()

    x = torch.randn(4, 6)
    found = compiled(of_input)(x)
    x.add_(1)
    assert found[2] is x
    torch.testing.assert_close(found, of_input(x))

    def of_intermediate(x):
        y = x + 1
        return y, y.t(), y[0], y

    found = compiled(of_intermediate)(x)
    found[0].zero_()
    assert not any(view.any() for view in found)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        self.calls += 1
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.layer(x) * self.calls


def channels_last():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
    return model.to(memory_format=torch.channels_last)


def image():
    return torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [(Counting, lambda: torch.randn(4, 6)), (channels_last, image)],
    ids=["buffers", "channels last"],
)
def test_models(make, inputs):
    eager = make()
    ours = copy.deepcopy(eager)
    call = compiled(ours)
    for _ in range(2):
        x = inputs()
        found, expected = call(x), eager(x)
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()
        found.pow(2).mean().backward()
        expected.pow(2).mean().backward()
    torch.testing.assert_close(ours.state_dict(), eager.state_dict())
    for mine, other in zip(ours.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-4, atol=1e-5)


def test_a_seed_gives_the_numbers_of_the_lazy_device_from_the_first_call_on():
    x = torch.ones(40)

    def draws(function, x):
        torch.manual_seed(3)
        return [function(x).tolist() for _ in range(2)]

    def function(x):
        return F.dropout(F.dropout(x * 2, 0.5), 0.3)

    call = compiled(function)
    first = draws(call, x)
    assert first[0] != first[1]
    assert first == draws(call, x) == draws(function, x.to("lazy"))


OPTIMIZERS = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"]
OPTIMIZERS += ["NAdam", "RAdam", "Adamax", "Rprop", "ASGD"]


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    eager = nn.Linear(4, 4)
    ours = copy.deepcopy(eager)
    first, second = (
        getattr(torch.optim, name)(m.parameters(), 0.1) for m in (eager, ours)
    )
    step = compiled(second.step)
    for _ in range(3):
        x = torch.randn(5, 4)
        for model in (eager, ours):
            model.zero_grad()
            model(x).pow(2).sum().backward()
        first.step()
        step()
    torch.testing.assert_close(
        ours.state_dict(), eager.state_dict(), rtol=1e-4, atol=1e-5
    )


def test_a_whole_step_with_backward_in_it():
    eager = nn.Linear(6, 3)
    ours = copy.deepcopy(eager)
    first, second = (torch.optim.AdamW(m.parameters(), 0.1) for m in (eager, ours))

    def step(model, optimizer, x):
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    call = compiled(lambda x: step(ours, second, x))
    for _ in range(3):
        x = torch.randn(4, 6)
        torch.testing.assert_close(call(x), step(eager, first, x))
    torch.testing.assert_close(ours.state_dict(), eager.state_dict())


def test_compiled_autograd():
    eager = nn.Linear(6, 3)
    ours = copy.deepcopy(eager)
    x = torch.randn(4, 6)
    eager(x).pow(2).sum().backward()
    with torch._dynamo.config.patch(compiled_autograd=True):
        compiled(ours)(x).pow(2).sum().backward()
    torch.testing.assert_close(ours.weight.grad, eager.weight.grad)


@pytest.mark.slow
def test_attention_with_a_mask_of_blocks():
    q = torch.randn(1, 2, 128, 16)
    mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 2, 128, 128, device="cpu")

    def function(q):
        return flex_attention(q, q, q, block_mask=mask)

    torch.testing.assert_close(compiled(function)(q), function(q))


def test_modes_and_options_that_there_are_not():
    failed = torch._dynamo.exc.BackendCompilerFailed
    with pytest.raises(failed, match=r"has no mode 'fast'; it takes .*max"):
        compiled(lambda x: x + 1, mode="fast")(torch.ones(2))
    with pytest.raises(failed, match="no setting"):
        compiled(lambda x: x + 1, options={"speed": 1})(torch.ones(2))
    for mode in ("default", "reduce-overhead", "max-autotune"):
        assert compiled(lambda x: x + 1, mode=mode)(torch.ones(1)) == 2


def test_a_branch_on_values_is_no_whole_graph():
    def function(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(torch._dynamo.exc.Unsupported, match="ata-dependent"):
        compiled(function, fullgraph=True)(torch.ones(2))


def test_other_backends_compile_custom_ops_that_write():
    torch.ones(2, device="lazy").sum().item()
    x, y = torch.ones(3), torch.ones(3)
    call = torch.compile(lambda x, y: bump(x, y, 1.0) * 2, backend="aot_eager")
    assert call(x, y).tolist() == [8, 8, 8]
    assert (x.tolist(), y.tolist()) == ([2, 2, 2], [2, 2, 2])


@pytest.mark.parametrize("backend", ["ltc", "aot_eager"])
def test_linear_algebra_raises_as_in_eager(backend):
    torch.ones(2, device="lazy").sum().item()
    call = torch.compile(torch.linalg.inv, backend=backend)
    assert call(torch.eye(3) * 2).tolist() == (torch.eye(3) / 2).tolist()
    with pytest.raises(torch.linalg.LinAlgError, match="diagonal element 1 is zero"):
        call(torch.zeros(3, 3))


@pytest.mark.parametrize("backend", ["ltc", "aot_eager"])
def test_a_conjugate_is_written_to(backend):
    torch.ones(2, device="lazy").sum().item()
    x = torch.full((3,), 1 + 2j)
    torch.compile(lambda x: x.add_(1), backend=backend)(x.conj())
    assert x.tolist() == [2 + 2j] * 3


@pytest.mark.parametrize("tiers", ["off", "auto"])
def test_a_number_that_is_computed_is_read(tiers):
    with (
        torch_ltc.settings.scope(tiers=tiers),
        torch._dynamo.config.patch(capture_scalar_outputs=True),
    ):
        assert compiled(lambda x: x.sum().item() + 1)(torch.ones(4)) == 5
