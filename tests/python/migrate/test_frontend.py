# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``LTC_FRONTEND=dynamo``: unmodified ``device='lazy'`` code through Dynamo."""

import copy
import gc
import warnings
import weakref

import pytest
import torch
import torch_ltc
from torch import nn


@pytest.fixture(autouse=True)
def by_dynamo():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch_ltc.frontend("dynamo")
    yield
    torch_ltc.frontend("record")
    torch._dynamo.reset()


def line_of(text):
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    (found,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"# {text}")]
    return found


def compiled():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


class Breaking(Net):
    def forward(self, x):
        hidden = self.body(x)
        print("shape", hidden.shape)  # it breaks here
        return self.head(hidden)


def losses(kind, device, steps=4):
    torch.manual_seed(0)
    model = kind().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    found = []
    for _ in range(steps):
        loss = model(torch.randn(6, 4).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return torch.tensor(found)


@pytest.mark.parametrize("kind", [Net, Breaking])
@pytest.mark.filterwarnings("ignore:torch_ltc. recorded here")
def test_training_has_eagers_values(kind):
    wanted = losses(kind, "cpu")
    assert not compiled()
    torch.testing.assert_close(losses(kind, "lazy"), wanted)
    assert compiled() == (1 if kind is Net else 2)


def test_what_is_recorded_is_told_once_a_line(capsys):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        losses(Breaking, "lazy")
    ours = [w for w in told if str(w.message).startswith("torch_ltc: recorded here")]
    assert [w.lineno for w in ours] == [line_of("it breaks here")]
    assert ours[0].filename == __file__


class Recurrent(Net):
    def __init__(self):
        super().__init__()
        self.body = nn.GRU(4, 8)

    def forward(self, x):
        return self.head(self.body(x)[0])


def test_a_function_of_which_dynamo_takes_nothing_is_told():
    model = Recurrent().to("lazy")
    wanted = copy.deepcopy(model).cpu()(torch.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="is recorded: .*RNN, GRU, or LSTM") as told:
        found = model(torch.ones(2, 3, 4, device="lazy"))  # Dynamo takes nothing
    assert [w.lineno for w in told] == [line_of("Dynamo takes nothing")]
    torch.testing.assert_close(found.cpu(), wanted)


def test_mark_step_ends_nothing_with_a_warning_a_line():
    x = torch.ones(3, device="lazy") + 1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            torch.lazy.mark_step()  # the one
        torch._lazy.mark_step()  # the other
    lines = [line_of("the one"), line_of("the other")]
    assert [w.lineno for w in told] == lines
    assert "mark_step() does nothing" in str(told[0].message)
    assert "ones" in torch.lazy.pending_graph()
    with pytest.warns(UserWarning, match="does nothing"):
        torch.lazy.mark_step(wait=True)
    assert "ones" not in torch.lazy.pending_graph()
    assert x.tolist() == [2, 2, 2]


def test_a_graph_that_cannot_be_compiled_is_recorded(monkeypatch):
    def refuse(gm, inputs):
        raise ValueError("of this kind there is none\nsecond line")

    monkeypatch.setattr(torch._dynamo, "lookup_backend", lambda name: refuse)
    model, x = nn.Linear(2, 2).to("lazy"), torch.ones(2, device="lazy")
    wanted = nn.functional.linear(x.cpu(), model.weight.cpu(), model.bias.cpu())
    with pytest.warns(UserWarning, match="recorded, not compiled: .*there is none$"):
        found = model(x)
    torch.testing.assert_close(found.cpu(), wanted)


def test_modules_elsewhere_and_inner_ones_are_left():
    plain, model = nn.Linear(4, 2), Net().to("lazy")
    plain(torch.ones(4))
    model(torch.ones(2, 4, device="lazy"))
    assert not plain.__dict__.get("_compiled_call_impl")
    assert model.__dict__.get("_compiled_call_impl")
    assert not model.head.__dict__.get("_compiled_call_impl")
    twin = copy.deepcopy(model)
    assert twin._compiled_call_impl is not model._compiled_call_impl
    gone = weakref.ref(model)
    del model
    torch._dynamo.reset()
    gc.collect()
    assert gone() is None


def test_the_way_back():
    model, before = Net().to("lazy"), torch._dynamo.config.suppress_errors
    model(torch.ones(2, 4, device="lazy"))
    assert torch._dynamo.config.suppress_errors
    torch_ltc.settings.frontend = "record"
    assert nn.Module._compiled_call_impl is None
    assert model._compiled_call_impl is None
    assert torch._dynamo.config.suppress_errors == before
    with pytest.raises(torch_ltc.Error, match="use record or dynamo"):
        torch_ltc.frontend("jax")
    with torch_ltc.settings.scope(frontend="dynamo"):
        assert nn.Module._compiled_call_impl is None  # asked of the class
        assert model._compiled_call_impl
    assert model._compiled_call_impl is None
