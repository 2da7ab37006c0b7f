# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moving a module to lazy and back keeps the parameters that others hold."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

MOVES = {
    "to": lambda m: m.to("lazy"),
    "to with dtype": lambda m: m.to("lazy", torch.float64),
    "to_empty": lambda m: m.to_empty(device="lazy"),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_parameters_stay_the_same_objects(move):
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    before = list(module.parameters())
    with warnings.catch_warnings(action="error"):
        move(module)
        after = list(module.parameters())
        assert all(a is b for a, b in zip(after, before, strict=True))
        assert {p.device.type for p in after} == {"lazy"}
        assert {b.device.type for b in module.buffers()} == {"lazy"}
        module.cpu()
    assert all(a is b for a, b in zip(module.parameters(), before, strict=True))
    assert {p.device.type for p in before} == {"cpu"}


def test_values_and_gradients_move_along():
    module = nn.Linear(2, 1)
    module.weight.requires_grad_(False)
    module(torch.ones(1, 2)).sum().backward()
    weight, bias = module.weight.detach().clone(), module.bias.grad.clone()
    module.to("lazy")
    assert torch.equal(module.weight.cpu(), weight)
    assert torch.equal(module.bias.grad.cpu(), bias)
    assert module.bias.grad.device.type == "lazy"
    assert not module.weight.requires_grad and module.weight.is_leaf


def test_an_optimizer_built_before_the_move_trains_it():
    module = nn.Linear(3, 1, bias=False)
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    before = module.weight.detach().clone()
    module.to("lazy")
    module(torch.ones(1, 3, device="lazy")).sum().backward()
    optimizer.step()
    torch.testing.assert_close(module.weight.cpu(), before - 1)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight


def test_tied_weights_stay_tied():
    module = Tied().to("lazy")
    assert module.head.weight is module.embed.weight
    module.head(module.embed(torch.tensor([1], device="lazy"))).sum().backward()
    assert module.embed.weight.grad is module.head.weight.grad
    assert len(list(copy.deepcopy(module).parameters())) == 1


def test_hooks_stay():
    module = nn.Linear(2, 1)
    seen = []
    module.weight.register_hook(lambda g: seen.append(g.device.type))
    removed = module.weight.register_hook(lambda g: seen.append("removed"))
    module.weight.register_post_accumulate_grad_hook(
        lambda p: seen.append(p.grad.device.type)
    )
    module.weight.mark = "kept"
    module.to("lazy")
    removed.remove()
    module(torch.ones(1, 2, device="lazy")).sum().backward()
    assert seen == ["lazy", "lazy"]
    assert module.weight.mark == "kept"


NORMS = {
    "weight_norm": nn.utils.weight_norm,
    "parametrized weight_norm": nn.utils.parametrizations.weight_norm,
    "spectral_norm": nn.utils.parametrizations.spectral_norm,
    "orthogonal": nn.utils.parametrizations.orthogonal,
}


@pytest.mark.filterwarnings("ignore:.*weight_norm.*deprecated")
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_parametrized_layers_train(norm):
    def train(device):
        torch.manual_seed(0)
        module = norm(nn.Linear(4, 4))
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        module.to(device)
        for _ in range(3):
            optimizer.zero_grad()
            module(torch.eye(4, device=device)).pow(2).sum().backward()
            optimizer.step()
        return module.weight.detach().cpu()

    torch.testing.assert_close(train("lazy"), train("cpu"), rtol=1e-5, atol=1e-6)


def test_recurrent_layers_keep_their_flat_weights():
    module = nn.LSTM(2, 3)
    before = list(module.parameters())
    module.to("lazy")
    assert all(a is b for a, b in zip(module.parameters(), before, strict=True))
    assert all(a is b for a, b in zip(module._flat_weights, before, strict=True))
    module(torch.ones(4, 1, 2, device="lazy"))[0].sum().backward()
    assert all(p.grad.device.type == "lazy" for p in before)


def test_views_stay_behind():
    module = nn.Linear(2, 1)
    weight, view = module.weight, module.weight.view(-1)
    module.to("lazy")
    assert module.weight is weight and weight.device.type == "lazy"
    assert view.device.type == "cpu"


def test_backward_through_the_move_raises():
    module = nn.Linear(2, 1)
    loss = module(torch.ones(1, 2)).sum()
    module.to("lazy")
    with pytest.raises(RuntimeError, match="on another device when the forward"):
        loss.backward()


def test_a_parameter_that_cannot_be_exchanged_is_said_to_be_new(monkeypatch):
    def fail(a, b):
        raise RuntimeError("it has weak references")

    monkeypatch.setattr(torch._C, "_swap_tensor_impl", fail)
    module = nn.Linear(2, 1, bias=False)
    with pytest.warns(UserWarning, match="Linear.weight becomes a new parameter"):
        module.to("lazy")
    assert module.weight.device.type == "lazy"


def test_data_of_another_device():
    """As scripts move what they train: p.data = p.data.to(device)."""
    module = nn.Linear(3, 1, bias=False)
    weight, before = module.weight, module.weight.detach().clone()
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    weight.register_hook(lambda gradient: gradient * 2)
    weight.grad = torch.ones(1, 3)
    for device in ("lazy", "cpu", "lazy"):
        weight.data = weight.data.to(device)
        weight.grad.data = weight.grad.data.to(device)
        assert module.weight is weight and weight.is_leaf and weight.requires_grad
        assert weight.device.type == weight.grad.device.type == device
        assert torch.equal(weight.detach().cpu(), before)
        assert torch.equal(weight.grad.cpu(), torch.ones(1, 3))
    module(torch.ones(1, 3, device="lazy")).sum().backward()
    optimizer.step()
    torch.testing.assert_close(weight.cpu(), before - 3)


def test_data_of_the_same_device_is_left_to_pytorch():
    for device in ("cpu", "lazy"):
        weight = nn.Parameter(torch.zeros(2, device=device))
        other = torch.ones(3, device=device)
        weight.data = other
        other += 1
        assert weight.tolist() == [2, 2, 2]  # an alias
        with pytest.raises(RuntimeError, match="incompatible tensor type"):
            weight.data = torch.ones(2, device="meta")
        with pytest.raises(TypeError, match="has to be a tensor"):
            weight.data = 3


def test_other_conversions_are_left_alone():
    module = nn.Linear(2, 1)
    weight = module.weight
    assert module.double().weight is weight
    assert weight.dtype == torch.float64
    lazy = module.to("lazy").half().weight
    assert lazy is weight and lazy.dtype == torch.float16
    assert nn.Linear(2, 1).to("meta").weight.device.type == "meta"


def test_meta_modules_get_their_values_on_lazy():
    with torch.device("meta"):
        module = nn.Linear(3, 2)
    module.to_empty(device="lazy")
    module.reset_parameters()
    assert module(torch.ones(1, 3, device="lazy")).isfinite().all()


def test_default_device():
    with torch.device("lazy"):
        assert nn.Linear(2, 2).weight.device.type == "lazy"
    torch.set_default_device("lazy")
    try:
        assert torch.ones(2).device.type == "lazy"
        assert nn.Linear(2, 2)(torch.randn(1, 2)).isfinite().all()
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"


def test_a_parameter_that_holds_tensors_moves_with_them():
    part = torch.arange(2.0).reshape(1, 2)
    module = nn.Linear(2, 1, bias=False)
    module.weight = weight = nn.Parameter(TwoTensor(part, part + 1))
    optimizer = torch.optim.Adam(module.parameters(), lr=1.0)
    module.to("lazy")
    assert module.weight is weight and isinstance(weight, TwoTensor)
    assert {weight.device.type, weight.a.device.type, weight.b.device.type} == {"lazy"}
    module(torch.ones(1, 2, device="lazy")).sum().backward()
    for _ in range(2):
        optimizer.step()
    torch.testing.assert_close(weight.a.cpu(), part - 2)
    torch.testing.assert_close(weight.b.cpu(), part - 1)
