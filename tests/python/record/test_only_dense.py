# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested tensors are refused by name; jagged ones and fake quantization work."""

import pytest
import torch
import torch_ltc

CPU = torch.arange(6.0).view(2, 3)

OURS = {
    "nested": lambda x: torch.nested.nested_tensor([x, x[:1]]),
    "nested to": lambda x: torch.nested.nested_tensor([CPU, CPU[:1]]).to(x.device),
    "nested of": lambda x: torch.nested.as_nested_tensor([x, x[:1]]),
    "nested of rows": lambda x: torch.nested.as_nested_tensor(x[None]),
    "nested of CPU's": lambda x: torch.nested.as_nested_tensor(
        [CPU, CPU[:1]], torch.float64, x.device
    ),
    "nested like": lambda x: torch.zeros_like(
        torch.nested.nested_tensor([CPU, CPU[:1]]), device=x.device
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OURS)
def test_refused_with_what_to_do(name):
    x = CPU.to("lazy")
    with pytest.raises(torch_ltc.UnsupportedOpError) as raised:
        OURS[name](x)
    message = str(raised.value)
    assert "tensors on a lazy device" in message and "aten::" in message
    assert "test_only_dense.py" in message
    assert torch.equal((x + 1).cpu(), CPU + 1)


FIRST = {
    "nested": ("torch.nested.nested_tensor([torch.ones(2)])", "x.to('lazy')"),
    "nested list": ("[torch.ones(2)]", "torch.nested.nested_tensor(x, device='lazy')"),
    "nested of": ("[torch.ones(2)]", "torch.nested.as_nested_tensor(x, device='lazy')"),
}


@pytest.mark.parametrize("name", FIRST)
def test_refused_as_the_first_tensor_of_a_process(run_python, name):
    made, moved = FIRST[name]
    run_python(f"""
import warnings
import torch, torch_ltc
warnings.simplefilter("ignore")

x = {made}
try:
    print({moved})
except torch_ltc.UnsupportedOpError as error:
    assert " tensors on a lazy device" in str(error), error
    assert "aten::" in str(error) and "program.py" in str(error), error
else:
    raise SystemExit("not refused")
assert torch.ones(2, device="lazy").tolist() == [1.0, 1.0]
""")


BESIDE = {
    "linear": lambda x: torch.nn.functional.linear(
        torch.nested.nested_tensor([CPU, CPU[:1]]), x
    ),
    "matmul": lambda x: x @ torch.nested.nested_tensor([CPU, CPU[:1]]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BESIDE)
def test_refused_beside_a_lazy_tensor(name):
    with pytest.raises(torch_ltc.UnsupportedOpError) as raised:
        BESIDE[name](CPU.to("lazy"))
    assert "found was one on cpu beside one on lazy:0" in str(raised.value)
    assert "aten::" in str(raised.value)


@pytest.mark.filterwarnings("ignore")
def test_products_of_nested_tensors_on_the_cpu():
    nested = torch.nested.nested_tensor([CPU, CPU[:1]])
    weight = CPU.clone().requires_grad_()
    torch.nn.functional.linear(nested, weight).to_padded_tensor(0.0).sum().backward()
    assert weight.grad.tolist() == [[3.0, 6.0, 9.0]] * 2


ODD_COPIES = {
    "nested": (lambda: torch.nested.nested_tensor([CPU, CPU[:1]]), "copy_ of a nested"),
    "mkldnn": (CPU.to_mkldnn, "copy_ of a mkldnn"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ODD_COPIES)
def test_copies_to_dense_tensors_are_refused(name):
    """Eager's process ends of the second."""
    make, words = ODD_COPIES[name]
    with pytest.raises(RuntimeError, match=words):
        CPU.to("lazy").copy_(make())
    with pytest.raises(RuntimeError, match=r"(two devices|doesn't support sizes)"):
        make().add_(CPU.to("lazy"))


# PyTorch's own words, for what it has for some devices alone.
PYTORCHS = {
    "to_mkldnn": (lambda x: x.to_mkldnn(), "Mkldnn"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PYTORCHS)
def test_refused_by_pytorch(name):
    x = CPU.to("lazy")
    make, words = PYTORCHS[name]
    with pytest.raises(NotImplementedError, match=words):
        make(x)
    assert torch.equal((x + 1).cpu(), CPU + 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("moved", [False, True])
def test_jagged_tensors_are_made_and_moved(moved):
    x = CPU.to("cpu" if moved else "lazy")
    nested = torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged)
    nested = nested.to("lazy") if moved else nested
    assert nested.device.type == "lazy"
    doubled = (nested * 2).unbind()
    assert [part.tolist() for part in doubled] == [(CPU * 2).tolist(), [[0, 2, 4]]]


@pytest.mark.filterwarnings("ignore")
def test_layers_take_jagged_tensors():
    def run(device):
        torch.manual_seed(0)
        layers = torch.nn.Sequential(
            torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.LayerNorm(8)
        ).to(device)
        x = CPU.to(device)
        nested = torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged)
        out = layers(nested) @ torch.ones(8, 2, device=device)
        padded = torch.nested.to_padded_tensor(out, -1.0)
        padded.square().sum().backward()
        return padded.detach().cpu(), [p.grad.cpu() for p in layers.parameters()]

    torch.testing.assert_close(run("lazy"), run("cpu"))


def test_fake_quantization_stays_in_the_graph(counts):
    def run(x):
        scale = torch.tensor([0.1, 0.2], device=x.device)
        zero = torch.zeros(2, dtype=torch.int32, device=x.device)
        x = x.clone().requires_grad_()
        y = torch.fake_quantize_per_tensor_affine(x, 0.3, 1, -8, 7)
        y = y + torch.fake_quantize_per_channel_affine(x, scale, zero, 0, -8, 7)
        y.square().sum().backward()
        return y.detach().cpu(), x.grad.cpu()

    for a, b in zip(run(CPU.to("lazy")), run(CPU), strict=True):
        torch.testing.assert_close(a, b)
    assert counts.fallbacks() == []


@pytest.mark.filterwarnings("ignore")
def test_quantization_aware_training():
    ao = torch.ao.quantization

    def run(device):
        torch.manual_seed(0)
        conv, norm = torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4)
        layers = [conv, norm, torch.nn.ReLU(), torch.nn.Flatten()]
        model = torch.nn.Sequential(*layers, torch.nn.Linear(16, 2))
        ao.fuse_modules_qat(model, ["0", "1", "2"], inplace=True)
        model.qconfig = ao.get_default_qat_qconfig("x86")
        ao.prepare_qat(model, inplace=True)
        model.to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            model(torch.randn(4, 1, 4, 4).to(device)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        state = [v for v in model.state_dict().values() if isinstance(v, torch.Tensor)]
        return [v.cpu() for v in state]

    torch.testing.assert_close(run("lazy"), run("cpu"), rtol=1e-4, atol=1e-5)


def test_writes_by_a_mask_stay_in_the_graph(counts):
    def run(device):
        x = CPU.to(device).clone()
        rows = torch.tensor([True, False], device=device)
        x[x > 2] = -1
        x[rows] = 7
        x.index_put_((x < 0,), torch.tensor(3.0, device=device))
        x[rows, 1:] = torch.tensor([5.0, 6.0], device=device)
        x.masked_fill_(x == 7, 0)
        return x

    lazy = run("lazy")
    assert counts.fallbacks() == []
    assert torch.equal(lazy.cpu(), run("cpu"))


def test_eight_dimensions():
    def run(device):
        x = torch.arange(256.0, device=device).view([2] * 8)
        y = x.permute(7, 0, 6, 1, 5, 2, 4, 3) / 256 + torch.ones(2, 1, 2, device=device)
        z = y.softmax(3).sum((1, 5)).transpose(0, 3).flip(2)
        return z, y[..., 1:].cumsum(4), y.amax((0, 7)), torch.cat([y, y], 6).mean()

    for a, b in zip(run("lazy"), run("cpu"), strict=True):
        torch.testing.assert_close(a.cpu(), b)
