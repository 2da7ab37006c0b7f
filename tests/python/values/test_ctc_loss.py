# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CTC loss is part of the graph, whatever the lengths are kept in."""

import pytest
import torch
from torch.nn import functional

STEPS, BATCH, CLASSES = 12, 3, 5
TARGETS = {
    "padded": torch.tensor([[1, 2, 3, 4], [2, 2, 0, 0], [4, 0, 0, 0]]),
    "joined": torch.tensor([1, 2, 3, 4, 2, 2, 4]),
}
LENGTHS = {
    "tensors": torch.tensor,
    "int32 tensors": lambda values: torch.tensor(values, dtype=torch.int32),
    "tuples": tuple,
}


def loss_and_gradient(device, targets, make, used=(12, 10, 9), move=True, **options):
    torch.manual_seed(0)
    x = torch.randn(STEPS, BATCH, CLASSES).to(device).requires_grad_()
    lengths = [make(used), make((4, 2, 1))]
    if move and isinstance(lengths[0], torch.Tensor):
        lengths = [length.to(device) for length in lengths]
    loss = functional.ctc_loss(
        x.log_softmax(-1), targets.to(device), *lengths, **options
    )
    loss.sum().backward()
    return loss.detach().cpu(), x.grad.cpu()


@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("make", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_loss_and_gradient_are_eagers(targets, make, reduction, counts):
    arguments = {"targets": targets, "make": make, "reduction": reduction}
    lazy = loss_and_gradient("lazy", **arguments)
    torch.testing.assert_close(lazy, loss_and_gradient("cpu", **arguments))
    assert counts.fallbacks() == []


def test_lengths_may_stay_on_the_cpu():
    arguments = {"targets": TARGETS["padded"], "make": torch.tensor, "move": False}
    lazy = loss_and_gradient("lazy", **arguments)
    torch.testing.assert_close(lazy, loss_and_gradient("cpu", **arguments))


@pytest.mark.parametrize("make", LENGTHS.values(), ids=LENGTHS)
def test_other_lengths_are_no_other_graph(make, counts):
    for used in ((12, 10, 9), (12, 12, 12), (9, 12, 4)):
        arguments = {"targets": TARGETS["padded"], "make": make, "used": used}
        lazy = loss_and_gradient("lazy", **arguments)
        torch.testing.assert_close(lazy, loss_and_gradient("cpu", **arguments))
    assert counts["codegen.graphs"] <= 2  # the loss is read before the gradient


def test_an_alignment_that_cannot_be():
    arguments = {"targets": TARGETS["padded"], "make": torch.tensor, "used": (12, 1, 9)}
    for zero in (False, True):
        lazy = loss_and_gradient("lazy", **arguments, zero_infinity=zero)
        eager = loss_and_gradient("cpu", **arguments, zero_infinity=zero)
        torch.testing.assert_close(lazy, eager, equal_nan=True)


def test_a_wrong_target_is_eagers_error():
    def program(device):
        lengths = torch.tensor([12, 12]).to(device), torch.tensor([1, 1]).to(device)
        x = torch.zeros(STEPS, BATCH, CLASSES).to(device)
        return functional.ctc_loss(x, TARGETS["padded"].to(device), *lengths).cpu()

    with pytest.raises(RuntimeError) as eager:
        program("cpu")
    with pytest.raises(RuntimeError) as lazy:
        program("lazy")
    assert str(eager.value).splitlines()[0] in str(lazy.value)
