# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training gives eager's losses, parameters, optimizer state and statistics.

Rounding differs from eager, and networks amplify it. The bound for a value after
n steps is therefore a small one, or what eager itself moves by when its initial
weights are changed by one part in a million, ten times over.
"""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
import train_digits
import train_text
from torch_ltc import settings


class Digits:
    """Batches of real handwritten digits, and a network from the example."""

    def __init__(self, network, batch=64):
        (self.images, self.labels), _ = train_digits.load_images(seed=0)
        self.network, self.batch = network, batch

    def model(self):
        return self.network()

    def loss(self, model, step, device):
        start = step * self.batch % (len(self.images) - self.batch)
        images = self.images[start : start + self.batch].to(device)
        labels = self.labels[start : start + self.batch].to(device)
        return F.cross_entropy(model(images), labels)


class Letters:
    """Windows of real text, and a small GPT from the example."""

    def __init__(self, context=32, batch=8):
        self.text = train_text.Text()
        self.context, self.batch = context, batch

    def model(self):
        return train_text.Gpt(
            train_text.Shape(
                len(self.text.alphabet), self.context, width=64, heads=4, layers=2
            )
        )

    def loss(self, model, step, device):
        starts = (torch.arange(self.batch) + step * self.batch) * self.context
        inputs, targets = self.text.windows(self.text.train, starts, self.context)
        return train_text.loss_of(model, inputs.to(device), targets.to(device))


TASKS = {
    "mlp": lambda: Digits(lambda: train_digits.Mlp(width=128)),
    "cnn": lambda: Digits(lambda: train_digits.Cnn(channels=8)),
    "gpt": Letters,
}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01),
}


@dataclasses.dataclass
class Run:
    """What a training run left behind, on the CPU."""

    losses: torch.Tensor
    values: dict  # parameters, running statistics, optimizer state by name


def train(task, make_optimizer, device, steps, nudge=0.0):
    torch.manual_seed(0)
    model = task.model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + nudge)
    model.to(device)
    optimizer = make_optimizer(model.parameters())
    torch.manual_seed(1)  # for dropout
    losses = []
    for step in range(steps):
        loss = task.loss(model, step, device)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    values = dict(model.state_dict())
    for number, state in optimizer.state_dict()["state"].items():
        values |= {f"{number}.{name}": value for name, value in state.items()}
    return Run(
        torch.stack([loss.cpu() for loss in losses]).double(),
        {n: v.detach().cpu().double() for n, v in values.items() if v is not None},
    )


def distance(a, b):
    """Return |a - b| / |b|, of values by name or of the losses."""
    return {
        name: ((a[name] - b[name]).norm() / b[name].norm().clamp_min(1e-30)).item()
        for name in b
    }


@pytest.fixture(autouse=True)
def eager_dropout():
    with settings.scope(rng="eager"):
        yield


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("make_task", TASKS.values(), ids=TASKS)
def test_first_steps_agree_with_eager(make_task, optimizer, counts):
    task = make_task()
    eager = train(task, optimizer, "cpu", steps=20)
    nudged = train(task, optimizer, "cpu", steps=20, nudge=1e-6)
    lazy = train(task, optimizer, "lazy", steps=20)

    relative = (lazy.losses - eager.losses).abs() / eager.losses
    assert relative.max() < 1e-5
    assert eager.losses[-1] < eager.losses[0]  # something is learnt
    assert lazy.values.keys() == eager.values.keys()
    moved = distance(nudged.values, eager.values)
    for name, apart in distance(lazy.values, eager.values).items():
        assert apart <= max(1e-5, 10 * moved[name]), name
    assert counts.fallbacks() == []


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("make_task", TASKS.values(), ids=TASKS)
def test_200_steps_stay_within_eagers_own_movement(make_task, optimizer):
    task = make_task()
    eager = train(task, optimizer, "cpu", steps=200)
    nudged = train(task, optimizer, "cpu", steps=200, nudge=1e-6)
    lazy = train(task, optimizer, "lazy", steps=200)

    own = ((nudged.losses - eager.losses).abs() / eager.losses).max()
    assert ((lazy.losses - eager.losses).abs() / eager.losses).max() <= 10 * own
    moved = distance(nudged.values, eager.values)
    for name, apart in distance(lazy.values, eager.values).items():
        assert apart <= max(1e-5, 10 * moved[name]), name


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("make_task", TASKS.values(), ids=TASKS)
def test_a_steady_loop_compiles_two_graphs(make_task, optimizer, counts):
    task = make_task()
    model = task.model().to("lazy")
    optimizer = optimizer(model.parameters())
    torch.lazy.mark_step(wait=True)
    counts.restart()
    for step in range(8):
        optimizer.zero_grad()
        task.loss(model, step, "lazy").backward()
        optimizer.step()
    torch.lazy.synchronize()
    assert counts["cache.miss"] <= 2
    assert counts["codegen.graphs"] <= 2
    assert counts["cache.hit.memory"] >= 6
    assert counts["execute.launches"] == 8
    assert counts.fallbacks() == []


STATEFUL = {
    "adam": lambda p: torch.optim.Adam(p, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, foreach=False),
    "nadam": lambda p: torch.optim.NAdam(p),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "rmsprop": lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True),
}


@pytest.mark.parametrize("optimizer", STATEFUL.values(), ids=STATEFUL)
def test_a_first_step_is_the_graph_of_those_that_follow(optimizer, counts):
    torch.manual_seed(0)
    model = train_digits.Mlp(width=16).to("lazy")
    optimizer = optimizer(model.parameters())
    images = torch.rand(2, *train_digits.load_images(seed=0)[0][0].shape[1:]).to("lazy")
    torch.lazy.mark_step(wait=True)
    counts.restart()
    for _ in range(4):
        optimizer.zero_grad()
        model(images).square().sum().backward()
        optimizer.step()
    torch.lazy.synchronize()
    assert counts["codegen.graphs"] == 1 and counts["execute.launches"] == 4


@pytest.mark.parametrize("keeps_gradients", [False, True])
def test_zeros_like_a_parameter_are_zeros_of_their_own(keeps_gradients):
    def run(device):
        weight = torch.arange(24.0).view(1, 2, 3, 4).to(device)
        weight = torch.nn.Parameter(weight.to(memory_format=torch.channels_last))
        with torch.set_grad_enabled(keeps_gradients):
            made = [torch.zeros_like(weight) for _ in range(3)]
            made.append(torch.zeros_like(weight, dtype=torch.bfloat16))
            made.append(torch.zeros_like(weight, memory_format=torch.contiguous_format))
            made[0].add_(weight.detach())
            made[1][0, 1] = 3
            view = made[2].permute(0, 2, 3, 1)
            made[2].sub_(1)
        made += [view, weight.detach()]
        return made

    for lazy, eager in zip(run("lazy"), run("cpu"), strict=True):
        assert (lazy.dtype, lazy.requires_grad) == (eager.dtype, eager.requires_grad)
        assert lazy.stride() == eager.stride()
        assert torch.equal(lazy.cpu(), eager)


def test_a_shorter_last_batch_compiles_one_more(counts):
    task = Digits(train_digits.Mlp)
    model = task.model().to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.lazy.mark_step(wait=True)
    counts.restart()
    for _ in range(3):
        for images, labels in zip(
            task.images[:200].split(64), task.labels[:200].split(64), strict=True
        ):
            optimizer.zero_grad()
            F.cross_entropy(model(images.to("lazy")), labels.to("lazy")).backward()
            optimizer.step()
    torch.lazy.synchronize()
    assert counts["cache.miss"] <= 3
    assert counts["execute.launches"] == 12


SCHEDULES = {
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "one cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(
        o, 0.1, total_steps=13, cycle_momentum=False
    ),
    "exponential": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules_never_recompile(schedule, optimizer, counts):
    def run(device):
        torch.manual_seed(0)
        model = torch.nn.Linear(6, 3).to(device)
        steps = optimizer(model.parameters())
        rates = schedule(steps)
        for step in range(12):
            if step == 2:
                torch.lazy.synchronize()
                counts.restart()
            steps.zero_grad()
            model(
                torch.full((5, 6), 0.1 * step, device=device)
            ).square().sum().backward()
            steps.step()
            rates.step()
        return model.weight.detach().cpu()

    lazy = run("lazy")
    assert counts["cache.miss"] == 0
    torch.testing.assert_close(lazy, run("cpu"), rtol=1e-5, atol=1e-7)


def test_epsilon_and_decay_never_recompile(counts):
    parameter = torch.nn.Parameter(torch.ones(5, device="lazy"))
    optimizer = torch.optim.AdamW([parameter])
    for step in range(8):
        if step == 2:
            torch.lazy.synchronize()
            counts.restart()
        (group,) = optimizer.param_groups
        group["eps"] = 1e-8 * (step + 1)
        group["weight_decay"] = 0.01 * (step + 1)
        parameter.grad = torch.full((5,), 0.5, device="lazy")
        optimizer.step()
    torch.lazy.synchronize()
    assert counts["cache.miss"] == 0


def test_gradient_accumulation_and_clipping_agree_with_eager(counts):
    task = Digits(lambda: train_digits.Mlp(width=64, dropout=0.0))

    def run(device):
        torch.manual_seed(0)
        model = task.model().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        norms = []
        for step in range(5):
            optimizer.zero_grad()
            for part in range(2):
                (task.loss(model, 2 * step + part, device) / 2).backward()
            norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5))
            optimizer.step()
        values = [p.detach().cpu() for p in model.parameters()]
        return values, torch.stack([n.detach().cpu() for n in norms])

    lazy, lazy_norms = run("lazy")
    assert counts.fallbacks() == []
    eager, eager_norms = run("cpu")
    torch.testing.assert_close(lazy_norms, eager_norms, rtol=1e-5, atol=0)
    for a, b in zip(lazy, eager, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)


def test_evaluation_between_epochs_agrees_with_eager():
    task = Digits(lambda: train_digits.Cnn(channels=4, dropout=0.0))

    def run(device):
        torch.manual_seed(0)
        model = task.model().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scores = []
        for epoch in range(2):
            for step in range(3):
                optimizer.zero_grad()
                task.loss(model, 3 * epoch + step, device).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                scores.append(model(task.images[:50].to(device)).cpu())
            model.train()
        return torch.stack(scores)

    torch.testing.assert_close(run("lazy"), run("cpu"), rtol=1e-4, atol=1e-5)
