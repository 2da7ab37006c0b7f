# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every optimizer of torch.optim, and what programs put around them."""

import copy
import inspect

import pytest
import torch
from torch import nn, optim
from torch.nn import functional as F

OPTIONS = {
    "ASGD": [{"lr": 0.05}, {"lr": 0.05, "weight_decay": 0.1}],
    "Adadelta": [{"lr": 1.0}, {"lr": 1.0, "maximize": True}],
    "Adafactor": [{"lr": 0.01}],
    "Adagrad": [{"lr": 0.05}, {"lr": 0.05, "lr_decay": 0.1}],
    "Adam": [{"lr": 0.01}, {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}],
    "AdamW": [{"lr": 0.01}, {"lr": 0.01, "amsgrad": True}],
    "Adamax": [{"lr": 0.01}],
    "LBFGS": [{"lr": 0.1, "max_iter": 4}, {"line_search_fn": "strong_wolfe"}],
    "Muon": [{"lr": 0.01}],
    "NAdam": [{"lr": 0.01}, {"lr": 0.01, "decoupled_weight_decay": True}],
    "RAdam": [{"lr": 0.05}],
    "RMSprop": [{"lr": 0.01}, {"lr": 0.01, "momentum": 0.9, "centered": True}],
    "Rprop": [{"lr": 0.01}],
    "SGD": [{"lr": 0.05}, {"lr": 0.05, "momentum": 0.9, "nesterov": True}],
}
# Wants sparse gradients, of which test_sparse.py has some.
WITHOUT = {"Optimizer", "SparseAdam"}
STEPS = 8


def cases():
    for name, options in OPTIONS.items():
        for each in options:
            text = ", ".join(f"{k}={v}" for k, v in each.items())
            yield pytest.param(name, each, id=f"{name}({text})")


def make(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8, bias=False), nn.Tanh(), nn.Linear(8, 3))
    x, y = torch.randn(16, 6), torch.randint(3, (16,))
    return model.to(device), x.to(device), y.to(device)


def train(device, optimizer, schedule=None, around=None, nudge=0.0):
    """Losses and parameters after a few steps."""
    model, x, y = make(device)
    with torch.no_grad():
        model[0].weight.mul_(1 + nudge)
    if optimizer.func is optim.Muon:  # for matrices alone
        model[2].bias.requires_grad_(False)
    stepper = optimizer([p for p in model.parameters() if p.requires_grad])
    scheduler = schedule and schedule(stepper)
    losses = []

    def closure():
        stepper.zero_grad()
        # The penalty gives it one minimum, at which they all arrive.
        penalty = sum(p.square().sum() for p in model.parameters())
        loss = F.cross_entropy(model(x), y) + 0.01 * penalty
        loss.backward()
        return loss

    for _ in range(STEPS):
        losses.append(stepper.step(closure).detach())
        if scheduler:
            scheduler.step()
        if around:
            around(model)
    values = [p.detach().cpu() for p in model.parameters()]
    return torch.stack(losses).cpu(), values


class Make:
    """An optimizer but for its parameters."""

    def __init__(self, name, **options):
        self.func, self.options = getattr(optim, name), options

    def __call__(self, parameters):
        return self.func(parameters, **self.options)


def same(*arguments, counts):
    lazy, values = train("lazy", *arguments)
    assert counts.fallbacks() == []
    eager, expected = train("cpu", *arguments)
    nudged, moved = train("cpu", *arguments, nudge=1e-6)
    for a, b, c in zip(
        [lazy, *values], [eager, *expected], [nudged, *moved], strict=True
    ):
        own = (b - c).abs().max().item()  # eager's rounding, made visible
        torch.testing.assert_close(a, b, rtol=2e-5, atol=max(2e-6, 10 * own))


def test_all_are_here():
    found = {n for n, o in vars(optim).items() if inspect.isclass(o)}
    assert found - WITHOUT == set(OPTIONS)


@pytest.mark.parametrize("name, options", list(cases()))
def test_steps_are_eagers(name, options, counts):
    same(Make(name, **options), counts=counts)


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", ["Adam", "SGD", "RMSprop", "Rprop", "ASGD"])
def test_forms_are_eagers(name, foreach, counts):
    same(Make(name, lr=0.01, foreach=foreach), counts=counts)


@pytest.mark.parametrize(
    "name, options",
    [
        ("Adam", {"lr": 0.01, "amsgrad": True}),
        ("AdamW", {"lr": 0.01, "maximize": True}),
        ("SGD", {"lr": 0.05}),
        ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ],
)
def test_fused_steps_are_eagers(name, options, counts):
    same(Make(name, fused=True, **options), counts=counts)
    assert counts["execute.launches"] <= STEPS + 2  # none reads a count of steps


