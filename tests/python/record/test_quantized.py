# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized tensors of a lazy device: eager's values, by counted calls on the host."""

import copy

import pytest
import torch
import torch_ltc
from comparing import on_cpu, printed, saved
from torch import nn
from torch.ao import quantization
from torch.ao.nn import quantized
from torch.ao.quantization import quantize_fx
from torch.nn import functional

pytestmark = pytest.mark.filterwarnings("ignore")  # to be moved to torchao

X = torch.linspace(-2, 2, 12).view(3, 4)
SCALES, ZEROS = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 1, 2])
IMAGE = torch.arange(16.0).view(1, 1, 4, 4)


def per_tensor(device, x=X):
    return torch.quantize_per_tensor(x.to(device), 0.1, 10, torch.quint8)


def per_channel(device, x=X):
    scales, zeros = SCALES.to(device), ZEROS.to(device)
    return torch.quantize_per_channel(x.to(device), scales, zeros, 0, torch.qint8)


MAKE = {
    "per tensor": per_tensor,
    "per channel": per_channel,
    "moved": lambda device: per_tensor("cpu").to(device),
    "moved per channel": lambda device: per_channel("cpu").to(device),
}


def same(run):
    lazy, eager = run("lazy"), run("cpu")
    for x in lazy if isinstance(lazy, (list, tuple)) else [lazy]:
        assert not isinstance(x, torch.Tensor) or x.device.type == "lazy"
    torch.testing.assert_close(on_cpu(lazy), on_cpu(eager))


ANY = {
    "make": lambda q: q,
    "dequantize": lambda q: q.dequantize() * 2,
    "int_repr": lambda q: q.int_repr() + 1,
    "clone": lambda q: q.clone(),
    "slice": lambda q: q[:, 1:3],
    "detach": lambda q: q.detach(),
    "questions": lambda q: [q.numel(), q.dim(), q.is_quantized, torch.equal(q, q)],
    "saved": saved,
    "deepcopy": copy.deepcopy,
    "printed": lambda q: printed(q) == printed(q.cpu()),
}
PER_TENSOR = {
    "scale": lambda q: [q.q_scale(), q.q_zero_point()],
    "view": lambda q: q.view(4, 3),
    "t": lambda q: q.t(),
    "row": lambda q: q[1],
    "relu": torch.relu,
    "cat": lambda q: torch.cat([q, q]),
    "empty_like": lambda q: torch.empty_like(q).fill_(0.5),
    "fill_": lambda q: q.clone().fill_(0.5),
    "copy_": lambda q: q.clone().copy_(q.dequantize() / 2),
    "max_pool2d": lambda q: functional.max_pool2d(per_tensor(q.device, IMAGE), 2),
    "avg_pool2d": lambda q: functional.adaptive_avg_pool2d(
        per_tensor(q.device, IMAGE), 2
    ),
    "tensors for numbers": lambda q: torch.quantize_per_tensor(
        q.dequantize(), SCALES[0].to(q.device), ZEROS[1].to(q.device), torch.quint8
    ),
    "lists": lambda q: torch.quantize_per_tensor(
        [q.dequantize(), q.dequantize() * 2],
        SCALES[:2].to(q.device),
        ZEROS[:2].to(q.device),
        torch.quint8,
    ),
    "dynamic": lambda q: torch.quantize_per_tensor_dynamic(
        q.dequantize(), torch.quint8, False
    ),
    "of integers": lambda q: torch._make_per_tensor_quantized_tensor(
        q.int_repr(), 0.1, 2
    ),
}


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("op", ANY)
def test_ops(op, make):
    same(lambda device: ANY[op](MAKE[make](device)))


@pytest.mark.parametrize("op", PER_TENSOR)
def test_ops_of_one_scale(op):
    same(lambda device: PER_TENSOR[op](per_tensor(device)))


def test_scales_of_channels():
    def run(device):
        q = per_channel(device)
        scales, zeros = q.q_per_channel_scales(), q.q_per_channel_zero_points()
        return [scales, zeros, q.q_per_channel_axis()]

    same(run)


def test_views_show_writes():
    def run(device):
        q = per_tensor(device)
        first, last = q[0], q[-1]
        q[1] = first
        last.fill_(0.5)
        return [q, last]

    same(run)


def test_functional_modules():
    def run(device):
        module = quantized.QFunctional()
        module.scale, module.zero_point = 0.2, 5
        q = per_tensor(device)
        return [
            module.add(q, q),
            module.mul(q, q),
            module.cat([q, q]),
            module.add_relu(q, q),
            module.add_scalar(q, 2.0),
            module.mul_scalar(q, 0.5),
            quantized.FloatFunctional().add(X.to(device), X.to(device)),
        ]

    same(run)


