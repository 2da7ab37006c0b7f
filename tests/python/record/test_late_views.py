# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A view is recorded when it is read: till then it only says what it shows."""

import copy
import itertools
import weakref

import pytest
import torch
from comparing import from_one as numbers


def describe(value):
    if isinstance(value, torch.Tensor):
        return value.tolist(), value.shape, value.stride(), value.storage_offset()
    return tuple(map(describe, value)) if isinstance(value, tuple | list) else value


def outcome(program, device):
    try:
        return describe(program(device))
    except (RuntimeError, IndexError) as error:
        return type(error).__name__, str(error).splitlines()[0]


def same(program):
    assert outcome(program, "lazy") == outcome(program, "cpu")


BASES = {
    "matrix": lambda d: numbers(d, 4, 6),
    "turned": lambda d: numbers(d, 6, 4).t(),
    "part": lambda d: numbers(d, 6, 9)[1:5, 2:8],
    "spread": lambda d: numbers(d, 4, 12)[:, ::2],
    "expanded": lambda d: numbers(d, 4, 1).expand(4, 6),
    "thick": lambda d: numbers(d, 2, 1, 3, 1),
    "vector": lambda d: numbers(d, 6),
    "number": lambda d: numbers(d),
    "empty": lambda d: numbers(d, 0, 3),
}
DIMS = (-3, -1, 0, 1)
CALLS = {
    "slice": [
        (dim, start, end, step)
        for dim in (0, -1)
        for start, end in ((None, None), (1, 3), (-2, None), (5, 2), (-99, 99))
        for step in (1, 2)
    ]
    + [(0, 0, 2, 0), (7, 0, 1, 1)],
    "select": list(itertools.product(DIMS, (0, -1, 3, 9))),
    "view": [
        ((24,),),
        ((-1,),),
        ((2, -1),),
        ((-1, -1),),
        ((5, 5),),
        ((-2,),),
        ((2, 2, 6),),
        ((0, 3),),
        ((),),
        ((1, 6, 1),),
        ((3, 0),),
        ((-1, 0),),
        ((4, 3, 2),),
    ],
    "t": [()],
    "transpose": list(itertools.product(DIMS, DIMS)),
    "permute": [
        ((1, 0),),
        ((-1, 0),),
        ((0, 0),),
        ((0,),),
        ((),),
        ((3, 0, 2, 1),),
        ((0, 5),),
    ],
    "unsqueeze": [(dim,) for dim in DIMS],
    "squeeze": [()] + [(dim,) for dim in DIMS] + [((1, 3),), ((0, 0),), ((),)],
    "expand": [
        ((4, 6),),
        ((2, 4, 6),),
        ((-1, 6),),
        ((2, -1, -1),),
        ((-1, 4, 6),),
        ((3, 3),),
        ((),),
        ((5,),),
        ((2, 5, 3, 7),),
        ((0, 3),),
        ((1, 1, 6),),
        ((-2, 6),),
    ],
    "unfold": [
        (0, 2, 1),
        (-1, 2, 2),
        (0, 0, 1),
        (0, 9, 1),
        (0, 1, 0),
        (1, 3, 2),
        (4, 1, 1),
    ],
    "diagonal": [(offset, 0, 1) for offset in (-9, -1, 0, 1, 9)]
    + [(1, 1, 0), (0, 0, 0), (0, 0, 9), (0, -1, -2)],
    "split": [
        (2, 0),
        (4, -1),
        (9, 0),
        (0, 0),
        (-1, 0),
        (2, 4),
        ((1, 3), 0),
        ((2, 4), -1),
        ((1, 1), 0),
        ((-1, 5), 0),
    ],
    "unbind": [(dim,) for dim in DIMS],
}


def view(tensor, name, arguments):
    if name == "slice":
        return torch.ops.aten.slice.Tensor(tensor, *arguments)
    return getattr(tensor, name)(*arguments)


def shown(base, name, arguments):
    try:
        seen = view(base, name, arguments)
    except (RuntimeError, IndexError) as error:
        return type(error).__name__, str(error).splitlines()[0]
    views = seen if isinstance(seen, tuple | list) else [seen]
    return [(v.shape, v.stride(), v.storage_offset(), v.is_contiguous()) for v in views]


@pytest.mark.parametrize("name", CALLS)
def test_shows_what_eager_shows_or_refuses(name):
    for label, base in BASES.items():
        lazy, eager = base("lazy"), base("cpu")
        for arguments in CALLS[name]:
            assert shown(lazy, name, arguments) == shown(eager, name, arguments), (
                label,
                arguments,
            )