CAPTURABLE = [
    "ASGD",
    "Adadelta",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
]


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", CAPTURABLE)
def test_steps_counted_on_the_device_are_eagers(name, foreach, counts):
    model, x, y = make("lazy")
    stepper = getattr(optim, name)(
        model.parameters(), lr=0.01, foreach=foreach, capturable=True
    )
    plain, x_cpu, y_cpu = make("cpu")
    other = getattr(optim, name)(plain.parameters(), lr=0.01, foreach=foreach)
    for m, o, a, b in [(model, stepper, x, y), (plain, other, x_cpu, y_cpu)]:
        for _ in range(STEPS):
            o.zero_grad()
            F.cross_entropy(m(a), b).backward()
            o.step()
    assert counts["execute.launches"] == STEPS
    assert stepper.state[model[0].weight]["step"].device.type == "lazy"
    values = [p.detach().cpu() for p in model.parameters()]
    expected = [p.detach() for p in plain.parameters()]
    torch.testing.assert_close(values, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_a_scaler_leaves_unscaling_to_a_fused_step(name):
    def run(device):
        model, x, y = make(device)
        stepper = getattr(optim, name)(model.parameters(), lr=0.01, fused=True)
        scaler = torch.amp.GradScaler(device, init_scale=2.0**10)
        for i in range(6):
            stepper.zero_grad()
            loss = F.cross_entropy(model(x), y) * (float("inf") if i == 2 else 1)
            scaler.scale(loss).backward()
            scaler.step(stepper)
            scaler.update()
        grads = [p.grad.cpu() for p in model.parameters()]
        return scaler.get_scale(), [p.detach().cpu() for p in model.parameters()], grads

    torch.testing.assert_close(run("lazy"), run("cpu"), rtol=1e-5, atol=1e-6)


def test_a_fused_form_that_is_missing_says_so_in_a_line():
    model, x, _ = make("lazy")
    stepper = optim.Adagrad(model.parameters(), fused=True)
    model(x).sum().backward()
    with pytest.raises(RuntimeError, match="fused=True") as raised:
        stepper.step()
    assert len(str(raised.value).splitlines()) == 1


def test_fused_op_with_an_empty_list():
    """Without momentum or amsgrad a list that the op writes has no tensors."""

    def run(device):
        def three():
            return [torch.arange(1.0, 4.0).to(device) for _ in range(2)]

        weights, averages, squares, steps = three(), three(), three(), three()
        rates = {"lr": 0.1, "weight_decay": 0.01, "maximize": False}
        torch._fused_sgd_(
            *(weights, three(), []),
            **rates,
            **{"momentum": 0.0, "dampening": 0.0, "nesterov": False},
            is_first_step=True,
        )
        torch._fused_adam_(
            *(weights, three(), averages, squares, [], [s[0] for s in steps]),
            **rates,
            **{"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "amsgrad": False},
        )
        return [x.cpu() for x in weights + averages + squares]

    for lazy, eager in zip(run("lazy"), run("cpu"), strict=True):
        torch.testing.assert_close(lazy, eager)


SCHEDULES = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 2, 0.5),
    "Cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, STEPS),
    "OneCycle": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=STEPS + 1),
    "Lambda": lambda o: optim.lr_scheduler.LambdaLR(o, lambda n: 1 / (n + 1)),
    "Sequential": lambda o: optim.lr_scheduler.SequentialLR(
        o,
        [
            optim.lr_scheduler.LinearLR(o, 0.1, total_iters=3),
            optim.lr_scheduler.ExponentialLR(o, 0.9),
        ],
        [3],
    ),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule, counts):
    same(Make("SGD", lr=0.1, momentum=0.9), SCHEDULES[schedule], counts=counts)
    assert counts["codegen.graphs"] <= 4


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("average", ["swa", "ema"])
def test_averaged_models(average, use_buffers):
    def run(device):
        multi = {"ema": optim.swa_utils.get_ema_multi_avg_fn(0.9), "swa": None}
        averaged = None

        def around(model):
            nonlocal averaged
            if averaged is None:
                averaged = optim.swa_utils.AveragedModel(
                    model, multi_avg_fn=multi[average], use_buffers=use_buffers
                )
            averaged.update_parameters(model)

        train(device, Make("SGD", lr=0.1), None, around)
        assert averaged.n_averaged.item() == STEPS
        return [p.detach().cpu() for p in averaged.parameters()]

    torch.testing.assert_close(run("lazy"), run("cpu"), rtol=2e-5, atol=2e-6)


def test_state_moves_between_devices():
    model, x, y = make("cpu")
    stepper = optim.Adam(model.parameters(), lr=0.01)
    F.cross_entropy(model(x), y).backward()
    stepper.step()
    there, x_there, y_there = make("lazy")
    there.load_state_dict(model.state_dict())
    other = optim.Adam(there.parameters(), lr=0.01)
    other.load_state_dict(copy.deepcopy(stepper.state_dict()))
    for m, o, a, b in [(model, stepper, x, y), (there, other, x_there, y_there)]:
        o.zero_grad()
        F.cross_entropy(m(a), b).backward()
        o.step()
    assert other.state[there[0].weight]["exp_avg"].device.type == "lazy"
    values = [p.detach().cpu() for p in there.parameters()]
    torch.testing.assert_close(values, [p.detach() for p in model.parameters()])
