# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch_ltc.freeze``: a frozen step is the unfrozen one, bit for bit."""

import copy
import pickle
import threading
import weakref

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn

CALLS = 12


@pytest.fixture(autouse=True)
def seeds():
    """The numbers of the device: other tests set eager's for all."""
    with torch_ltc.settings.scope(rng="fast"):
        yield


def test_numbers_drawn_on_the_host_are_no_part_of_a_step():
    with (
        torch_ltc.settings.scope(rng="eager"),
        pytest.raises(torch_ltc.FreezeError, match="moves a CPU tensor of"),
    ):
        train("mlp", True)


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(4 * 64, 4),
    )


class Attention(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm(x)).split(c, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(b, t, c))


def gpt():
    return nn.Sequential(nn.Embedding(11, 16), Attention(), nn.Linear(16, 4))


def flat_batch():
    return torch.randn(6, 8), torch.randint(0, 4, (6,))


def image_batch():
    return torch.randn(6, 1, 8, 8), torch.randint(0, 4, (6,))


def token_batch():
    return torch.randint(0, 11, (3, 5)), torch.randint(0, 4, (3, 5))


def plain_step(model, optimizer):
    def step(x, y):
        loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def clipping_step(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return {"loss": loss, "norm": norm}

    return step


def accumulating_step(model, optimizer):
    def step(x, y):
        total = 0.0
        for half in (slice(None, 3), slice(3, None)):
            loss = F.cross_entropy(model(x[half]), y[half]) / 2
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return total, (loss,)

    return step


def moving_step(model, optimizer):
    """Gets CPU tensors, as a loader gives them."""

    def step(x, y):
        x, y = x.to("lazy"), y.to("lazy")
        with torch.autocast("lazy", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


CASES = {
    "mlp": (mlp, flat_batch, plain_step, torch.optim.AdamW, {}),
    "sgd": (mlp, flat_batch, plain_step, torch.optim.SGD, {"momentum": 0.9}),
    "plain sgd": (mlp, flat_batch, plain_step, torch.optim.SGD, {}),
    "foreach": (mlp, flat_batch, plain_step, torch.optim.SGD, {"foreach": True}),
    "cnn": (cnn, image_batch, plain_step, torch.optim.AdamW, {}),
    "gpt": (gpt, token_batch, clipping_step, torch.optim.AdamW, {}),
    "accumulated": (mlp, flat_batch, accumulating_step, torch.optim.Adam, {}),
    "moved": (mlp, flat_batch, moving_step, torch.optim.AdamW, {}),
}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().cpu()]
    parts = value.values() if isinstance(value, dict) else value
    return [tensor for part in parts for tensor in tensors_in(part)]


def train(case, frozen, calls=CALLS, scheduled=True):
    make, batch, make_step, optimizer_class, options = CASES[case]
    torch.manual_seed(0)
    model = make().to("lazy")
    optimizer = optimizer_class(model.parameters(), lr=0.05, **options)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, calls)
    step = make_step(model, optimizer)
    if frozen:
        step = torch_ltc.freeze(step, strict=True)
    results = []
    for _ in range(calls):
        x, y = batch()
        if make_step is not moving_step:
            x, y = x.to("lazy"), y.to("lazy")
        results += tensors_in(step(x, y))
        if scheduled:
            scheduler.step()
    if frozen:
        assert step.is_frozen
    state = [*model.state_dict().values()]
    state += [p.grad for p in model.parameters()]
    for values in optimizer.state.values():
        state += [v for v in values.values() if isinstance(v, torch.Tensor)]
    return results + tensors_in(state) + [torch.get_rng_state()]


