# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of hundreds of kernels and library calls."""

import re

import torch
import torch.nn.functional as F
import torch_ltc


def train(device, layers):
    """One step through layers with weights of their own, as one graph.

    In f64: through so many layers f32 would keep few digits.
    """
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(6, 6, generator=generator).double() for _ in range(layers)]
    weights = [(w / 2).to(device).requires_grad_() for w in weights]
    start = torch.randn(3, 6, generator=generator).double().to(device)
    x, sizes = start, []
    for weight in weights:
        x = F.layer_norm(x @ weight, (6,)).tanh() + x
        sizes.append(x.detach().abs().max())
    loss = (x * start).square().mean()
    loss.backward()
    with torch.no_grad():
        for number, weight in enumerate(weights):
            weight -= weight.grad * (0.1 / (number + 1))
    # The first value again: what was made early is read late.
    return [loss, torch.stack(sizes) * start.sum(), *weights]


def test_a_step_of_hundreds_of_calls_gives_eagers_values(counts, tmp_path):
    layers = 120
    found = train("lazy", layers)
    with torch_ltc.settings.scope(dump=str(tmp_path)):
        torch.lazy.mark_step()
    for ours, wanted in zip(found, train("cpu", layers), strict=True):
        torch.testing.assert_close(ours.cpu(), wanted, rtol=1e-9, atol=1e-9)
    assert counts["execute.launches"] == counts["codegen.graphs"] == 1
    assert counts["execute.kernels"] > 3 * 256
    (steps,) = tmp_path.glob("*.codegen.steps")
    done = [line.split()[0] for line in steps.read_text().splitlines()]
    assert done.count("launch") + done.count("call") == counts["execute.kernels"]


def test_what_repeats_in_a_graph_is_compiled_once(tmp_path):
    """However long a chain is, its code is that of a few kernels."""

    def chain(device, turns):
        x, w = torch.ones(64).to(device), torch.ones(8, 64).to(device)
        for i in range(turns):
            x.mul_(0.99).add_(i / turns)
            if i % 2:
                x = F.layer_norm(x, (64,)) + w.mean(0) * 0.01
        return x.cpu()

    def kernels(folder, turns):
        with torch_ltc.settings.scope(dump=str(folder)):
            torch.testing.assert_close(chain("lazy", turns), chain("cpu", turns))
        (steps,) = folder.glob("*.codegen.steps")
        launched = re.findall(r"launch (\w+)", steps.read_text())
        return len(launched), len(set(launched))

    short, long = kernels(tmp_path / "short", 200), kernels(tmp_path / "long", 800)
    assert long[0] > 3 * short[0] > 9
    assert long[1] <= short[1] + 2


def test_a_long_graph_for_all_sizes(counts):
    def chain(device, rows):
        x, weight = torch.ones(rows, 4).to(device), torch.eye(4).to(device) / 2
        for i in range(300):
            x = (x @ weight).tanh() + i / 300
        return x.sum(0).cpu()

    for rows in (5, 9, 14):
        torch.testing.assert_close(chain("lazy", rows), chain("cpu", rows))
    assert counts["codegen.graphs"] == 2 and counts["cache.dynamic_versions"] == 1


def test_an_error_in_a_late_step_names_its_line():
    x, table = torch.ones(2, 2).to("lazy"), torch.ones(4, 2).to("lazy")
    weight = torch.eye(2).to("lazy")
    for _ in range(600):
        x = x @ weight
    rows = torch.tensor([1, 9]).to("lazy")
    picked = F.embedding(rows, table)
    try:
        (x + picked).cpu()
    except torch_ltc.IndexOutOfRangeError as error:
        found = error
    assert found.op == "aten::embedding"
    assert found.function == "test_an_error_in_a_late_step_names_its_line"
