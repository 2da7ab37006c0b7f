# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that vary: a graph is compiled for its first size, then once for all.

Whatever was compiled, and for which sizes, the values are eager's.
"""

import copy

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
import train_text
from torch import nn
from torch_ltc import settings


def both(function, *inputs):
    """Run it on eager's device and on ours, and compare all that it returns."""
    wanted = function("cpu", *inputs)
    found = function("lazy", *inputs)
    torch.testing.assert_close(
        [value.cpu() for value in found], list(wanted), rtol=2e-4, atol=2e-5
    )


def compiles(run, sizes):
    """Run each size; return the compiles of the first one, and of all others."""
    counted = []
    for size in sizes:
        with torch_ltc.metrics.measure() as counts:
            run(size)
        counted.append(counts["codegen.graphs"])
    return counted[0], sum(counted[1:])


class Training:
    """The same steps on two devices, from the same weights."""

    def __init__(self, model, loss):
        self.loss = loss
        self.models, self.optimizers = {}, {}
        for device in "cpu", "lazy":
            torch.manual_seed(0)
            self.models[device] = model().to(device)
            self.optimizers[device] = torch.optim.AdamW(
                self.models[device].parameters(), lr=1e-3
            )

    def step(self, device, *batch):
        loss = self.loss(self.models[device], *(part.to(device) for part in batch))
        self.optimizers[device].zero_grad()
        loss.backward()
        self.optimizers[device].step()
        return [loss.detach()]


def mlp():
    return nn.Sequential(
        nn.Linear(20, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 5)
    )


def test_an_mlp_trains_on_eight_batch_sizes():
    training = Training(mlp, lambda model, x, y: F.cross_entropy(model(x), y))

    def step(size):
        both(training.step, torch.randn(size, 20), torch.randint(5, (size,)))

    step(64)  # makes the optimizer's state
    first, others = compiles(step, (32, 48, 7, 64, 33, 96, 17, 2))
    assert others <= max(first, 1)
    # All have been seen.
    assert compiles(step, (33, 7)) == (0, 0)


def test_an_encoder_of_thirty_lengths():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    eager = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    models = {"cpu": eager, "lazy": copy.deepcopy(eager).to("lazy")}

    def encode(device, x):
        with torch.no_grad():
            return [models[device](x.to(device))]

    first, others = compiles(
        lambda length: both(encode, torch.randn(3, length, 32)), range(10, 70, 2)
    )
    assert others <= first


def test_a_gpt_trains_on_lengths_and_batches_that_vary():
    shape = train_text.Shape(31, 40, width=32, heads=4, layers=2, dropout=0.0)
    training = Training(lambda: train_text.Gpt(shape), train_text.loss_of)

    def step(size):
        tokens = torch.randint(31, (size[0], size[1] + 1))
        both(training.step, tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())

    step((4, 40))
    lengths = [(4, length) for length in (24, 31, 17, 40, 9, 38)]
    first, others = compiles(step, lengths)
    assert others <= max(first, 1)
    # A batch of another size: one more version for both.
    first, others = compiles(step, [(6, 24), (3, 31), (5, 13)])
    assert first <= 1
    assert others == 0


def products(device, x, y):
    x, y = x.to(device), y.to(device)
    return [(x @ y).relu().sum(1), x * 2 + 1, y.t().softmax(0)]


def test_dimensions_that_were_equal_by_chance():
    for rows, inner, columns in [(8, 8, 8), (9, 9, 9), (5, 8, 7), (8, 3, 8), (4, 4, 6)]:
        both(products, torch.randn(rows, inner), torch.randn(inner, columns))


def test_sizes_of_zero_and_one_are_their_own_graphs():
    def add(device, x, y):
        return [x.to(device) + y.to(device), x.to(device).sum(0)]

    for rows in 5, 6, 1, 0, 7, 1, 2:
        both(add, torch.randn(rows, 4), torch.randn(rows, 4))
        both(add, torch.randn(rows, 4), torch.randn(1, 4))