CHAIN = {
    "slice": lambda x: x[1:],
    "turn": lambda x: x.mT,
    "split": lambda x: x.split(2, -1)[1],
    "unbind": lambda x: x.unbind(-1)[0],
    "expand": lambda x: x.unsqueeze(-2).expand(*x.shape[:-1], 2, x.shape[-1]),
    "unfold": lambda x: x.unfold(-1, 2, 1),
    "diagonal": lambda x: x.diagonal(0, -1, -2),
    "add": lambda x: x.unsqueeze(1),
    "bits": lambda x: x.view(torch.int32),
}


def chains(device, first):
    """What views of a view show and write, all in one graph."""
    found = []
    for second in CHAIN:
        x = numbers(device, 4, 4, 4)
        before = CHAIN[second](CHAIN[first](x))
        x.mul_(2)
        if before.dtype == x.dtype and not {"expand", "unfold"} & {first, second}:
            before[-1:].add_(3)
        found.append((x, before, CHAIN[second](CHAIN[first](x))))
    return found


@pytest.mark.parametrize("first", sorted(CHAIN))
def test_chain_shows_and_writes_what_eager_does(first):
    same(lambda device: chains(device, first))


def test_records_when_read_and_each_link_once(counts):
    x = numbers("lazy", 2, 3, 4)

    def heads():
        return x.view(6, 4).t().unbind(0)

    assert torch.stack(heads()).tolist() == x.cpu().view(6, 4).t().tolist()
    _ = heads()[0] + heads()[1]
    before = counts["record.ops"]
    first, *rest = heads()
    assert [v.shape for v in (first, *rest)] == [(6,)] * 4
    assert counts["record.ops"] == before
    total = first + rest[0]
    # view, t, two selects and the sum.
    assert counts["record.ops"] - before == 5
    assert (
        total.tolist() == (x.cpu().view(6, 4)[:, 0] + x.cpu().view(6, 4)[:, 1]).tolist()
    )


def test_what_shows_all_is_not_recorded(counts):
    x = numbers("lazy", 2, 3)
    before = counts["record.ops"]
    same_again = x.view(2, 3).expand(2, -1).squeeze(0)[:]
    same_again.add_(1)
    assert counts["record.ops"] - before == 1
    assert x.tolist() == [[2, 3, 4], [5, 6, 7]]
    before = counts["record.ops"]
    assert x.t().t().tolist() == [[2, 3, 4], [5, 6, 7]]
    assert counts["record.ops"] == before


def test_a_view_that_ops_read_is_no_result_of_its_own(counts):
    def program(device):
        x = numbers(device, 2, 3)
        view, found = x.t(), []
        for _ in range(3):
            found.append(view * 2)
            x.add_(1)
            torch._lazy.mark_step()
        return x, view, found

    same(program)
    x = numbers("lazy", 2, 3)
    view = x.t()
    _ = view * 2
    for _ in range(3):
        torch._lazy.mark_step()
        before = counts["record.ops"]
        _ = view * 2
        assert counts["record.ops"] - before == 2


def test_first_steps_of_training_are_graphs_of_all_others(counts):
    """Gradients of weights are turned over twice, those of biases are views."""
    module = torch.nn.Sequential(
        torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3, bias=False)
    ).to("lazy")
    x = numbers("lazy", 2, 7, 5)
    for step in (torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad):
        optimizer = step(module.parameters(), lr=0.1)
        torch._lazy.mark_step()
        before = counts["codegen.graphs"]
        for _ in range(3):
            optimizer.zero_grad()
            module(x).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            torch._lazy.mark_step()
        assert counts["codegen.graphs"] - before == 1


IN_PLACE = {
    "t_": lambda v: v.t_(),
    "transpose_": lambda v: v.transpose_(0, 1),
    "unsqueeze_": lambda v: v.unsqueeze_(1),
    "squeeze_": lambda v: v.squeeze_(),
    "as_strided_": lambda v: v.as_strided_((2, 2), (1, 2)),
    "set_ to a view": lambda v: v.set_(v[1:]),
    "set_ of another": lambda v: v.new_ones(3).set_(v.t()),
    "data": lambda v: setattr(v, "data", v.t()),
    "of a new tensor": lambda v: setattr(v.new_ones(2), "data", v[0]),
    "resize_": lambda v: v.resize_(2, 2),
    "detach_": lambda v: v.detach_() if not v._is_view() else v.detach().mul_(2),
    "zero_": lambda v: v.zero_(),
    "copy_": lambda v: v.copy_(v.flip(0)),
    "index": lambda v: v.__setitem__((0, slice(None)), 7.0),
    "fill_": lambda v: v[1].fill_(v[0, 0].item()),
    "swap": lambda v: torch.utils.swap_tensors(v, v.clone()),
}


