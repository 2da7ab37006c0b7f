# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that eager refuses are refused in its words, when their graph runs."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc

HALVES = [0.5, 0.5]


def bce(x, y, **options):
    return lambda d: F.binary_cross_entropy(
        torch.tensor(x, device=d), torch.tensor(y, device=d), **options
    )


def one_hot(values, classes=-1):
    return lambda d: F.one_hot(torch.tensor(values, device=d), classes)


def quantile(q, function=torch.quantile, **options):
    return lambda d: function(
        torch.arange(7.0, device=d), torch.tensor(q, device=d), **options
    )


NAN = float("nan")
REFUSED = {
    "bernoulli above 1": lambda d: torch.bernoulli(torch.tensor([0.5, 1.5], device=d)),
    "bernoulli below 0": lambda d: torch.tensor([-0.5, 1.0], device=d).bernoulli(),
    "bernoulli of nan": lambda d: torch.bernoulli(torch.tensor([NAN], device=d)),
    "bernoulli of a long one": lambda d: torch.bernoulli(
        torch.cat([torch.rand(1000, device=d), torch.full((1,), 2.0, device=d)])
    ),
    "bernoulli in place": lambda d: torch.empty(2, device=d).bernoulli_(
        torch.tensor([0.5, 1.5], device=d)
    ),
    "bce above 1": bce([0.5, 1.5], HALVES),
    "bce below 0": bce([-0.1, 0.5], HALVES, reduction="none"),
    "bce of nan": bce([NAN, 0.5], HALVES, reduction="sum"),
    "bce target": bce(HALVES, [0.5, 1.1]),
    "bce sum": bce([2.0, 0.5], HALVES, reduction="sum"),
    "one_hot above": one_hot([[5, 2]], 3),
    "one_hot below": one_hot([-1, 2], 3),
    "one_hot below, classes unknown": one_hot([-1, 2]),
    "one_hot without classes": one_hot([1, 2], 0),
    "one_hot of negative classes": one_hot([1, 2], -2),
    "one_hot of nothing": one_hot([]),
    "one_hot of floats": one_hot([1.0], 2),
    "quantile below": quantile([0.5, -0.1]),
    "quantile above": quantile([0.5, 1.01]),
    "one quantile": quantile(1.5, interpolation="lower"),
    "nanquantile": quantile([0.5, -0.1], torch.nanquantile),
    "quantile into": lambda d: torch.quantile(
        torch.arange(7.0, device=d),
        torch.tensor([-0.1], device=d),
        out=torch.empty(1, device=d),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_eager_refuses_is_eagers_error(name, counts):
    program = REFUSED[name]
    with pytest.raises(RuntimeError) as eager:
        program("cpu")
    with pytest.raises(RuntimeError) as lazy:
        program("lazy").cpu()
    assert str(eager.value) in str(lazy.value)
    assert not isinstance(lazy.value, IndexError)
    assert counts.fallbacks() == []
    assert (torch.ones(2, device="lazy") + 1).tolist() == [2, 2]


def test_the_error_names_op_shapes_and_line():
    def loss():
        return F.binary_cross_entropy(x, y)

    x, y = torch.full((3,), 1.5, device="lazy"), torch.rand(3, device="lazy")
    bad = loss() * 2
    with pytest.raises(torch_ltc.InvalidArgumentError) as caught:
        bad.cpu()
    error = caught.value
    assert error.op == "aten::binary_cross_entropy" and error.stage == "execute"
    assert "f32[3], f32[3]" in str(error)
    assert error.file.endswith("test_checked_values.py")
    assert error.line == loss.__code__.co_firstlineno + 1


@pytest.mark.parametrize("size", [1, 7, 8, 1003, 40_000])
def test_a_check_in_a_loop_over_vectors(size):
    """What the lanes beyond the end compute with is nobody's value."""
    x = torch.linspace(0, 0.5, size)
    y = torch.linspace(0.5, 0, size)
    for scale in (2, 1, 0.5):
        wanted = F.binary_cross_entropy(x * scale, y * 2, reduction="none")
        found = F.binary_cross_entropy(
            x.to("lazy") * scale, y.to("lazy") * 2, reduction="none"
        )
        torch.testing.assert_close(found.cpu(), wanted)
    for position in {0, size // 2, size - 1}:
        bad = x.clone()
        bad[position] = -0.25
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            F.binary_cross_entropy(bad.to("lazy") * 2, y.to("lazy")).cpu()


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,), (0, 3)])
def test_one_hot_is_eagers(shape, counts):
    values = torch.randint(0, 5, shape)
    for classes in (5, 9):
        found = F.one_hot(values.to("lazy"), classes)
        assert torch.equal(found.cpu(), F.one_hot(values, classes))
    if values.numel():
        assert torch.equal(F.one_hot(values.to("lazy")).cpu(), F.one_hot(values))
    assert counts.fallbacks() == []


def test_one_hot_under_vmap():
    values = torch.tensor([[0, 2], [1, 1]])

    def hot(v):
        return F.one_hot(v, 3)

    found = torch.vmap(hot)(values.to("lazy"))
    assert torch.equal(found.cpu(), torch.vmap(hot)(values))


def test_quantiles_and_their_gradients_are_eagers(counts):
    def program(device):
        torch.manual_seed(0)
        x = torch.randn(5, 8).to(device).requires_grad_()
        q = torch.tensor([0.0, 0.3, 1.0]).to(device).requires_grad_()
        values = torch.quantile(x, q, dim=1)
        values.square().sum().backward()
        return values.detach().cpu(), x.grad.cpu(), q.grad.cpu()

    torch.testing.assert_close(program("lazy"), program("cpu"))
    assert counts.fallbacks() == []
