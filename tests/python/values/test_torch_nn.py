# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Torch.nn's recurrent and transformer layers, evaluated, agree with eager CPU."""

import pytest
import torch
from model_rows import BATCH, LENGTH, move, padding_mask
from models_torch_nn import FEATURES, TORCH_NN, WIDTH
from torch import nn

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("third_party")]


@pytest.mark.parametrize("name", TORCH_NN)
def test_evaluates_as_eager(name, counts, monkeypatch):
    """Eager runs an encoder's layer as one op then, and padding as nested tensors."""
    slow_paths = []
    stock = nn.TransformerEncoderLayer._ff_block

    def feed_forward(layer, x):
        slow_paths.append(x.device.type)
        return stock(layer, x)

    monkeypatch.setattr(nn.TransformerEncoderLayer, "_ff_block", feed_forward)
    torch.manual_seed(0)
    model, batch = TORCH_NN[name].make().eval(), TORCH_NN[name].batch()
    batch.pop("labels")
    with torch.inference_mode():
        eager = model(**batch)
        assert slow_paths == []
        lazy = model.to("lazy")(**move(batch, "lazy"))
        assert slow_paths == []
    torch.testing.assert_close(lazy.cpu(), eager, rtol=1e-5, atol=1e-6)
    # It asks whether padding is only at the ends, to take nested tensors.
    asked = ["record.fallback.aten::_nested_tensor_from_mask_left_aligned"]
    assert counts.fallbacks() == (asked if name == "padded encoder" else [])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("sorted_by_length", [True, False])
def test_packed_sequences_agree_with_eager(kind, sorted_by_length, counts):
    lengths = padding_mask().sum(1)
    order = torch.arange(BATCH) if sorted_by_length else torch.tensor([2, 0, 3, 1])

    def run(device):
        torch.manual_seed(0)
        cell = kind(FEATURES, WIDTH, batch_first=True, bidirectional=True).to(device)
        x = torch.randn(BATCH, LENGTH, FEATURES).to(device).requires_grad_()
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths[order], batch_first=True, enforce_sorted=sorted_by_length
        )
        y, _ = nn.utils.rnn.pad_packed_sequence(cell(packed)[0], batch_first=True)
        y.square().sum().backward()
        return y.detach().cpu(), x.grad.cpu(), cell.weight_hh_l0.grad.cpu()

    for lazy, eager in zip(run("lazy"), run("cpu"), strict=True):
        torch.testing.assert_close(lazy, eager, rtol=1e-5, atol=1e-6)
    assert counts.fallbacks() == []
