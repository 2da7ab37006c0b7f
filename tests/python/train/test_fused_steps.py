# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of Adam, AdamW and SGD: one op for all parameters."""

import pytest
import torch
from torch import nn, optim

SHAPES = [(3, 5), (7,), (), (2, 1, 4), (3, 5)]
STEPS = 5
OPTIONS = [
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1, "betas": (0.7, 0.95)}),
    ("Adam", {"maximize": True, "eps": 1e-3, "amsgrad": True}),
    ("AdamW", {}),
    ("AdamW", {"amsgrad": True, "maximize": True, "weight_decay": 0.3}),
    ("AdamW", {"weight_decay": 0.0, "betas": (0.3, 0.9)}),
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.8, "nesterov": True, "maximize": True}),
]
each_option = pytest.mark.parametrize("name, options", OPTIONS)


def has_gradient(parameter, step):
    """Some parameters get their first gradient late, or none for a while."""
    return not (parameter == 1 and step < 2) and not (parameter == 3 and step == 3)


def run(device, name, dtype=torch.float32, always=False, groups=False, **options):
    """Parameters and states after a few steps, on the CPU."""
    torch.manual_seed(0)
    start = [torch.randn(shape, dtype=dtype) for shape in SHAPES]
    parameters = [nn.Parameter(x.to(device)) for x in start]
    given = parameters
    if groups:
        given = [
            {"params": parameters[:2], "lr": 0.02, "weight_decay": 0.2},
            {"params": parameters[2:]},
        ]
    stepper = getattr(optim, name)(given, lr=options.pop("lr", 0.01), **options)
    for step in range(STEPS):
        for i, parameter in enumerate(parameters):
            gradient = torch.randn(SHAPES[i], dtype=dtype).to(device)
            parameter.grad = gradient if always or has_gradient(i, step) else None
        for group in stepper.param_groups:
            if isinstance(group["lr"], float):
                group["lr"] *= 0.9
        stepper.step()
    state = stepper.state_dict()["state"]
    kinds = [(k, v.device.type) for s in state.values() for k, v in s.items()]
    values = [x.detach().cpu() for x in parameters]
    values += [v.cpu() for s in state.values() for v in s.values()]
    return values, kinds


def same(lazy, eager, **tolerance):
    for x, y in zip(lazy, eager, strict=True):
        torch.testing.assert_close(x, y, **tolerance)


@each_option
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("groups", [False, True])
def test_steps_are_those_of_eagers_loop(name, options, dtype, groups, counts):
    lazy, kinds = run("lazy", name, dtype, groups=groups, **options)
    assert counts.fallbacks() == []
    assert counts["execute.launches"] == STEPS
    eager, wanted = run("cpu", name, dtype, groups=groups, **options)
    # A count of steps is a number of the host; the rest is on the device.
    on_device = [(k, "cpu" if k == "step" else "lazy") for k, _ in wanted]
    assert kinds == on_device
    same(lazy, eager)


@each_option
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_fused_steps_are_those_of_eager(name, options, dtype, counts):
    """A momentum that begins late is nothing that eager's fused form knows."""
    options = {"fused": True, "always": "momentum" in options} | options
    lazy, kinds = run("lazy", name, dtype, **options)
    assert counts.fallbacks() == []
    assert all(device == "lazy" for _, device in kinds)
    same(lazy, run("cpu", name, dtype, **options)[0])


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_learning_rate_in_a_tensor(name, counts):
    lr = torch.tensor(0.03)
    lazy, _ = run("lazy", name, lr=lr, fused=True)
    there, _ = run("lazy", name, lr=lr.to("lazy"), fused=True)
    assert counts["graph.host_reads"] == 1  # is it positive, asks the constructor
    eager, _ = run("cpu", name, lr=lr, fused=True)
    same(lazy, eager)
    same(there, eager)


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_a_step_is_one_op_and_no_number_recompiles(name, counts):
    parameters = [nn.Parameter(torch.randn(4, device="lazy")) for _ in range(20)]
    stepper = getattr(optim, name)(parameters, lr=0.1, weight_decay=0.1)
    for parameter in parameters:
        parameter.grad = torch.randn(4, device="lazy")
    stepper.step()
    stepper.step()
    graphs, ops = counts["codegen.graphs"], counts["record.ops"]
    for _ in range(4):
        stepper.param_groups[0]["lr"] *= 0.5
        stepper.param_groups[0]["weight_decay"] *= 0.5
        stepper.step()
    assert counts["codegen.graphs"] == graphs
    assert counts["record.ops"] == ops + 4