@pytest.mark.parametrize("change", IN_PLACE)
def test_changes_in_place_before_it_is_read(change):
    def program(device):
        x = numbers(device, 5, 4)
        v = x[1:4].t()
        IN_PLACE[change](v)
        return x, v, v * 2

    same(program)


ALIASES = {
    "conjugate": lambda x: x[1:].conj().t(),
    "real": lambda x: torch.view_as_real(x.t()[1:].t()).clone(),
    "as_strided": lambda x: x[1:].t().as_strided((2, 2), (1, 2), 1).abs(),
    "alias": lambda x: torch.ops.aten.alias(x.t()[1:]).abs(),
    "negative": lambda x: torch._neg_view(x.t()[1:]).abs(),
}


@pytest.mark.parametrize("alias", ALIASES)
def test_views_of_pytorchs_own_kind(alias):
    same(lambda d: ALIASES[alias](torch.complex(numbers(d, 3, 3), numbers(d, 3, 3))))


def test_a_view_with_computed_strides():
    def program(device):
        x = numbers(device, 4, 4)
        part = x[:, 1:3]
        alias = torch.ops.aten._reshape_alias(part, (4, 2), part.stride())
        on_the_host = alias.flatten()[5].item()
        alias.cumsum_(0)
        return x, alias, torch.tensor(on_the_host)

    same(program)


def test_parts_that_no_schema_calls_views():
    def program(device):
        x = numbers(device, 4, 4)
        left, right = torch.unsafe_split(x, 2, 1)
        right.mul_(2)
        first, rest = torch.unsafe_split_with_sizes(x, [1, 3])
        rest.add_(left.sum())
        torch.unsafe_chunk(x, 4)[2].zero_()
        return x, left, right, first, rest

    same(program)


REFUSED = {
    "t_": lambda v: v.t_(),
    "transpose_": lambda v: v.transpose_(0, 7),
    "unsqueeze_": lambda v: v.unsqueeze_(9),
    "squeeze_": lambda v: v.squeeze_(5),
    "swapdims_": lambda v: v.swapdims_(0, 9),
    "as_strided_": lambda v: v.as_strided_((100,), (1,)),
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_is_refused_in_place_changes_nothing(change):
    def program(device):
        x = numbers(device, 2, 3, 4)
        v = x[:, 1:]
        with pytest.raises((RuntimeError, IndexError)):
            REFUSED[change](v)
        v.add_(1)
        x[0].mul_(2)
        return x, v

    same(program)


def test_deep_copies_keep_sharing():
    def program(device):
        x = numbers(device, 4, 4)
        whole, part = copy.deepcopy([x, x[1:].t()])
        part[0, 0] = 50
        return x, whole, part

    same(program)


@pytest.mark.parametrize("grad", [True, False])
def test_gradients_and_versions(grad):
    def program(device):
        x = numbers(device, 4, 4).clone().requires_grad_(grad)
        y = x * 2
        late = y.t()[1:].unsqueeze(0)
        y[0].mul_(3)
        with torch.no_grad():
            early = x[1:].t()
        result = (late * late).sum() + early.sum()
        if grad:
            result.backward()
        return result, x.grad if grad else x, late._version, early.requires_grad

    same(program)


def test_version_is_the_bases():
    def program(device):
        x = numbers(device, 4, 4).requires_grad_()
        y = x * 1
        late = y.t()
        squares = (y * y).sum()
        late.add_(1)
        squares.backward()
        return x.grad

    assert "modified by an inplace operation" in outcome(program, "lazy")[1]


def test_outlives_its_base_and_a_step():
    def program(device):
        x = numbers(device, 4, 4)
        late = x.t()[1:]
        x.mul_(2)
        if device == "lazy":
            torch.lazy.mark_step()
        x.add_(1)
        del x
        if device == "lazy":
            torch.lazy.mark_step()
        return late

    same(program)


@pytest.mark.parametrize("with_gradients", [False, True])
def test_a_view_keeps_none_of_those_before_it(with_gradients):
    base = numbers("lazy", 4, 6).requires_grad_(with_gradients)
    before = base.view(6, 4)
    view, gone = before.t()[1:], weakref.ref(before)
    del before
    assert gone() is None
    assert view._base is base
    assert view._version == base._version
    assert view.tolist() == base.detach().cpu().view(6, 4).t()[1:].tolist()


def test_a_view_has_no_reverse_function():
    base = numbers("lazy", 4, 6)
    with pytest.raises(NotImplementedError, match="no reverse function"):
        base.t()._rev_view_func_unsafe(base)
