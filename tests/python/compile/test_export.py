# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fake lazy tensors, and what torch.export and make_fx make of lazy modules."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

FAKED = {
    "tensor": lambda d: torch.ones(2, 3, device=d),
    "view": lambda d: torch.ones(4, 3, device=d)[1:, ::2],
    "transposed": lambda d: torch.ones(2, 3, device=d).t(),
    "parameter": lambda d: nn.Parameter(torch.ones(2, device=d)),
    "result": lambda d: nn.Parameter(torch.ones(2, 3, device=d)) * 2,
    "complex": lambda d: torch.ones(2, device=d, dtype=torch.complex64).conj(),
    "integers": lambda d: torch.arange(3, device=d),
}


def described(fake):
    return (
        *(fake.shape, fake.stride(), fake.storage_offset(), fake.dtype),
        *(fake.requires_grad, fake.is_leaf, fake._is_view(), fake.is_conj()),
        isinstance(fake, nn.Parameter),
    )


@pytest.mark.parametrize("make", FAKED.values(), ids=FAKED)
def test_a_fake_tensor_is_like_eagers(make):
    lazy = FakeTensorMode().from_tensor(make("lazy"))
    assert lazy.device == torch.device("lazy", 0)
    assert described(lazy) == described(FakeTensorMode().from_tensor(make("cpu")))


def test_fake_tensors_propagate():
    with FakeTensorMode() as mode:
        x = mode.from_tensor(torch.ones(2, 3, device="lazy"))
        y = torch.nn.functional.softmax(x @ x.t() + torch.zeros(2, device="lazy"), -1)
        assert y.device.type == "lazy" and y.shape == (2, 2)
        with pytest.raises(RuntimeError, match="device"):
            x + mode.from_tensor(torch.ones(2, 3))
        model = nn.Linear(3, 4, device="lazy")
        assert model(x).shape == (2, 4) and model.weight.device.type == "lazy"


def test_a_fake_tensor_says_which_of_the_devices_it_is_on():
    with FakeTensorMode() as mode:
        made = torch.empty(2, device="lazy")
        mask = torch.ones(2, dtype=torch.bool, device="lazy:0")
        assert made.device == torch.device("lazy", 0)
        dropped = torch.ops.aten.native_dropout_backward(made, mask, 2.0)
        assert (made + mask + dropped).device == torch.device("lazy", 0)
        assert mode.from_tensor(torch.ones(2, device="lazy")).device == made.device


def test_faking_runs_nothing(counts):
    x = torch.ones(2, 3, device="lazy") + 1
    FakeTensorMode().from_tensor(x)
    assert counts["execute.launches"] == 0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
        self.last = nn.Linear(8, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return self.last(self.layers(x).flatten(1)) + x.mean()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        y = self.table(x)
        return self.attention(y, y, y)[0][:, 0]


MODULES = {
    "convolutions": (Net, torch.linspace(-1, 1, 32).view(2, 1, 4, 4)),
    "attention": (Recurrent, torch.arange(6).view(2, 3)),
    "linear": (lambda: nn.Linear(3, 2), torch.ones(2, 3)),
}


def pair(name):
    torch.manual_seed(0)
    make, x = MODULES[name]
    eager = make()
    return eager, copy.deepcopy(eager).to("lazy"), x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_an_exported_program_has_eagers_values(name, strict):
    eager, lazy, x = pair(name)
    program = torch.export.export(lazy, (x.to("lazy"),), strict=strict)
    assert all(v.device.type == "lazy" for v in program.state_dict.values())
    made = program.module()
    for _ in range(2):
        found = made(x.to("lazy"))
        assert found.device.type == "lazy"
        torch.testing.assert_close(found.cpu(), eager(x))
    buffers = dict(made.named_buffers())
    assert len(buffers) == len([*eager.buffers()])
    for key, theirs in eager.named_buffers():
        torch.testing.assert_close(buffers[key].cpu(), theirs)


@pytest.mark.filterwarnings("ignore")
def test_an_exported_program_is_saved_and_serves_other_sizes(tmp_path):
    eager, lazy, x = pair("linear")
    sizes = {"input": {0: torch.export.Dim("batch", min=1, max=64)}}
    program = torch.export.export(lazy, (x.to("lazy"),), dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2").module()
    for rows in (2, 5):
        x = torch.linspace(0, 1, rows * 3).view(rows, 3)
        assert loaded.weight.device.type == "lazy"
        torch.testing.assert_close(loaded(x.to("lazy")).cpu(), eager(x))
    lowered = program.run_decompositions().module()
    torch.testing.assert_close(lowered(x.to("lazy")).cpu(), eager(x))


FUNCTIONS = {
    "pointwise": lambda x: (x * 2 + 1).relu().sum(0),
    "view": lambda x: x.t()[1:].reshape(-1) * 3,
    "write": lambda x: x.clone().mul_(2)[0].add_(1),
    "index": lambda x: x[torch.tensor([1, 0], device=x.device)],
    "made": lambda x: x + torch.arange(3, device=x.device),
    "gradient": torch.func.grad(lambda x: (x**2).sum()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_traced_function_has_eagers_values(function, mode):
    x = torch.arange(6.0).view(2, 3)
    traced = make_fx(function, tracing_mode=mode)(x.to("lazy"))
    found = traced(x.to("lazy") + 1)
    assert found.device.type == "lazy"
    assert torch.equal(found.cpu(), function(x + 1))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_programs_have_eagers_values(backend):
    eager, lazy, x = pair("linear")
    compiled = torch.compile(lazy, backend=backend)
    for scale in (1, 2):
        found = compiled(x.to("lazy") * scale)
        assert found.device.type == "lazy"
        torch.testing.assert_close(found.cpu(), eager(x * scale))
        found.square().sum().backward()
        eager(x * scale).square().sum().backward()
    torch.testing.assert_close(lazy.weight.grad.cpu(), eager.weight.grad)


def test_compile_says_that_it_does_nothing():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = torch.compile(lambda x: x * 2 + 1)(torch.ones(3, device="lazy"))
    assert found.tolist() == [3, 3, 3]
    assert any("no code of its own for lazy tensors" in str(w.message) for w in seen)
