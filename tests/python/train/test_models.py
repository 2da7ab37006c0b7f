# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of transformers, timm and torch.nn train on lazy as on eager CPU."""

import pytest
import torch
from model_rows import Model, move
from models_timm import TIMM
from models_torch_nn import TORCH_NN
from models_transformers import TRANSFORMERS
from models_vision import VISION

THIRD_PARTY = TRANSFORMERS | VISION | TIMM
MODELS = THIRD_PARTY | TORCH_NN
STEPS = 5

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("third_party")]


def train(row: Model, device, begin=lambda: None):
    """Return the trained model and the loss of each step."""
    torch.manual_seed(0)
    model = row.make().train().to(device)
    batch = move(row.batch(), device)
    # With the usual eps, a gradient that is zero but for rounding moves its
    # parameter by the whole learning rate, to either side.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-3)
    begin()
    torch.manual_seed(1)  # for dropout
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = row.loss(model, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return model, torch.stack([loss.cpu() for loss in losses]).double()


@pytest.mark.parametrize("name", MODELS)
def test_trains_as_eager(name, counts):
    row = MODELS[name]
    eager, expected = train(row, "cpu")

    def begin():
        torch.lazy.mark_step(wait=True)  # what moving the model has recorded
        counts.restart()

    lazy, losses = train(row, "lazy", begin)

    torch.testing.assert_close(losses, expected, rtol=1e-5, atol=1e-7)
    assert (expected[1:] != expected[0]).all()  # something is learnt
    # The first step is one graph, those with optimizer state are another.
    assert counts["execute.launches"] == STEPS * (1 + row.reads)
    assert counts["codegen.graphs"] <= 2 + row.reads
    fallen = {name.removeprefix("record.fallback.") for name in counts.fallbacks()}
    assert fallen == row.fallbacks
    torch.testing.assert_close(
        {name: value.cpu() for name, value in lazy.state_dict().items()},
        dict(eager.state_dict()),
        rtol=1e-4,
        atol=1e-5,
    )


def test_there_are_25_third_party_classes():
    kinds = {type(row.make()) for row in THIRD_PARTY.values()}
    assert len(kinds) >= 25
