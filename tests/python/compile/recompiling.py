# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs that compile again for a known cause.

Each is run by itself. Its comments say which of its lines the autopsy of its last
compile must name: `now:` in the later graph, `before:` in the earlier one, `both:`.
Sizes are of no other test, so that no graph is in memory already.
"""

import time

import torch
import torch.nn.functional as F
import torch_ltc
from torch_ltc import settings


def ones(*shape, **options):
    return torch.ones(*shape, **options).to("lazy")


def first_use(folder):
    return ones(37, 3).softmax(0).sum().item()  # now:


def batch_size(folder):
    for batch in (38, 39):
        ones(batch, 3).softmax(0).cpu()  # both:


def sequence_length(folder):
    weight = ones(5, 7)
    for length in (40, 41):
        x = ones(2, length, 5)
        hidden = x @ weight  # both:
        hidden.relu().sum(1).cpu()


def last_batch_of_training(folder):
    model = torch.nn.Sequential(torch.nn.Linear(43, 5), torch.nn.Linear(5, 1))
    model.to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in (8, 8, 8, 3):
        x = ones(batch, 43)
        loss = model(x).square().mean()  # both:
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def rank(folder):
    for shape in ((44, 3), (4, 11, 3)):
        x = ones(*shape)
        x.relu().cpu()  # both:


def size_of_a_mask(folder):
    values = torch.arange(47.0).to("lazy")
    for limit in (20, 30):
        chosen = values[values > limit]
        (chosen * 2).exp().cpu()  # both:


def size_of_what_is_created(folder):
    for length in (48, 49):
        positions = torch.arange(length, device="lazy")  # both:
        (positions * 2).cpu()


def size_of_a_slice(folder):
    x = ones(50, 3)
    for length in (20, 30):
        head = x[:length]  # both:
        head.cumsum(0).cpu()


def type_of_an_input(folder):
    for dtype in (torch.float32, torch.float64):
        x = ones(51, 3, dtype=dtype)
        x.softmax(1).cpu()  # both:


def type_that_an_op_makes(folder):
    x = ones(52, 3)
    for dtype in (torch.float16, torch.bfloat16):
        y = x.exp()
        y.to(dtype).cpu()  # both:


def type_of_a_number(folder):
    x = ones(53, 3)
    for factor in (2, 2.5):
        (x.exp() * factor).cpu()  # both:


def dimension(folder):
    x = ones(54, 54)
    for dim in (0, 1):
        y = x.exp()
        y.cumsum(dim).cpu()  # both:


def index(folder):
    x = ones(55, 3)
    for row in range(2):
        x[row].exp().cpu()  # both:


def flag(folder):
    x = ones(56, 3)
    for keepdim in (False, True):
        x.exp().sum(0, keepdim=keepdim).cpu()  # both:


def text(folder):
    x = ones(57, 3)
    for approximate in ("none", "tanh"):
        F.gelu(x + 1, approximate=approximate).cpu()  # both:


def branch(folder):
    x = ones(58, 3)
    for positive in (True, False):
        y = x.exp()
        if positive:
            y = y.relu()  # before:
        if not positive:
            y = y.tanh()  # now:
        y.sum(0).cpu()


def training_and_evaluation(folder):
    model = torch.nn.Sequential(
        torch.nn.Linear(59, 3), torch.nn.Dropout(), torch.nn.ReLU()
    ).to("lazy")
    x = ones(2, 59)
    with torch.no_grad():
        for training in (False, True):
            model.train(training)
            model(x).cpu()  # both:


def more_rounds(folder):
    x = ones(60, 3)
    for rounds in (2, 3):
        y = x
        for _ in range(rounds):
            y = y.exp()  # now:
        y.sum().item()  # before:


def other_operand(folder):
    x, y = ones(61, 3), ones(61, 3)
    for other in (x, y):
        (x.exp() + other).cpu()  # both:


def value_kept(folder):
    x = ones(62, 3)
    kept = []
    for step in range(2):
        y = x.exp()
        z = y.sin()  # both:
        if step:
            kept.append(z)
        del y
        w = z.sum(1)
        del z
        w.cpu()


def value_dropped(folder):
    x = ones(63, 3)
    for step in range(2):
        y = x.exp()  # both:
        z = y.sum(1)
        if step:
            del y
        z.cpu()


def extra_value(folder):
    x = ones(64, 3)
    statistics = []
    for step in range(2):
        y = x.exp()
        if step:
            statistics.append(y.mean())  # now:
        y.sum(1).cpu()  # before:
        del y


def gradient_kept(folder):
    x = ones(65, 3).requires_grad_()
    for enabled in (False, True):
        with torch.set_grad_enabled(enabled):
            y = x.exp()  # both:
            z = y.sum()
            del y
            z.item()


def old_value_held(folder):
    x = ones(66, 3)
    torch.lazy.mark_step()
    held = []
    for step in range(3):
        if step == 2:
            held.append(x.clone())
        x.mul_(2)  # both:
        torch.lazy.mark_step()


def evicted(folder):
    x = ones(67, 3)
    with settings.scope(cache_memory_bytes=1):
        for op in (torch.sin, torch.cos, torch.sin):
            op(x).cpu()  # both:


def twice_with_a_cache_on_disk(folder, rows, spoil):
    """Compile a graph, drop it from memory, spoil its file, want it again."""
    x = ones(rows, 3)
    scope = settings.scope(
        cache="rw", cache_dir=str(folder), cache_memory_bytes=1, log="off"
    )
    with scope:
        for step, op in enumerate((torch.asinh, torch.acosh, torch.asinh)):
            op(x).cpu()  # both:
            if step == 0:
                first = torch_ltc.cache.entries(folder)[0].key
            elif step == 1:
                spoil(folder, first)


def bad_entry(folder):
    def flip(folder, key):
        path = folder / f"{key}.ltc"
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    twice_with_a_cache_on_disk(folder, 68, flip)


def entry_of_another_graph(folder):
    def exchange(folder, key):
        other = next(e.key for e in torch_ltc.cache.entries(folder) if e.key != key)
        (folder / f"{key}.ltc").write_bytes((folder / f"{other}.ltc").read_bytes())

    twice_with_a_cache_on_disk(folder, 69, exchange)


def size_seen_often(folder):
    def versions():
        return torch_ltc.metrics.snapshot().get("cache.own_versions", 0)

    # Its thread gives way to all others: on a busy machine that takes a while.
    before, end = versions(), time.monotonic() + 60
    with settings.scope(static_after=2):
        rows = 75
        while versions() == before and time.monotonic() < end:
            ones(rows, 3).atanh().cpu()  # both:
            rows = 76


#: program: cause, op, what the difference says
PROGRAMS = {
    first_use: ("first_use", "", "nothing like it"),
    batch_size: ("shape", "aten::_softmax", "dim 0 of input 0, .* was 38 and is 39"),
    sequence_length: ("shape", "", "dim 1 of input 0, .* was 40 and is 41"),
    last_batch_of_training: ("shape", "", "dim 0 of input .* was 8 and is 3"),
    rank: ("shape", "aten::relu", r"f32\[44, 3\] and is f32\[4, 11, 3\]"),
    size_of_a_mask: ("shape", "aten::mul.Tensor", "dim 0 .* was 26 and is 16"),
    size_of_what_is_created: ("shape", "aten::arange", "was 48 and is 49"),
    size_of_a_slice: ("shape", "aten::slice_copy.Tensor", "dim 0 .* was 20 and is 30"),
    type_of_an_input: ("dtype", "aten::_softmax", "element type .* f32 and is f64"),
    type_that_an_op_makes: ("dtype", "aten::_to_copy", "'dtype' .* f16 and is bf16"),
    type_of_a_number: ("dtype", "aten::mul.Tensor", "i64 and is .*f64"),
    dimension: ("constant", "aten::cumsum", "'dim' .* was 0 and is 1"),
    index: ("constant", "aten::select_copy.int", "'index' .* was 0 and is 1"),
    flag: ("constant", "aten::sum.dim_IntList", "'keepdim' .* false and is true"),
    text: ("constant", "aten::gelu", '\'approximate\' .* "none" and is "tanh"'),
    branch: ("ops", "aten::tanh", "was aten::relu and is aten::tanh"),
    training_and_evaluation: ("ops", "", "was aten::relu and is "),
    more_rounds: ("ops", "aten::exp", "was aten::sum and is aten::exp"),
    other_operand: ("ops", "aten::add.Tensor", "'other' .* input 0 and is input 1"),
    value_kept: ("outputs", "aten::sin", "is alive at the end, and was not"),
    value_dropped: ("outputs", "aten::exp", "was alive at the end, and is not"),
    extra_value: ("outputs", "aten::mean", "is alive at the end, and was not"),
    gradient_kept: ("outputs", "aten::exp", "is alive at the end, and was not"),
    old_value_held: ("outputs", "aten::mul.Tensor", "old value .* still held"),
    evicted: ("evicted", "", "it was in memory before"),
    bad_entry: ("disk_entry", "", "its entry on disk was of no use"),
    entry_of_another_graph: ("disk_entry", "", "another graph"),
    size_seen_often: ("own_version", "", "seen 2 times"),
}