def lists(device, infinity, scale):
    torch.manual_seed(0)
    made = [[torch.rand(4).to(device) for _ in range(2)] for _ in range(5)]
    steps = [torch.tensor(3.0 + i).to(device) for i in range(2)]
    found = torch.tensor(infinity).to(device)
    by = torch.tensor(scale).to(device)
    return made, steps, {"found_inf": found, "grad_scale": by}


@pytest.mark.parametrize("infinity", [0.0, 1.0])
@pytest.mark.parametrize("op", ["_fused_adam_", "_fused_adamw_", "_fused_sgd_"])
def test_nothing_changes_where_an_infinity_was_found(op, infinity, counts):
    def step(device):
        made, steps, scaler = lists(device, infinity, 4.0)
        before = [x.clone() for part in made for x in part]
        rates = {"lr": 0.1, "weight_decay": 0.1, "maximize": True}
        if op == "_fused_sgd_":
            rates |= {"momentum": 0.9, "dampening": 0.1, "nesterov": True}
            torch._fused_sgd_(*made[:3], **rates, is_first_step=False, **scaler)
        else:
            rates |= {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "amsgrad": True}
            getattr(torch, op)(*made, steps, **rates, **scaler)
        return [x.cpu() for x in before], [x.cpu() for part in made for x in part]

    before, after = step("lazy")
    assert counts.fallbacks() == []
    same(after, step("cpu")[1])
    if infinity:
        same(after, before, rtol=0, atol=0)
    else:
        assert not torch.equal(after[2], before[2])  # gradients are unscaled


def test_a_scaler_reads_no_number_before_a_fused_step(counts):
    weight = nn.Parameter(torch.ones(4, device="lazy"))
    stepper = optim.AdamW([weight], lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("lazy", init_scale=4.0)
    values = []
    for factor in (1.0, float("inf"), 1.0):
        stepper.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        before = counts["execute.launches"], counts["graph.host_reads"]
        scaler.step(stepper)
        assert counts["execute.launches"] == before[0] + 1  # the end of the step
        assert counts["graph.host_reads"] == before[1]
        scaler.update()
        values.append(weight.detach().clone())
    first, second, third = (value.cpu() for value in values)
    assert torch.equal(first, second)
    assert not torch.equal(second, third)
    assert stepper.state[weight]["step"].item() == 2


def test_parameters_that_are_views_of_one_buffer():
    def step(device):
        flat = torch.arange(6.0).to(device)
        parts = [nn.Parameter(part) for part in flat.split(3)]
        stepper = optim.AdamW(parts, lr=0.1)
        for _ in range(3):
            for part in parts:
                part.grad = torch.ones(3).to(device)
            stepper.step()
        return [flat.cpu(), *(part.detach().cpu() for part in parts)]

    same(step("lazy"), step("cpu"))


def test_the_gradients_are_only_read():
    weight = nn.Parameter(torch.ones(1000, 100, device="lazy"))
    weight.grad = torch.ones(1000, 100, device="lazy")
    stepper = optim.SGD([weight], lr=0.1, momentum=0.9, nesterov=True)
    for _ in range(4):
        stepper.step()
    torch.lazy.synchronize()
    torch.testing.assert_close(weight.grad.cpu(), torch.ones(1000, 100))
