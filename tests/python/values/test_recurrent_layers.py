# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNNs of every kind and form: a layer is one call and agrees with eager's."""

from functools import partial

import pytest
import torch
from sampling import sampled
from torch import nn

FORMS = {
    "plain": {},
    "batch first, no bias": {"batch_first": True, "bias": False},
    "two layers, both ways": {"num_layers": 2, "bidirectional": True},
    "wide": {"hidden_size": 100, "batch_first": True},
    "float64": {"dtype": torch.float64},
}
KINDS = {
    "LSTM": nn.LSTM,
    "GRU": nn.GRU,
    "RNN": nn.RNN,
    "relu": partial(nn.RNN, nonlinearity="relu"),
}
CASES = {
    f"{kind}, {name}": {"kind": kind, **form}
    for kind in KINDS
    for name, form in FORMS.items()
} | {"LSTM, projected": {"kind": "LSTM", "proj_size": 3}}


def build(device, kind, hidden_size=5, input_size=7, **form):
    torch.manual_seed(0)
    return KINDS[kind](input_size, hidden_size, **form).to(device)


def called(model, *arguments):
    """Return the results of a recurrent model as a list: an LSTM's states are two."""
    output, states = model(*arguments)
    return [output, *(states if isinstance(states, tuple) else [states])]


def inputs(device, *sizes, dtype=torch.float32):
    numbers = torch.Generator().manual_seed(1)
    x = torch.randn(sizes, generator=numbers, dtype=dtype).to(device)
    return x.requires_grad_()


def trained(device, sizes, **form):
    """Return results and gradients that depend on each of the results."""
    model = build(device, **form)
    x = inputs(device, *sizes, 7, dtype=form.get("dtype", torch.float32))
    results = called(model, x)
    output, *states = results
    (output.square().sum() + sum(s.sin().sum() for s in states)).backward()
    gradients = [x.grad, *(p.grad for p in model.parameters())]
    return output.stride(), [t.detach().cpu() for t in (*results, *gradients)]


@pytest.mark.parametrize("case", sampled(CASES, one_in=2, kept=()))
@pytest.mark.parametrize("sizes", [(6, 3), (1, 1), (4, 70), (25, 3), (40, 33)])
def test_results_and_gradients(case, sizes):
    stride, wanted = trained("cpu", sizes, **CASES[case])
    found_stride, found = trained("lazy", sizes, **CASES[case])
    assert found_stride == stride
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_and_missing_numbers(kind):
    x = torch.tensor([0.0, -0.0, 1e-30, 1e4, -1e4, 3e38, float("inf"), float("nan")])
    x = x.repeat(2, 7, 1)[:, :, :7].contiguous()
    x[1] = x[0].roll(1)
    wanted = build("cpu", kind)(x)[0]
    found = build("lazy", kind)(x.to("lazy"))[0].cpu()
    torch.testing.assert_close(found, wanted, equal_nan=True)


@pytest.mark.parametrize("case", CASES)
def test_a_layer_is_one_call_however_many_times(case):
    model = build("lazy", **CASES[case])

    def calls(times):
        sizes = (3, times) if model.batch_first else (times, 3)
        x = inputs("lazy", *sizes, 7, dtype=model.weight_ih_l0.dtype)
        model.zero_grad()
        torch.lazy.synchronize()
        before = torch.lazy.metrics()["execute.kernels"]
        model(x)[0].sum().backward()
        torch.lazy.synchronize()
        return torch.lazy.metrics()["execute.kernels"] - before

    assert calls(40) == calls(20)


@pytest.mark.parametrize("kind", KINDS)
def test_states_can_be_given(kind):
    found = []
    for device in ("cpu", "lazy"):
        states = inputs(device, 2, 1, 3, 5)
        given = tuple(states) if kind == "LSTM" else states[0]
        output, *_ = called(build(device, kind), inputs(device, 6, 3, 7), given)
        output.sum().backward()
        found.append([output.detach().cpu(), states.grad.cpu()])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("apart", [False, True])
def test_one_forward_serves_two_backwards(apart, kind):
    found = []
    for device in ("cpu", "lazy"):
        model, x = build(device, kind, hidden_size=20), inputs(device, 6, 3, 7)
        output, _ = model(x)
        (first,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
        if apart and device == "lazy":
            torch.lazy.synchronize()
        output.square().sum().backward()
        found.append([t.cpu() for t in (first, x.grad, model.weight_hh_l0.grad)])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_evaluation(case, mode):
    found = []
    for device in ("cpu", "lazy"):
        model = build(device, **CASES[case]).eval()
        x = inputs(device, 6, 3, 7, dtype=CASES[case].get("dtype", torch.float32))
        with mode():
            found.append([t.cpu() for t in called(model, x)])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_without_gradients_and_unbatched(kind):
    with torch.inference_mode():
        found = build("lazy", kind)(torch.ones(6, 7, device="lazy"))[0].cpu()
        torch.testing.assert_close(found, build("cpu", kind)(torch.ones(6, 7))[0])


def packed(x, lengths, **form):
    lengths = torch.tensor(lengths)
    return nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False, **form)