LAYERS = {
    "Linear": (lambda: quantized.Linear(4, 5), (5, 4), X),
    "Conv2d": (lambda: quantized.Conv2d(1, 3, 3), (3, 1, 3, 3), IMAGE / 8),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("weights_on", ["cpu", "lazy"])
def test_layers(layer, weights_on):
    make, shape, x = LAYERS[layer]

    def run(device):
        torch.manual_seed(0)
        weight, bias = torch.randn(shape), torch.randn(shape[0])
        weight = torch.quantize_per_tensor(weight, 0.05, 0, torch.qint8)
        place = weights_on if device == "lazy" else device
        module = make()
        module.set_weight_bias(weight.to(place), bias.to(place))
        module.scale, module.zero_point = 0.1, 20
        return module.to(device)(per_tensor(device, x))

    same(run)


class Net(nn.Module):
    """A small network between the two that quantize and dequantize."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.begin, self.end = quantization.QuantStub(), quantization.DeQuantStub()

    def forward(self, x):
        return self.end(self.layers(self.begin(x)))


def mlp():
    net = Net(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    return net, torch.randn(5, 4), [["layers.0", "layers.1"]]


def cnn():
    head = [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)]
    net = Net(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), *head)
    return net, torch.randn(5, 1, 6, 6), [["layers.0", "layers.1", "layers.2"]]


@pytest.mark.parametrize("calibrated_on", ["cpu", "lazy"])
@pytest.mark.parametrize("make", [mlp, cnn])
def test_static_quantization(make, calibrated_on, counts):
    def run(device):
        torch.manual_seed(0)
        net, x, fused = make()
        net = quantization.fuse_modules(net.eval(), fused)
        net.qconfig = quantization.get_default_qconfig("x86")
        quantization.prepare(net, inplace=True)
        place = calibrated_on if device == "lazy" else device
        net.to(place)(x.to(place))
        quantization.convert(net.to("cpu"), inplace=True)
        net.to(device)
        net.load_state_dict(saved(net.state_dict()))
        return net(x.to(device))

    same(run)
    assert counts["record.fallback.quantized::linear"] == 1
    assert counts["record.fallback.quantized::linear_relu"] == (make is mlp)
    assert counts["record.fallback.quantized::conv2d_relu.new"] == (make is cnn)


def test_graph_mode_quantization():
    def run(device):
        torch.manual_seed(0)
        head = nn.Flatten(), nn.Linear(64, 3)
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), *head).eval()
        x = torch.randn(2, 1, 6, 6)
        mapping = quantization.get_default_qconfig_mapping()
        prepared = quantize_fx.prepare_fx(net, mapping, (x,))
        prepared(x)
        return quantize_fx.convert_fx(prepared).to(device)(x.to(device))

    same(run)


@pytest.mark.parametrize("layer", [nn.Linear, nn.LSTM])
def test_dynamic_quantization(layer):
    def run(device):
        torch.manual_seed(0)
        net = nn.Sequential(layer(4, 5))
        net = quantization.quantize_dynamic(net, {layer}).to(device)
        result = net(X[None].to(device))
        return result if layer is nn.Linear else result[0]

    same(run)


def test_inference_mode():
    @torch.inference_mode()
    def run(device):
        return torch.relu(per_tensor(device)).dequantize().cpu()

    assert torch.equal(run("lazy"), run("cpu"))


def test_graphs_are_not_split_where_that_is_forbidden():
    q = per_tensor("lazy")
    with torch_ltc.settings.scope(fallback="error"):
        assert q.q_scale() == pytest.approx(0.1) and q.t().shape == (4, 3)
        with pytest.raises(torch_ltc.UnsupportedOpError) as raised:
            torch.ops.quantized.add(q, q, 0.1, 10)
    message = str(raised.value)
    assert "quantized::add" in message and "QUInt8" in message
    assert "LTC_FALLBACK=error" in message and "test_quantized.py" in message


def test_a_quantized_tensor_of_the_cpu_is_elsewhere():
    with pytest.raises(RuntimeError, match="lazy:0 and cpu"):
        torch.ops.quantized.add(per_tensor("lazy"), per_tensor("cpu"), 0.1, 10)


FIRST = {
    "moved": "x.to('lazy')",
    "in inference": "torch.inference_mode()(x.to)('lazy')",
    "buffer": "with_buffer(x).to('lazy').buffer",
    "file": "loaded(x)",
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_tensor_of_a_process(run_python, name):
    run_python(f"""
import io, warnings
import torch
warnings.simplefilter("ignore")

def with_buffer(x):
    module = torch.nn.Linear(2, 2)
    module.register_buffer("buffer", x)
    return module

def loaded(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, map_location="lazy")

x = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
y = {FIRST[name]}
assert y.device.type == "lazy" and y.is_quantized
assert torch.equal(y.dequantize().cpu(), x.dequantize())
""")