def test_products_and_offsets_of_dimensions():
    def views(device, x):
        x = x.to(device)
        batch, length, width = x.shape
        flat = x.reshape(batch * length, width)
        heads = x.view(batch, length, 2, width // 2).transpose(1, 2)
        scores = heads @ heads.transpose(-1, -2)
        return [
            flat.mean(0),
            scores.softmax(-1),
            x[:, :-1] - x[:, 1:],
            torch.cat([x, x[:, :2]], 1).sum(-1),
            F.pad(x, (0, 0, 1, 2)),
        ]

    for batch, length in [(2, 6), (3, 10), (2, 9), (5, 6), (4, 4), (7, 3)]:
        both(views, torch.randn(batch, length, 8))


def test_a_size_that_is_also_a_number():
    def scaled(device, x):
        x = x.to(device)
        n = x.shape[0]
        return [x / n, x.sum(0) * n + n, torch.full_like(x, n) + n**0.5]

    for rows in 4, 6, 9, 3:
        both(scaled, torch.randn(rows, 5))

    # The size stays, and the number does not: this is another graph's value.
    def other(device, x, n):
        return [x.to(device) * n]

    for n in 4, 6, 9:
        both(other, torch.randn(4, 5), n)


def test_slices_with_starts_that_vary():
    x = torch.randn(40, 3)

    def window(device, start, length):
        return [x.to(device)[start : start + length] * 2, x.to(device)[start]]

    for start, length in [(2, 8), (5, 8), (11, 8), (3, 20), (7, 9), (0, 8), (1, 4)]:
        both(window, start, length)


@pytest.mark.parametrize(
    "part",
    [
        lambda data, i: data[i : i + 4].cos(),
        lambda data, i: data[i].cos(),
        lambda data, i: data[:, i + 1].cos(),
        lambda data, i: data.index_put((torch.tensor(0),), data[0] * 2)[i],
    ],
)
def test_positions_from_zero_on_compile_twice(part):
    data = torch.arange(70.0).view(10, 7)
    on_lazy = data.to("lazy")
    torch.lazy.synchronize()

    def run(i):
        found = (part(on_lazy, i) * 2).cpu()
        torch.testing.assert_close(found, part(data, i) * 2)

    assert compiles(run, range(6)) == (1, 1)


def test_written_positions_from_zero_on_compile_twice():
    data = {device: torch.zeros(8, 3).to(device) for device in ("cpu", "lazy")}

    def run(i):
        for device, rows in data.items():
            rows[i] = i + 1.0
            rows[:, 1:2] += 1
            assert rows.device.type == device
        torch.lazy.synchronize()

    assert compiles(run, range(8)) == (1, 1)
    torch.testing.assert_close(data["lazy"].cpu(), data["cpu"])


def test_a_cache_that_grows_by_one_each_step():
    torch.manual_seed(0)
    steps = torch.randn(14, 2, 1, 8)
    caches = {"cpu": [], "lazy": []}

    def attend(device, x):
        x, cache = x.to(device), caches[device]
        joined = torch.cat([cache[-1], x], 1) if cache else x
        cache.append(joined)
        weights = (x @ joined.transpose(1, 2) / joined.shape[1]).softmax(-1)
        return [weights @ joined]

    counted = []
    for x in steps:
        with torch_ltc.metrics.measure() as counts:
            both(attend, x)
        counted.append(counts["codegen.graphs"])
    # Empty, of one, of two and of more; and the one for all that are longer.
    assert sum(counted[5:]) == 0, counted


def test_the_marks(counts):
    def double(x):
        return (x * 2 + 1).sum(1).cpu()

    for rows in 8, 9, 50:
        x = torch.randn(rows, 6).to("lazy")
        torch_ltc.mark_dynamic(x, 0)
        torch.testing.assert_close(double(x), double(x.cpu()))
    assert counts["codegen.graphs"] == 1
    counts.restart()
    for rows, width in [(8, 16), (9, 16), (50, 16), (4, 17), (5, 17), (6, 17)]:
        x = torch.randn(rows, width, 2).to("lazy")
        torch_ltc.mark_static(x, [1, -1])
        torch.testing.assert_close(double(x), double(x.cpu()))
    assert counts["codegen.graphs"] == 4


def test_marks_of_what_cannot_be_marked():
    with pytest.raises(torch_ltc.errors.InvalidArgumentError, match="on cpu"):
        torch_ltc.mark_dynamic(torch.ones(3), 0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch_ltc.mark_static(torch.ones(3, device="lazy"), 1)
    for dims in None, 0.5, "0", True, 2**70, [0, None]:
        with pytest.raises(TypeError, match="is no dimension, nor a list"):
            torch_ltc.mark_dynamic(torch.ones(3, device="lazy"), dims)
    with pytest.raises(TypeError, match="cannot mark a list"):
        torch_ltc.mark_static([1, 2], 0)


def test_turned_off_each_size_is_compiled(counts):
    with settings.scope(dynamic="off"):
        for rows in 3, 4, 5:
            (torch.randn(rows, 2).to("lazy") * 2).cpu()
    assert counts["codegen.graphs"] == 3
    assert counts["cache.dynamic_versions"] == 0


VALUES = {
    "factor": lambda x, i: x * (0.3 + i),
    "int": lambda x, i: x + i,
    "int from the left": lambda x, i: i - x,
    "power of two": lambda x, i: (x > i * 0.1) * x,
    "clamp": lambda x, i: x.clamp(-0.1 * i, 0.2 * i + 0.5),
    "mask": lambda x, i: x.masked_fill(x > 0, i),
    "where": lambda x, i: torch.where(x > 0, x, i + 0.5),
    "fill": lambda x, i: torch.full((2, 3), i + 0.25, device=x.device) + x[0, 0],
    "tensor": lambda x, i: x + torch.tensor(i + 0.5, device=x.device),
    "in place": lambda x, i: x.clone().add_(i).mul_(i + 2),
    "alpha": lambda x, i: torch.add(x, x, alpha=i + 2),
    "lerp": lambda x, i: torch.lerp(x, x + 1, 0.1 * i),
    "dropout": lambda x, i: F.dropout(x, 0.1 + 0.1 * i) * 0 + x,
    "slope": lambda x, i: F.leaky_relu(x, 0.01 + i),
    "norm": lambda x, i: F.layer_norm(x, (8,), eps=1e-5 + i),
    "smoothing": lambda x, i: F.cross_entropy(
        x, x.argmax(1), label_smoothing=0.1 + 0.1 * i
    ),
    "clipping": lambda x, i: x * (i + 0.5) / (x.norm() + 1e-6),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_never_recompile(name):
    x = torch.randn(6, 8)
    lazy = x.to("lazy")
    counted = []
    for i in range(1, 5):
        with torch_ltc.metrics.measure() as counts:
            found = VALUES[name](lazy, i).cpu()
        counted.append(counts["codegen.graphs"])
        torch.testing.assert_close(found, VALUES[name](x, i))
    assert counted[1:] == [0, 0, 0]


def test_learning_rates_and_steps_never_recompile():
    model = mlp().to("lazy")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    counted = []
    for _ in range(6):
        with torch_ltc.metrics.measure() as counts:
            loss = model(torch.ones(8, 20, device="lazy")).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            torch.lazy.synchronize()
        counted.append(counts["codegen.graphs"])
    assert counted[2:] == [0, 0, 0, 0]


PROCESS = """
import torch, torch_ltc
for rows in {sizes}:
    x = torch.arange(rows * 4.0).reshape(rows, 4)
    assert torch.equal((x.to("lazy") * 2 + 1).cumsum(0).cpu(), (x * 2 + 1).cumsum(0))
print("compiled", torch_ltc.metrics.snapshot()["codegen.graphs"])
"""


def test_another_process_finds_the_program_for_all_sizes(run_python, tmp_path):
    environment = {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(tmp_path / "cache")}

    def run(*sizes):
        return run_python(PROCESS.format(sizes=sizes), **environment).stdout

    assert run(5, 8, 13) == "compiled 2\n"
    assert run(70, 8, 5, 33) == "compiled 0\n"


def test_sizes_that_a_program_serves_are_no_compiles(counts):
    from torch._lazy import metrics

    metrics.reset()
    for rows in (3, 5, 7, 9, 11):
        torch.ones(rows, 6).to("lazy").sinh().atan().cumsum(0).cpu()
    compiles = metrics.counter_value("UncachedCompile")
    assert compiles == counts["codegen.graphs"] <= 2
    assert metrics.counter_value("CachedCompile") == 5 - compiles
