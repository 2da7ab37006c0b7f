# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models write the same tokens on lazy as on eager CPU."""

import copy

import pytest
import torch
from model_rows import move
from models_transformers import TRANSFORMERS

TOKENS = 6
WRITERS = [name for name, row in TRANSFORMERS.items() if row.generates]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("third_party")]


def make(name):
    """Return the model, made on CPU, and what it goes on from."""
    torch.manual_seed(0)
    row = TRANSFORMERS[name]
    batch = row.batch()
    batch.pop("labels")
    model = row.make().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # With weights near zero most models write one token for ever.
            parameter.mul_(3 if parameter.dim() > 1 else 1)
    return model, batch


def generate(model, batch, **how):
    torch.manual_seed(1)
    device = next(model.parameters()).device
    # Without min_new_tokens a run would end where every row has written eos.
    length = {"max_new_tokens": TOKENS, "min_new_tokens": TOKENS, "pad_token_id": 0}
    return model.generate(
        **move(batch, device), **length, **({"do_sample": False} | how)
    ).cpu()


@pytest.mark.parametrize("name", WRITERS)
def test_greedy_tokens_agree_with_eager(name, counts):
    eager, batch = make(name)
    expected = generate(eager, batch)

    lazy = copy.deepcopy(eager).to("lazy")
    torch.lazy.mark_step(wait=True)
    counts.restart()
    assert torch.equal(generate(lazy, batch), expected)
    assert counts.fallbacks() == []

    # What was written once is written again without compiling.
    counts.restart()
    generate(lazy, batch)
    assert counts["codegen.graphs"] == 0


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("gpt2", {"do_sample": True, "top_k": 10, "top_p": 0.9}),
        ("t5", {"do_sample": True, "temperature": 2.0}),
        ("llama", {"num_beams": 2}),
        ("gpt2", {"num_beams": 3, "num_return_sequences": 2}),
        ("mamba", {"num_beams": 2}),
        ("llama", {"cache_implementation": "static"}),
        ("llama", {"do_sample": True, "min_p": 0.05, "no_repeat_ngram_size": 2}),
        ("bloom", {"use_cache": False}),
    ],
)
def test_other_ways_to_choose_tokens_agree_with_eager(name, how):
    eager, batch = make(name)
    lazy = copy.deepcopy(eager).to("lazy")
    assert torch.equal(generate(lazy, batch, **how), generate(eager, batch, **how))