def trained_on_packed(device, lengths, total=None, **form):
    """Return what a packed batch gives, and gradients that depend on all of it."""
    model, numbers = build(device, **form), torch.Generator().manual_seed(2)
    batch_first, dtype = model.batch_first, form.get("dtype", torch.float32)
    sizes = (len(lengths), max(lengths) + 1)
    x = inputs(device, *(sizes if batch_first else sizes[::-1]), 7, dtype=dtype)
    ways = model.num_layers * (2 if model.bidirectional else 1)
    widths = [model.proj_size or model.hidden_size, model.hidden_size]
    states = [
        torch.randn(ways, len(lengths), width, generator=numbers, dtype=dtype)
        .to(device)
        .requires_grad_()
        for width in (widths if form["kind"] == "LSTM" else widths[1:])
    ]
    given = tuple(states) if form["kind"] == "LSTM" else states[0]
    output, *last = called(model, packed(x, lengths, batch_first=batch_first), given)
    output, counts = nn.utils.rnn.pad_packed_sequence(
        output, batch_first=batch_first, padding_value=0.5, total_length=total
    )
    assert counts.tolist() == list(lengths) and counts.device.type == "cpu"
    (output.square().sum() + sum(s.sin().sum() for s in last)).backward()
    gradients = [t.grad for t in (x, *states, *model.parameters())]
    return output.stride(), [t.detach().cpu() for t in (output, *last, *gradients)]


@pytest.mark.parametrize("case", sampled(CASES, one_in=2, kept=()))
@pytest.mark.parametrize(
    "lengths",
    [(5, 3, 2), (4, 4), (1,), (2, 7, 7, 1, 3), tuple(range(1, 41)) + (33,) * 5],
    ids=lambda lengths: f"{len(lengths)} of {max(lengths)}",
)
def test_packed_sequences(case, lengths):
    for total in (None, max(lengths) + 3):
        stride, wanted = trained_on_packed("cpu", lengths, total, **CASES[case])
        found_stride, found = trained_on_packed("lazy", lengths, total, **CASES[case])
        assert found_stride == stride
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=5e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_of_other_lengths_compile_nothing(kind, dtype):
    model = build("lazy", kind, num_layers=2, bidirectional=True, dtype=dtype)
    numbers = torch.Generator().manual_seed(3)

    def compiles(step):
        lengths = torch.randint(3, 20, (6,), generator=numbers)
        x = inputs("lazy", int(lengths.max()), 6, 7, dtype=dtype)
        before = torch.lazy.metrics().get("codegen.graphs", 0)
        model.zero_grad()
        output, _ = model(packed(x, lengths.tolist()))
        output, _ = nn.utils.rnn.pad_packed_sequence(output)
        output.square().mean().backward()
        torch.lazy.synchronize()
        return torch.lazy.metrics().get("codegen.graphs", 0) - before

    counts = [compiles(step) for step in range(8)]
    assert counts[2:] == [0] * 6, counts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("both", [False, True])
def test_gradients_of_gradients_of_packed_sequences(both, kind):
    found = []
    for device in ("cpu", "lazy"):
        model = build(device, kind, bidirectional=both)
        x = inputs(device, 5, 3, 7)
        output = model(packed(x, [2, 5, 3]))[0].data
        (g,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
        second = torch.autograd.grad(g.square().sum(), [x, *model.parameters()])
        found.append([t.cpu() for t in second])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_packing_complains_as_eager_does():
    pack, x = nn.utils.rnn.pack_padded_sequence, torch.ones(4, 3, 2)
    for lengths in ([1, 2, 3], [3, 2, 0], [3, 2]):
        said = []
        for device in ("cpu", "lazy"):
            with pytest.raises(RuntimeError) as info:
                pack(x.to(device), torch.tensor(lengths))
            said.append(str(info.value).splitlines()[0])
        assert said[1] == said[0]
    with pytest.raises(ValueError, match="total_length"):
        nn.utils.rnn.pad_packed_sequence(
            pack(x.to("lazy"), torch.tensor([3, 2, 1])), total_length=2
        )


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.bool, torch.bfloat16, torch.complex64]
)
def test_packing_of_any_dtype(dtype):
    x = torch.arange(24).remainder(5).reshape(4, 3, 2).to(dtype)
    found = []
    for device in ("cpu", "lazy"):
        made = packed(x.to(device), [2, 4, 1])
        padded, counts = nn.utils.rnn.pad_packed_sequence(made, padding_value=1)
        found.append([made.data.cpu(), made.batch_sizes, padded.cpu(), counts])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize(
    "case",
    [
        *({"kind": kind} for kind in KINDS),
        *({"kind": kind, "bidirectional": True} for kind in KINDS),
        {"kind": "LSTM", "proj_size": 3, "num_layers": 2},
        {"kind": "GRU", "dtype": torch.float64},
    ],
    ids=lambda case: "-".join(str(value) for value in case.values()),
)
def test_gradients_of_gradients(case):
    found = []
    for device in ("cpu", "lazy"):
        model = build(device, **case)
        x = inputs(device, 4, 2, 7, dtype=model.weight_ih_l0.dtype)
        (g,) = torch.autograd.grad(model(x)[0].square().sum(), x, create_graph=True)
        second = torch.autograd.grad(g.square().sum(), [x, *model.parameters()])
        found.append([t.cpu() for t in second])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def transformed(device, kind, dtype):
    """Return a gradient and a forward derivative by torch.func."""
    model = build(device, kind).to(dtype)
    x = inputs(device, 4, 2, 7).detach().to(dtype)

    def loss(x):
        return model(x)[0].square().sum()

    tangent = torch.func.jvp(loss, (x,), (torch.ones_like(x),))[1]
    return [torch.func.grad(loss)(x).cpu(), tangent.detach().cpu()]


