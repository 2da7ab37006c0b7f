# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes that eager refuses are refused in its words, and no others."""

import warnings

import pytest
import torch
from comparing import numbers


def told(program, device):
    """Return what the program gives, or what it raises."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = program(device)
            result = [t.tolist() for t in result]
        except RuntimeError as error:
            result = type(error), str(error).splitlines()[0]
    words = [str(w.message).splitlines()[0] for w in caught]
    return result, [each.partition(" (Triggered")[0] for each in words]


def out_of(op, dtype, *arguments):
    def program(device):
        given = [numbers(device, 4) + 1 if a is ... else a for a in arguments]
        out = torch.zeros(4, dtype=dtype, device=device)
        return given[0], op(*given, out=out), out

    return program


DTYPES = {
    "float into int": out_of(torch.add, torch.int32, ..., ...),
    "float into bool": out_of(torch.mul, torch.bool, ..., 2),
    "float into double": out_of(torch.add, torch.float64, ..., ...),
    "float into half": out_of(torch.sqrt, torch.float16, ...),
    "bool into float": out_of(torch.eq, torch.float32, ..., 2),
    "softmax into double": out_of(torch.softmax, torch.float64, ..., 0),
    "argmax into int32": out_of(torch.argmax, torch.int32, ..., 0),
    "cumsum into double": out_of(torch.cumsum, torch.float64, ..., 0),
    "masked_select": out_of(torch.masked_select, torch.int64, ..., ...),
}


@pytest.mark.parametrize("program", DTYPES.values(), ids=DTYPES)
def test_dtype_of_out(program):
    assert told(program, "lazy") == told(program, "cpu")


def self_and(write):
    def program(device):
        x = numbers(device, 3, 4)
        write(x)
        return (x,)

    return program


def converted(dtype, write):
    return self_and(lambda x: write(x.to(dtype)))


IN_PLACE = {
    "cumsum_": self_and(lambda x: x.cumsum_(0, dtype=torch.float64)),
    "cumprod_": converted(torch.float16, lambda x: x.cumprod_(0, dtype=torch.float32)),
    "abs_": converted(torch.complex64, lambda x: x.abs_()),
    "polygamma_": converted(torch.int64, lambda x: x.polygamma_(1)),
    "mask's shape": self_and(lambda x: x.index_put_((x[1] > 0,), x[0, 0])),
    "mask's source": self_and(lambda x: x.index_put_((x > 9,), x[0, :2].double())),
}


@pytest.mark.parametrize("program", IN_PLACE.values(), ids=IN_PLACE)
def test_in_place(program):
    def refused(device):
        try:
            program(device)
        except (RuntimeError, IndexError) as error:
            return str(error).splitlines()[0]

    eager = refused("cpu")
    assert eager and refused("lazy") == eager


ON_THE_HOST = {
    "in place": lambda x, host: host.add_(x),
    "out=": lambda x, host: torch.add(x, x, out=host),
    "of two": lambda x, host: torch.sort(x, out=(host, torch.zeros(3).long())),
}


@pytest.mark.parametrize("write", ON_THE_HOST.values(), ids=ON_THE_HOST)
def test_writes_to_the_host(write):
    host = torch.zeros(3)
    with pytest.raises(RuntimeError, match=r"same device.*lazy:0 and cpu"):
        write(torch.ones(3, device="lazy"), host)
    assert host.tolist() == [0, 0, 0]


def into(op, *shape):
    def program(device):
        out = torch.zeros(shape, device=device)
        op(out)
        return torch.tensor(out.shape), out

    return program


RESIZED = {
    "linspace": into(lambda out: torch.linspace(0, 5, 6, out=out), 2, 3),
    "linspace, strided": into(lambda out: torch.linspace(0, 5, 6, out=out.t()), 2, 3),
    "linspace, larger": into(lambda out: torch.linspace(0, 5, 6, out=out), 2),
    "logspace": into(lambda out: torch.logspace(0, 1, 1, out=out)),
    "arange": into(lambda out: torch.arange(6, out=out), 3, 2),
    "arange, larger": into(lambda out: torch.arange(6, out=out), 3),
    "arange, from none": into(lambda out: torch.arange(1, 9, 2, out=out), 0),
    "range": into(lambda out: torch.range(1, 6, out=out), 6, 1),
    "narrow_copy": into(lambda out: torch.narrow_copy(out, 0, 0, 1, out=out + 1), 2),
    "logsigmoid": into(
        lambda out: torch._C._nn.log_sigmoid(torch.ones_like(out)[1:], out=out), 2
    ),
}


@pytest.mark.parametrize("program", RESIZED.values(), ids=RESIZED)
def test_sizes_of_out(program):
    assert told(program, "lazy") == told(program, "cpu")


def square(x):
    return x.view(-1)[:9].view(3, 3)


OVERLAPS = {
    "shifted add_": self_and(lambda x: x[0, 1:].add_(x[0, :-1])),
    "shifted copy_": self_and(lambda x: x.view(-1)[1:].copy_(x.view(-1)[:-1])),
    "shifted assignment": self_and(lambda x: x[1:].__setitem__(..., x[:-1])),
    "other rows": self_and(lambda x: x[0].add_(x[1])),
    "every other": self_and(lambda x: x.view(-1)[::2].add_(x.view(-1)[1::2])),
    "itself": self_and(lambda x: x.mul_(x)),
    "its transpose": self_and(lambda x: square(x).add_(square(x).t())),
    "out= itself": self_and(lambda x: torch.mul(x, 2, out=x)),
    "out= shifted": self_and(lambda x: torch.mul(x[:-1], 2, out=x[1:])),
    "out= of gather": self_and(
        lambda x: torch.gather(x, 0, torch.zeros_like(x).long(), out=x)
    ),
    "out= of cat": self_and(lambda x: torch.cat([x[:1], x[1:2]], out=x[:2])),
    "scatter_ of itself": self_and(
        lambda x: x.scatter_(0, torch.zeros_like(x).long(), x)
    ),
    "expanded": self_and(lambda x: x[:1].expand(3, 4).add_(1)),
    "out= expanded": self_and(lambda x: torch.exp(x, out=x[:1].expand(3, 4))),
    "two results": self_and(lambda x: torch.aminmax(x, dim=0, out=(x[0], x[0]))),
    "negative": self_and(lambda x: torch._neg_view(x[:3]).copy_(x[0])),
    "negative of all": self_and(lambda x: x.copy_(torch._neg_view(x))),
    "mask": self_and(lambda x: x[0].index_put_((x[0] > 1,), x[0, :2])),
    "mask, added": self_and(lambda x: x[0].index_put_((x[0] > 1,), x[0, :2], True)),
    "mask of rows": self_and(lambda x: x.index_put_((x[:, 0] > 1,), x[:2])),
    "mask, one value": self_and(lambda x: x[0].index_put_((x[0] > 1,), x[0, 0])),
    "mask, other values": self_and(lambda x: x[1].index_put_((x[1] > 5,), x[0, :2])),
    "mask as values": self_and(
        lambda x: (m := x > 9).index_put_((m,), torch.zeros_like(m[0, :2]))
    ),
}


@pytest.mark.parametrize("program", OVERLAPS.values(), ids=OVERLAPS)
def test_overlap(program):
    assert told(program, "lazy") == told(program, "cpu")


def test_a_refused_write_leaves_all_as_it_was():
    x = numbers("lazy", 6)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x[1:].add_(x[:-1])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_write_is_refused_as_the_first_call_of_its_kind():
    x = torch.ones(71).to("lazy")  # by copy_(): it was written to
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x[1:].sub_(x[:-1])


def test_refusals_are_not_remembered_for_other_places():
    x = numbers("lazy", 8)
    for start in (4, 2, 6):  # a view of the same kind, elsewhere
        if start == 2:
            with pytest.raises(RuntimeError, match="unsupported operation"):
                x[start : start + 3].add_(x[1:4])
        else:
            x[start : start + 2].add_(x[0:2])
    assert x.tolist() == [0, 1, 2, 3, 4, 6, 6, 8]


def test_resized_out_is_warned_of():
    def program(device):
        out = torch.ones(3, device=device)
        torch.add(numbers(device, 2, 2), 1, out=out)
        empty = torch.ones(0, device=device)
        torch.add(numbers(device, 2, 2), 1, out=empty)
        return out, empty

    lazy, eager = told(program, "lazy"), told(program, "cpu")
    assert lazy == eager and len(eager[1]) == 1


RESIZED = {
    "kron": lambda x, out: torch.kron(x, x, out=out),
    "lstsq": lambda x, out: torch.linalg.lstsq(
        torch.eye(4, device=x.device), x[:, None], out=(out, *wrongly_sized(x))
    )[0],
    "masked_select": lambda x, out: torch.masked_select(x, x > 1, out=out),
    "nonzero": lambda x, out: torch.nonzero(x > 1, out=out.long()),
}


def wrongly_sized(x):
    floats = torch.ones(5, device=x.device), torch.ones(5, device=x.device)
    return floats[0], torch.ones(5, device=x.device).long(), floats[1]


@pytest.mark.parametrize("op", RESIZED.values(), ids=RESIZED)
def test_resized_out_of_an_op_with_a_way_of_its_own(op):
    def program(device):
        return (op(numbers(device, 4), torch.ones(9, device=device)),)

    lazy, eager = told(program, "lazy"), told(program, "cpu")
    assert lazy == eager and eager[1]


def test_multinomial_resizes_out_without_a_word():
    def program(device):
        out = torch.ones(9, dtype=torch.long, device=device)
        torch.multinomial(torch.ones(1, device=device), 1, out=out)
        return (out,)

    assert told(program, "lazy") == told(program, "cpu") == ([[0]], [])


RANDOM = {
    "uniform_": lambda x: x.uniform_(2, 1),
    "normal_": lambda x: x.normal_(0, -1),
    "exponential_": lambda x: x.exponential_(-1),
    "geometric_": lambda x: x.geometric_(1.5),
    "cauchy_": lambda x: x.cauchy_(0, -1),
    "log_normal_": lambda x: x.log_normal_(0, -1),
    "bernoulli_": lambda x: x.bernoulli_(1.5),
}


@pytest.mark.parametrize("name", RANDOM)
def test_numbers_of_a_distribution(name):
    def program(device):
        x = torch.zeros(3, device=device)
        torch.nn.init.uniform_(x, 0.5, 0.75)  # a call that was right before
        RANDOM[name](x)
        return (x,)

    expected = told(program, "cpu")
    assert isinstance(expected[0], tuple)
    assert told(program, "lazy") == expected


INTEGERS = {
    "remainder": lambda x: torch.remainder(x.bool(), x.bool()),
    "fmod": lambda x: torch.fmod(x.bool(), x.bool()),
    "floor": lambda x: torch.div(x.bool(), x.bool(), rounding_mode="floor"),
    "gelu": lambda x: torch.nn.functional.gelu(x),
    "softmax": lambda x: torch.softmax(x, 0),
    "bool minus float": lambda x: x.bool() - x.float(),
    "bits of floats": lambda x: x.float() & 1.5,
    "shifted floats": lambda x: x.float() << 1,
}


@pytest.mark.parametrize("op", INTEGERS)
def test_dtypes_that_eager_has_no_kernel_for(op):
    def words(device):
        with pytest.raises((RuntimeError, NotImplementedError)) as raised:
            INTEGERS[op](numbers(device, 3, dtype=torch.int64)).cpu()
        return raised.type, str(raised.value).splitlines()[0]

    eager, lazy = words("cpu"), words("lazy")
    assert issubclass(lazy[0], eager[0]) and eager[1] in lazy[1]


def test_slices_of_complex_numbers():
    def program(device):
        w = torch.complex(numbers(device, 6, 2), numbers(device, 6, 2) + 1)
        a, b, c = w.chunk(3)
        return torch.view_as_real(torch.addmm(a, b, c)).flatten()

    assert torch.equal(program("lazy").cpu(), program("cpu"))


def masked(write):
    def program(device):
        x = numbers(device, 3, 4)
        write(x, x > 6, torch.tensor([True, False, True]).to(device))
        return (x,)

    return program


MASKED = {
    "a number": masked(lambda x, mask, rows: x.index_put_((mask,), x[0, 1].double())),
    "as many": masked(lambda x, mask, rows: x.index_put_((mask,), x.view(-1)[:5] + 1)),
    "rows": masked(lambda x, mask, rows: x.index_put_((rows,), x[0] + 1)),
    "none": masked(lambda x, mask, rows: x.index_put_((mask & False,), x[0, :0])),
    "added": masked(lambda x, mask, rows: x.index_put_((mask,), x[0, 1], True)),
    "no columns": masked(lambda x, mask, rows: x[:, :0].index_put_((rows,), x[:2, :0])),
    "columns too": masked(
        lambda x, mask, rows: x.index_put_((rows, rows.long()[:2]), x[0, :2] + 1)
    ),
}


@pytest.mark.parametrize("program", MASKED.values(), ids=MASKED)
def test_writes_through_masks(program):
    assert told(program, "lazy") == told(program, "cpu")


@pytest.mark.filterwarnings("ignore:indexing with dtype")
def test_a_write_through_a_mask_of_bytes():
    def written(device):
        x = numbers(device, 3, 4)
        x[..., torch.tensor([1, 0, 1, 0], dtype=torch.uint8).to(device)] += 20
        return x.tolist()

    assert written("lazy") == written("cpu")
