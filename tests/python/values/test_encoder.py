# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fast path of torch.nn's transformer layers is taken as on the CPU."""

import copy

import pytest
import torch
from torch import nn

LENGTHS = 12 - 2 * torch.arange(4)[:, None]
PADDING = {
    "none": None,
    "right": torch.arange(12) >= LENGTHS,
    "left": torch.arange(12) < 12 - LENGTHS,
    "a whole row": torch.arange(12) >= torch.tensor([12, 0, 5, 3])[:, None],
}


def make(norm=False, nested=True, **numbers):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **numbers)
    last = nn.LayerNorm(16) if norm else None
    return nn.TransformerEncoder(layer, 2, last, enable_nested_tensor=nested).eval()


def move(value):
    return None if value is None else value.to("lazy")


@pytest.mark.filterwarnings("ignore:.*nested")
@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("nested", [True, False])
def test_encoder_agrees_at_every_position(padding, nested):
    model, x = make(norm=nested, nested=nested), torch.randn(4, 12, 16)
    mask = PADDING[padding]
    with torch.no_grad():
        expected = model(x, src_key_padding_mask=mask)
        lazy = copy.deepcopy(model).to("lazy")
        y = lazy(move(x), src_key_padding_mask=move(mask))
    graph = torch.lazy.pending_graph()
    assert graph.count("aten::_transformer_encoder_layer_fwd") == 2
    # Eager, too, gives NaN for a row without any token, unless it drops it.
    torch.testing.assert_close(y.cpu(), expected, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.filterwarnings("ignore:.*nested")
@pytest.mark.parametrize("case", ["gradients", "training", "norm first", "a mask"])
def test_the_conditions_are_those_of_the_cpu(case):
    model = make(norm_first=case == "norm first", dropout=0.0)
    model.train(case == "training")
    x = torch.randn(4, 12, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(12)
    arguments = {"mask": mask} if case == "a mask" else {}
    with torch.set_grad_enabled(case == "gradients"):
        expected = model(x, **arguments)
        lazy = copy.deepcopy(model).to("lazy")
        y = lazy(move(x), **{name: move(value) for name, value in arguments.items()})
    fast = "aten::_transformer_encoder_layer_fwd" in torch.lazy.pending_graph()
    assert fast == (case in ("norm first", "a mask"))
    torch.testing.assert_close(y.detach().cpu(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("padding", ["none", "right"])
def test_attention(need_weights, padding):
    torch.manual_seed(0)
    model, x = (
        nn.MultiheadAttention(16, 4, batch_first=True).eval(),
        torch.randn(4, 12, 16),
    )
    arguments = {"key_padding_mask": PADDING[padding]}
    with torch.no_grad():
        expected = model(x, x, x, need_weights=need_weights, **arguments)
        lazy, x = copy.deepcopy(model).to("lazy"), move(x)
        arguments = {name: move(value) for name, value in arguments.items()}
        found = lazy(x, x, x, need_weights=need_weights, **arguments)
    assert "aten::_native_multi_head_attention" in torch.lazy.pending_graph()
    assert (found[1] is None) == (expected[1] is None) == (not need_weights)
    for ours, eager in zip(found, expected, strict=True):
        if eager is not None:
            torch.testing.assert_close(ours.cpu(), eager, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*(torch.jit|nested|ScriptModule)")
def test_torchscript_still_compiles_them():
    torch.lazy.device_count()
    model, x = make(norm=True), torch.randn(4, 12, 16)
    scripted = torch.jit.script(model)
    for padding in PADDING.values():
        torch.testing.assert_close(
            scripted(x, src_key_padding_mask=padding),
            model(x, src_key_padding_mask=padding),
            equal_nan=True,
        )