@pytest.mark.parametrize("kind", KINDS)
def test_function_transforms(kind):
    # Eager's own float32 layer has no forward derivative.
    wanted = [t.float() for t in transformed("cpu", kind, torch.float64)]
    found = transformed("lazy", kind, torch.float32)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_between_layers_in_double_precision(kind):
    """Dropped numbers are zeros in both directions of a step: gradients are exact."""
    model = build("lazy", kind, num_layers=2, dropout=0.5, dtype=torch.float64)
    x = inputs("lazy", 3, 2, 7, dtype=torch.float64)

    def loss(x):
        torch.manual_seed(4)
        return model(x)[0].square().sum()

    (g,) = torch.autograd.grad(loss(x), x)
    step = torch.zeros_like(x)
    step[1, 1, 2] = 1e-6
    slope = (loss(x.detach() + step) - loss(x.detach() - step)) / 2e-6
    torch.testing.assert_close(g[1, 1, 2].item(), slope.item(), rtol=1e-6, atol=1e-9)
    assert loss(x).item() != model.eval()(x)[0].square().sum().item()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("over", ["inputs", "weights too"])
def test_gradients_of_a_batch(over, kind):
    found = []
    for device in ("cpu", "lazy"):
        model = build(device, kind, num_layers=2, bidirectional=True)
        weights = {name: p.detach() for name, p in model.named_parameters()}
        dims = None
        if over == "weights too":
            weights = {n: torch.stack([w, w * 2, -w]) for n, w in weights.items()}
            dims = 0

        def loss(weights, x, model=model):
            return torch.func.functional_call(model, weights, (x,))[0].square().sum()

        gradient = torch.func.grad(loss, argnums=(0, 1))
        x = inputs(device, 3, 4, 2, 7).detach()
        if device == "lazy":
            of_weights, of_x = torch.func.vmap(gradient, (dims, 0))(weights, x)
        else:  # where eager cannot batch a GRU over its inputs alone
            each = []
            for i in range(3):
                own = weights if dims is None else {n: w[i] for n, w in weights.items()}
                each.append(gradient(own, x[i]))
            of_weights = {n: torch.stack([w[n] for w, _ in each]) for n in weights}
            of_x = torch.stack([g for _, g in each])
        found.append([t.cpu() for t in (*of_weights.values(), of_x)])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_autocast(kind):
    found = []
    for device in ("cpu", "lazy"):
        # Eager's LSTM is oneDNN's then, and raises on processors without AVX-512.
        casts = (
            device == "lazy"
            or kind != "LSTM"
            or torch.ops.mkldnn._is_mkldnn_bf16_supported()
        )
        with torch.autocast(device, dtype=torch.bfloat16, enabled=casts):
            output, _ = build(device, kind, batch_first=True)(inputs(device, 3, 6, 7))
        found.append((output if casts else output.bfloat16()).detach().cpu())
    assert found[0].dtype == found[1].dtype
    torch.testing.assert_close(found[1], found[0], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_sizes_are_refused(kind):
    # Eager's own layer reads past the weight: the module checks, not the op.
    state = torch.zeros(1, 3, 5, device="lazy")
    weights = [p.detach() for p in build("lazy", kind).parameters()]
    x = torch.zeros(6, 3, 8, device="lazy")  # 7 is what the weight takes
    ops = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN": torch.rnn_tanh}
    op = ops.get(kind, torch.rnn_relu)
    given = [state] * 2 if kind == "LSTM" else state
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        op(x, given, weights, True, 1, 0.0, False, False, False)