@pytest.mark.parametrize("case", CASES)
def test_a_frozen_step_is_the_step(case):
    for a, b in zip(train(case, False), train(case, True), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def small(**options):
    torch.manual_seed(0)
    model = nn.Linear(4, 2).to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, torch_ltc.freeze(step, **options), step


def batches(n, rows=3):
    return [torch.randn(rows, 4).to("lazy") for _ in range(n)]


def recorded_ops(call, *args):
    """How many ops a call recorded: none, if its Python did not run."""
    with torch_ltc.metrics.measure() as counts:
        call(*args)
    return counts.get("record.ops", 0)


def frozen_and_not(change, calls=3):
    """Compare a step that is frozen when `change(model, optimizer)` comes."""
    both = []
    for is_frozen in (False, True):
        model, optimizer, frozen, plain = small(strict=True)
        step = frozen if is_frozen else plain
        torch.manual_seed(1)
        losses = [step(x).item() for x in batches(4)]
        changed = change(model, optimizer)
        losses += [step(x).item() for x in batches(calls)]
        weights = [p.detach().cpu() for p in model.parameters()]
        gradients = [
            p.grad.cpu() if p.grad is not None else None for p in model.parameters()
        ]
        both.append((losses, weights, gradients, changed))
    (a, b) = both
    assert a[0] == b[0]
    for old, new in zip(a[1] + a[2], b[1] + b[2], strict=True):
        assert (old is None) == (new is None)
        assert old is None or torch.equal(old, new)
    return a, b


def test_python_does_not_run_again():
    _, _, step, plain = small(strict=True)
    ops = [recorded_ops(step, x) for x in batches(5)]
    assert ops[0] > 0
    assert ops[1] > 0
    assert ops[-2:] == [0, 0]
    assert recorded_ops(plain, *batches(1)) > 0
    step.reset()
    assert not step.is_frozen
    assert recorded_ops(step, *batches(1)) > 0


def load_other_weights(model, optimizer):
    torch.manual_seed(3)
    model.load_state_dict(nn.Linear(4, 2).state_dict())


def write_by_hand(model, optimizer):
    with torch.no_grad():
        model.weight.mul_(2)
        model.bias[0] = 7


def give_other_memory(model, optimizer):
    model.weight.data = torch.full((2, 4), 0.5, device="lazy")


def give_another_parameter(model, optimizer):
    model.bias = nn.Parameter(torch.ones(2, device="lazy"))


def change_lr(model, optimizer):
    optimizer.param_groups[0]["lr"] = 0.03


def switch_lr_off(model, optimizer):
    optimizer.param_groups[0]["lr"] = 0.0


def begin_momentum(model, optimizer):
    optimizer.param_groups[0]["momentum"] = 0.9


def train_less(model, optimizer):
    model.bias.requires_grad_(False)


def drop_gradients(model, optimizer):
    optimizer.zero_grad()


def hook_in(model, optimizer):
    model.weight.register_hook(lambda gradient: gradient * 0.5)


def hook_the_module(model, optimizer):
    model.register_forward_hook(lambda module, args, out: out + 1)


@pytest.mark.parametrize(
    "change",
    [
        load_other_weights,
        write_by_hand,
        give_other_memory,
        give_another_parameter,
        change_lr,
        switch_lr_off,
        begin_momentum,
        train_less,
        drop_gradients,
        hook_in,
        hook_the_module,
    ],
)
def test_changes_between_calls_are_seen(change):
    frozen_and_not(change)


@pytest.mark.parametrize(
    "of_gradient", (lambda g: g, lambda g: g[0], lambda g: g.detach(), weakref.ref)
)
def test_what_the_program_keeps_stays(of_gradient):
    """A copy shares memory that the frozen step would write to."""

    def keep(model, optimizer):
        kept = of_gradient(model.weight.grad)
        kept = [] if isinstance(kept, weakref.ref) else [kept]
        return [model.weight.detach().clone(), *kept]

    a, b = frozen_and_not(keep)
    for old, new in zip(a[3], b[3], strict=True):
        assert torch.equal(old.cpu(), new.cpu())


def test_a_shape_is_frozen_each():
    _, _, step, _ = small(strict=True)
    for rows in (3, 5, 3, 5, 3, 5):
        for x in batches(2, rows):
            step(x)
    assert [recorded_ops(step, *batches(1, rows)) for rows in (3, 5)] == [0, 0]


def test_views_and_pending_arguments():
    _, _, step, _ = small(strict=True)
    _, _, _, plain = small()
    data = torch.randn(30, 4).to("lazy")
    for i in range(6):
        given = [data[3 * i : 3 * i + 3], data[:3] * i]
        assert [step(x).item() for x in given] == [plain(x).item() for x in given]
    assert step.is_frozen


def test_inference_and_grad_mode():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout()).to("lazy")
    forward = torch_ltc.freeze(lambda x: (model(x), x.sum()), strict=True)
    for train in (False, True, False):
        model.train(train)
        for no_grad in (torch.no_grad(), torch.inference_mode()):
            for x in batches(3):
                torch.manual_seed(5)
                with no_grad:
                    out, total = forward(x)
                torch.manual_seed(5)
                with no_grad:
                    wanted, wanted_total = model(x), x.sum()
                assert torch.equal(out.cpu(), wanted.cpu())
                assert total.item() == wanted_total.item()
    assert forward.is_frozen


