# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph that is built without running has the text and key of the recorded one."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch_ltc import startup


def in_place(x, y):
    z = x.clone()
    z[1:].mul_(2)
    z.view(-1).add_(y.flatten())
    return z


FUNCTIONS = [
    lambda x, y: (x @ y.t()).relu().sum(0),
    lambda x, y: x.t()[1:3].contiguous() + 2.5,
    lambda x, y: torch.cat([x, y, torch.ones_like(x)]).softmax(1),
    lambda x, y: F.layer_norm(x, (6,), y[0], y[1]),
    lambda x, y: torch.where(x > y, x, torch.arange(6.0, device=x.device)),
    in_place,
]


def build(function, *inputs):
    builder = startup.start().GraphBuilder(0)
    return builder.finish([function(*map(builder.input, inputs))])


@pytest.fixture
def inputs():
    torch.manual_seed(0)
    return torch.randn(4, 6), torch.randn(4, 6)


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_a_built_graph_is_the_recorded_one(number, inputs, counts):
    function = FUNCTIONS[number]
    graph = build(function, *inputs)
    lazy = [x.to("lazy") for x in inputs]
    torch.lazy.synchronize()
    result = function(*lazy)
    assert torch.lazy.pending_graph() == graph.text()
    counts.restart()
    torch.testing.assert_close(result.cpu(), function(*inputs))
    assert counts["codegen.graphs"] == 0
    for given in (inputs, lazy):
        (found,) = graph.run(list(given))
        torch.testing.assert_close(found.cpu(), function(*inputs))
    assert len(graph.key) == 32


def test_random_numbers_are_drawn_at_each_run(inputs):
    x = torch.ones(1000)
    with torch_ltc.settings.scope(rng="fast"):
        graph = build(lambda x: F.dropout(x, 0.5), x)
    (first,), (second,) = graph.run([x]), graph.run([x])
    assert not torch.equal(first.cpu(), second.cpu())


def test_an_input_stays_what_it_is(inputs):
    x = inputs[0].to("lazy")
    graph = build(lambda x: x * 2, inputs[0])
    (result,) = graph.run([x])
    x.add_(1)
    assert torch.equal(result.cpu(), inputs[0] * 2)
    assert torch.equal(x.cpu(), inputs[0] + 1)


def test_what_does_not_fit_is_refused(inputs):
    c = startup.start()
    graph = build(lambda x: x + 1, inputs[0])
    with pytest.raises(RuntimeError, match=r"built for f32\[4, 6\] and is given"):
        graph.run([torch.ones(3, 6)])
    with pytest.raises(RuntimeError, match="has 1 inputs and is given 2"):
        graph.run([inputs[0], inputs[1]])
    with pytest.raises(RuntimeError, match="not on the device of the graph"):
        c.GraphBuilder(0).finish([inputs[0].to("lazy")])
    with pytest.raises(RuntimeError, match="there is no device lazy:7"):
        c.GraphBuilder(7)


def test_a_graph_is_lowered_to_forms_that_there_are(inputs):
    graph = build(lambda x: x + 1, inputs[0])
    assert b"linalg.generic" in graph.lower("linalg")
    with pytest.raises(ValueError, match="stablehlo-part or tosa, and not to hlo"):
        graph.lower("hlo")


def test_a_value_cannot_be_read_while_building(inputs):
    with pytest.raises(RuntimeError, match="types and no values"):
        build(lambda x: x * x.sum().item(), inputs[0])


def test_what_an_earlier_builder_left_is_no_part_of_the_next(inputs):
    c = startup.start()
    first = c.GraphBuilder(0)
    left = first.input(inputs[0]) * 3
    ordinal = first.device.index
    del first
    second = c.GraphBuilder(0)
    assert second.device.index == ordinal
    graph = second.finish([second.input(inputs[0]) + 1])
    (found,) = graph.run([inputs[0]])
    assert torch.equal(found.cpu(), inputs[0] + 1)
    assert "mul" not in graph.text()
    del left


def test_what_is_merely_alive_gets_no_value(inputs):
    builder = startup.start().GraphBuilder(0, in_place=True)
    kept = builder.input(inputs[0]) + 1
    other = kept * 3
    graph = builder.finish([kept * 2])
    assert graph.text().count("output %") == 1
    assert other.shape == kept.shape  # both are alive until here
