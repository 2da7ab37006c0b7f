# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What out= resizes shows other places of its storage, to whoever shares it."""

import pytest
import torch
from comparing import numbers


def add_to(view, rows):
    """Add two rows or so into a view of another size."""

    def program(x):
        out = view(x)
        torch.add(numbers(x.device, rows, 4) * 10, 1, out=out)
        return out, x

    return program


def read_beside(rows):
    def program(x):
        part = x[1:]
        torch.add(numbers(x.device, rows, 4) * 10, 1, out=x)
        return x, part

    return program


def emptied(size, count):
    """The way in which PyTorch's warning wants tensors to be used again."""

    def program(x):
        x = x.flatten()[:size].clone()
        x.resize_(0)
        torch.cat([x.new_ones(2), x.new_ones(count - 2)], out=x)
        return (x,)

    return program


def shrunk_and_grown(x):
    x.resize_(2, 2)
    x.resize_(4, 4)[3].fill_(7)
    return (x,)


def made_smaller(then):
    """The storage stays as long as it was, and holds what it held."""

    def program(x):
        torch.add(numbers(x.device, 2), 1, out=x)
        out = then(x)
        torch.mul(numbers(x.device, 7), 3, out=out)
        return x, out, x.as_strided((12,), (1,))

    return program


def transposed(x):
    torch.mul(numbers(x.device, 2, 3).t(), 2, out=x[:1])
    return (x,)


def summed(x):
    torch.sum(x.clone(), 0, out=x.mT)
    return (x,)


def found(*shape):
    def program(x):
        out = torch.ones(shape, dtype=torch.int64, device=x.device)
        torch.nonzero(x, out=out)
        return (out,)

    return program


PROGRAMS = {
    "slice": add_to(lambda x: x[:1], 2),
    "last rows": add_to(lambda x: x[1:2], 2),
    "empty slice": add_to(lambda x: x[:0], 1),
    "transpose": add_to(lambda x: x.mT, 3),
    "alias": add_to(lambda x: x.detach(), 1),
    "base": read_beside(1),
    "emptied": emptied(8, 5),
    "emptied and grown": emptied(3, 5),
    "shrunk and grown": shrunk_and_grown,
    "made smaller": made_smaller(lambda x: x),
    "view of what was made smaller": made_smaller(lambda x: x[:1]),
    "made smaller twice": made_smaller(lambda x: torch.neg(x.new_ones(1), out=x)),
    "made smaller, then resized": made_smaller(lambda x: x.resize_(5)[1:]),
    "strided result": transposed,
    "sum": summed,
    "found": found(0),
    "fewer found": found(12, 2),
    "as many found": found(11, 2),
    "none found": lambda x: found(3)(x * 0),
}


def shown(tensors):
    return [(x.tolist(), x.stride(), x.storage_offset()) for x in tensors]


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_all_who_share_the_storage_show_it(program):
    for _ in range(2):  # what resizes is not taken for what was met before
        eager = shown(program(numbers("cpu", 3, 4)))
        assert shown(program(numbers("lazy", 3, 4))) == eager


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize(
    "dtype", [torch.uint16, torch.uint32, torch.uint64, torch.complex32, torch.bool]
)
def test_any_dtype_keeps_what_it_held(dtype):
    def program(device):
        x = torch.arange(6).to(dtype).to(device)
        x.resize_(2).fill_(1)
        return x.resize_(3).cpu().tolist()

    assert program("lazy") == program("cpu")


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
@pytest.mark.parametrize("view", [lambda x: x[1:], lambda x: x.detach()])
def test_what_is_shared_does_not_grow(view):
    x = numbers("lazy", 3, 4)
    shared = view(x)
    for out in x, shared:
        with pytest.raises(RuntimeError, match="to a larger size"):
            torch.add(numbers("lazy", 5, 4), 1, out=out)
    assert torch.equal(x.cpu(), numbers("cpu", 3, 4))
    assert torch.equal(shared.cpu(), view(numbers("cpu", 3, 4)))


def test_a_tensor_is_set_to_what_shows_the_same_places(counts):
    def asked(device):
        x = numbers(device, 6)
        moved = torch.empty(0, device=device).set_(x)
        others = [x, x.view(6), x.view(2, 3), x.clone(), x.detach(), moved, x[1:]]
        return [x.is_set_to(other) for other in others], x[1:].is_set_to(x[1:])

    assert asked("lazy") == asked("cpu")
    assert counts.fallbacks() == []