def test_methods_and_arguments_that_are_objects():
    class Trainer:
        def __init__(self):
            self.model = nn.Linear(4, 2).to("lazy")
            self.seen = 0

        @torch_ltc.freeze(strict=True)
        def forward(self, x, scale, model=None):
            with torch.no_grad():
                return (model or self.model)(x) * scale

        def fit(self):
            for x in batches(4):
                self.seen += 1
                wanted = self.model(x) * 2.0
                assert torch.equal(self.forward(x, 2.0).cpu(), wanted.cpu())

    a, b = Trainer(), Trainer()
    a.fit()
    b.fit()
    x = batches(1)[0]
    assert recorded_ops(a.forward, x, 2.0) == 0
    other = nn.Linear(4, 2).to("lazy")
    assert torch.equal(a.forward(x, 1.0, model=other).cpu(), other(x).cpu())
    assert recorded_ops(b.forward, x, 2.0) == 0


def test_an_exception_leaves_it_usable():
    model, _, _, _ = small()

    def step(x, fails=False):
        if fails:
            raise KeyError("mine")
        return model(x).detach()

    frozen = torch_ltc.freeze(step, strict=True)
    (x,) = batches(1)
    for _ in range(4):
        with pytest.raises(KeyError, match="mine"):
            frozen(x, fails=True)
        frozen(x)
    assert frozen.is_frozen
    assert torch.equal(frozen(x).cpu(), step(x).cpu())


def test_an_error_of_a_launch_has_its_line_and_loses_nothing():
    table = nn.Embedding(5, 2).to("lazy")
    optimizer = torch.optim.AdamW(table.parameters())

    @torch_ltc.freeze(strict=True)
    def step(index):
        loss = table(index).sum()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    good = torch.tensor([1, 2]).to("lazy")
    for _ in range(4):
        step(good)
    assert step.is_frozen
    before = table.weight.detach().cpu()
    count = optimizer.state[table.weight]["step"].item()
    with pytest.raises(IndexError) as raised:
        step(torch.tensor([1, 9]).to("lazy")).item()
    assert "9" in str(raised.value)
    assert raised.value.file.endswith("test_freeze.py")
    assert torch.equal(table.weight.detach().cpu(), before)
    assert optimizer.state[table.weight]["step"].item() == count
    step(good).item()
    assert not torch.equal(table.weight.detach().cpu(), before)


def test_threads():
    model = nn.Linear(4, 4).to("lazy").requires_grad_(False)
    forward = torch_ltc.freeze(lambda x: model(x).relu(), strict=True)
    wrong = []

    def work(seed):
        x = torch.full((3, 4), float(seed)).to("lazy")
        wanted = model(x).relu().cpu()
        for _ in range(20):
            if not torch.equal(forward(x).cpu(), wanted):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert forward.is_frozen


@torch_ltc.freeze
def at_module_level(x):
    return x * 2


def double(x):
    return x * 2


def test_copies_and_pickles():
    for x in batches(4):
        at_module_level(x)
    assert at_module_level.is_frozen
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert copy.deepcopy(at_module_level) is at_module_level
    wrapped = torch_ltc.freeze(double)
    for other in (pickle.loads(pickle.dumps(wrapped)), copy.deepcopy(wrapped)):
        assert not other.is_frozen
        (x,) = batches(1)
        assert torch.equal(other(x).cpu(), (x * 2).cpu())
