# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LTC_SYNC=1: ops run one by one, and their errors come at their own lines."""

import inspect

import pytest
import torch
import torch_ltc
from torch import nn

LAZY = torch.device("lazy")


@pytest.fixture(autouse=True)
def one_by_one():
    torch.lazy.mark_step()
    with torch_ltc.settings.scope(sync=True):
        yield


def here():
    return inspect.currentframe().f_back.f_lineno


def test_an_error_comes_at_the_ops_own_line():
    rows = torch.arange(12.0).reshape(3, 4).to(LAZY)
    index = torch.tensor([0, 5]).to(LAZY)
    with pytest.raises(torch_ltc.IndexOutOfRangeError) as raised:
        line = here() + 1
        rows.index_select(0, index)
    assert raised.value.line == line
    assert raised.value.file.endswith("test_each_op.py")
    # The next op is untouched.
    assert rows.sum().item() == 66


def test_an_op_in_place_that_fails_leaves_the_tensor_as_it_was():
    rows = torch.zeros(3, 4).to(LAZY)
    index = torch.tensor([7]).to(LAZY)
    with pytest.raises(torch_ltc.IndexOutOfRangeError):
        rows.index_add_(0, index, torch.ones(1, 4).to(LAZY))
    assert torch.equal(rows.cpu(), torch.zeros(3, 4))


def test_each_op_is_a_graph_and_nothing_is_compiled(counts):
    x = torch.ones(5).to(LAZY)
    counts.restart()
    y = x.exp()
    y.add_(1)
    z = y @ y
    assert counts["execute.interpreted"] == counts["record.ops"] == 3
    assert counts["codegen.graphs"] == 0
    assert z.item() == pytest.approx(5 * (torch.e + 1) ** 2)


def train(device, steps=3):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.linspace(-1, 1, 24).reshape(4, 6).to(device)
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def test_training_agrees_with_eager():
    for a, b in zip(train(LAZY), train("cpu"), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def calls():
    x = torch.linspace(-2, 2, 48).reshape(6, 8).to(LAZY)
    image = torch.linspace(-1, 1, 98).reshape(1, 2, 7, 7).to(LAZY)
    kernel = torch.linspace(-1, 1, 54).reshape(3, 2, 3, 3).to(LAZY)
    torch.lazy.manual_seed(5)
    return {
        "product": x @ x.t(),
        "convolution": nn.functional.conv2d(image, kernel),
        "uniform": torch.rand(9, device=LAZY),
        "dropout": nn.functional.dropout(x, 0.5),
        "moved": torch.cat([x, x.flip(1)]).roll(3, 0),
        "compared": x > x.flip(0),
        "sorted": x.sort(1, descending=True).values,
    }


def test_what_the_page_says_has_the_same_bits_has_them():
    alone = {name: value.cpu() for name, value in calls().items()}
    with torch_ltc.settings.scope(sync=False):
        fused = {name: value.cpu() for name, value in calls().items()}
    for name in alone:
        assert torch.equal(alone[name], fused[name]), name


def test_the_ledger_says_each_op():
    torch.ones(3, device=LAZY).neg()
    line = here() - 1
    rows = [each for each in torch_ltc.syncs() if each.place.line == line]
    assert {
        row.cause for row in rows if row.place.file.endswith("test_each_op.py")
    } == {"each_op"}


ROWS = torch.linspace(-2, 2, 48).reshape(6, 8)
WHOLE = torch.arange(48).mul(37).remainder(29).reshape(6, 8)

# Those that the page says differ within rounding.
ROUNDED = {
    "exp": lambda x: x.exp(),
    "gelu": lambda x: nn.functional.gelu(x),
    "fused multiply and add": lambda x: x * 1.1 + x.flip(0) * 0.3,
    "in bfloat16": lambda x: (x.bfloat16() * 3 + 1).tanh(),
    "sum": lambda x: x.sum(1),
    "variance": lambda x: x.var(0),
    "softmax": lambda x: x.softmax(1),
    "layer norm": lambda x: nn.functional.layer_norm(x, (8,)),
    "logsumexp": lambda x: x.logsumexp(0),
}
EXACT = {
    "where": lambda x: torch.where(x > 0, x, x.flip(0)),
    "maximum": lambda x: x.amax(1),
    "index of the maximum": lambda x: x.argmax(1),
    "rows by index": lambda x: x[WHOLE[0].to(x.device) % 6],
    "triangle": lambda x: x.tril().t(),
    "clamp": lambda x: x.clamp(-1, 1).abs().neg(),
    "top": lambda x: x.topk(3, 1).indices,
    "whole numbers": lambda x: (WHOLE.to(x.device) // 3 * 7) ^ 5,
    "counted": lambda x: (x > 0).sum(1),
    "attention": lambda x: nn.functional.scaled_dot_product_attention(
        x.view(1, 2, 3, 8), x.view(1, 2, 3, 8), x.view(1, 2, 3, 8)
    ),
}


@pytest.mark.parametrize("name", [*ROUNDED, *EXACT])
def test_an_op_alone_agrees_with_the_op_in_a_graph(name):
    op = ROUNDED.get(name) or EXACT[name]
    alone = op(ROWS.to(LAZY)).cpu()
    with torch_ltc.settings.scope(sync=False):
        fused = op(ROWS.to(LAZY)).cpu()
    if name in EXACT:
        assert torch.equal(alone, fused)
    else:
        torch.testing.assert_close(alone, fused)
