# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place ops of lists refuse results that do not go into their tensors."""

import pytest
import torch

INTEGERS = ([4, 2], [1, 3])
WRITES = {
    "add_ a float": (INTEGERS, "add", lambda xs: (1.5,)),
    "add_ an int": (INTEGERS, "add", lambda xs: (1,)),
    "add_ numbers": (INTEGERS, "add", lambda xs: ([2.5, 1],)),
    "add_ floats": (INTEGERS, "add", lambda xs: ([x.float() for x in xs],)),
    "add_ a tensor": (INTEGERS, "add", lambda xs: (xs[0][0] / 2,)),
    "add_ a complex": ([[1.0, 2.0]], "add", lambda xs: (1j,)),
    "add_ complex numbers": ([[1.0], [2.0]], "mul", lambda xs: ([1, 1j],)),
    "add_ doubles": ([[1.0]], "add", lambda xs: ([x.double() for x in xs],)),
    "add_ larger": ([[1.0, 2.0]], "add", lambda xs: ([xs[0].expand(2, 2)],)),
    "add_ smaller": ([[1.0, 2.0]], "add", lambda xs: ([xs[0][0] * 2],)),
    "add_ a part": ([[1.0, 2.0]], "add", lambda xs: ([xs[0][:1]],)),
    "add_ themselves": ([[1.0, 2.0], [3.0]], "add", lambda xs: (xs,)),
    "mul_ bools": ([[True]], "mul", lambda xs: (2,)),
    "div_ ints": (INTEGERS, "div", lambda xs: (2,)),
    "pow_ ints": (INTEGERS, "pow", lambda xs: (2,)),
    "pow_ to a float": (INTEGERS, "pow", lambda xs: (0.5,)),
    "sqrt_ ints": (INTEGERS, "sqrt", lambda xs: ()),
    "abs_ complex": ([[4 + 1j]], "abs", lambda xs: ()),
    "neg_ bools": ([[True]], "neg", lambda xs: ()),
    "lerp_ ints": (INTEGERS, "lerp", lambda xs: (xs, 0.5)),
    "addcmul_ ints": (INTEGERS, "addcmul", lambda xs: (xs, xs, 1.5)),
    "copy_ floats": (INTEGERS, "copy", lambda xs: ([x / 2 for x in xs],)),
    "zero_ ints": (INTEGERS, "zero", lambda xs: ()),
    "add_ backwards": ([[1.0, 2.0], [3.0, 4.0]], "add", lambda xs: (xs[::-1],)),
    "mul_ by the first": ([3.0, 5.0], "mul", lambda xs: (xs[0],)),
    "add_ a float at last": ([[1.0], [2.0], [3]], "add", lambda xs: (1.5,)),
    "add_ a float in between": ([[1.0], [2], [3.0]], "add", lambda xs: ([1, 0.5, 2],)),
    "add_ a larger one": (
        [[1.0, 2.0], [3.0, 4.0]],
        "add",
        lambda xs: ([xs[0] * 2, xs[0].new_ones(2, 2)],),
    ),
    "add_ too few": ([[1.0], [2], [3.0]], "add", lambda xs: (xs[:2],)),
    "add_ one": ([[1.0], [2]], "add", lambda xs: ([xs[0] * 1],)),
    "mul_ by two": ([[1.0], [2]], "mul", lambda xs: (xs[0].expand(2) * 2,)),
    "addcmul_ by a tensor": (
        [[1.0, 2.0], [3.0, 4.0]],
        "addcmul",
        lambda xs: (xs[::-1], xs, xs[0] * 2),
    ),
    "addcdiv_ the next": (
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "addcdiv",
        lambda xs: (xs[1:] + xs[:1], xs, [1.0, 2.0, 3.0]),
    ),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_in_place(write):
    values, name, operands = write

    def told(device):
        xs = [torch.tensor(each).to(device) for each in values]
        try:
            getattr(torch, f"_foreach_{name}_")(xs, *operands(xs))
        except RuntimeError as error:
            words = str(error).splitlines()[0]
            return type(error), words, [x.tolist() for x in xs]
        return [x.tolist() for x in xs]

    eager = told("cpu")
    for _ in range(2):  # the second call does not ask again
        assert told("lazy") == eager


NOT_FITTING = {
    "addcmul": lambda xs: ([x * 1 for x in xs], [x * 1 for x in xs], 300),
    "addcdiv": lambda xs: (xs, [x * 1 for x in xs], [1, 300, 2]),
    "clamp_min": lambda xs: (300,),
    "clamp_max": lambda xs: ([1, -300, 2],),
    "maximum": lambda xs: ([1, 300, 2],),
    "pow": lambda xs: (300,),
    "add": lambda xs: (300,),
}


@pytest.mark.parametrize("name", NOT_FITTING)
def test_those_before_a_number_that_does_not_fit_are_written(name):
    def told(device):
        bytes_between = [[1.0, 2.0], torch.tensor([3], dtype=torch.uint8), [4.0]]
        xs = [torch.as_tensor(each).to(device) for each in bytes_between]
        try:
            getattr(torch, f"_foreach_{name}_")(xs, *NOT_FITTING[name](xs))
        except RuntimeError as error:
            return str(error), [x.tolist() for x in xs], [x._version for x in xs]
        return [x.tolist() for x in xs]

    eager = told("cpu")
    for _ in range(2):
        assert told("lazy") == eager


@pytest.mark.parametrize("devices", ["lazy cpu", "cpu lazy", "lazy lazy"])
def test_lists_are_copied_between_devices(devices):
    to, source = devices.split()
    xs = [torch.zeros(2, device=to), torch.zeros(2, device="lazy")]
    ys = [torch.ones(2, device=source), torch.tensor(2, device=source)]
    versions = [x._version for x in xs]
    torch._foreach_copy_(xs, ys)
    assert [x.tolist() for x in xs] == [[1.0, 1.0], [2.0, 2.0]]
    assert [x.device.type for x in xs] == [to, "lazy"]
    assert [x._version for x in xs] == [version + 1 for version in versions]


MIXED = {
    "add": lambda xs, ys: (1,),
    "mul": lambda xs, ys: (ys,),
    "div": lambda xs, ys: (torch.tensor(2.0),),
    "addcdiv": lambda xs, ys: (ys, ys, [2.0, 3.0, 4.0]),
    "lerp": lambda xs, ys: (ys, 0.5),
    "sqrt": lambda xs, ys: (),
    "pow": lambda xs, ys: ([1, 2, 3],),
    "zero": lambda xs, ys: (),
    "sub": lambda xs, ys: (ys[:2],),
}


@pytest.mark.parametrize("name", MIXED)
def test_lists_of_two_devices_are_taken_one_by_one(name):
    def told(*devices):
        xs = [torch.full((2,), i + 1.0, device=d) for i, d in enumerate(devices)]
        ys = [torch.full((2,), 2.0, device=d) for d in devices]
        try:
            make = getattr(torch, f"_foreach_{name}", torch._foreach_clone)
            news = make(xs, *MIXED[name](xs, ys))
            getattr(torch, f"_foreach_{name}_")(xs, *MIXED[name](xs, ys))
        except RuntimeError as error:
            return str(error)
        assert all([x.device.type for x in each] == [*devices] for each in (xs, news))
        return [x.tolist() for x in [*xs, *news]], [x._version for x in xs]

    eager = told("cpu", "cpu", "cpu")
    assert told("lazy", "cpu", "lazy") == eager
    assert told("cpu", "lazy", "cpu") == eager


def test_norms_of_a_list_of_two_devices():
    def norms(device):
        xs = [torch.ones(4, requires_grad=True, device=d) for d in ("cpu", device)]
        norms = torch._foreach_norm(torch._foreach_mul(xs, 2.0))
        sum(norm.cpu() for norm in norms).backward()
        return [norm.tolist() for norm in norms], [x.grad.tolist() for x in xs]

    assert norms("lazy") == norms("cpu")


def test_parts_that_overlap_are_written_one_after_the_other():
    def written(device):
        x = torch.arange(1.0, 7.0).to(device)
        torch._foreach_mul_([x[0:3], x[2:5], x[1:4]], [2.0, 3.0, 5.0])
        return x.tolist()

    assert written("lazy") == written("cpu")


def test_gradients_that_overlap_are_unscaled_one_after_the_other():
    def unscaled(device):
        x, found = torch.arange(1.0, 6.0).to(device), torch.zeros(1, device=device)
        half = torch.tensor([0.5], device=device)
        torch._amp_foreach_non_finite_check_and_unscale_([x[:3], x[1:]], found, half)
        return x.tolist(), found.item()

    assert unscaled("lazy") == unscaled("cpu")


NUMBERS = {
    "reals": ([2.0, 3.0], [2.0, 3.0], [2.0, 3.0]),
    "integers": ([2, 3], [2, 3], [2, 3]),
    "bools": ([True, False], [False, True], [True, True]),
    "bools and others": ([True, 2], [False, 0.5], [1, True]),
}


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS)
def test_lists_of_numbers(numbers):
    def computed(device):
        xs = [torch.full((n,), n + 1.0, device=device) for n in (2, 3)]
        for name, given in zip(("add", "mul", "pow"), numbers, strict=True):
            yield [x.tolist() for x in getattr(torch, f"_foreach_{name}")(xs, given)]
        for given in numbers:
            for name in ("addcmul", "addcdiv"):
                made = getattr(torch, f"_foreach_{name}")(xs, xs, xs, given)
                yield [x.tolist() for x in made]

    assert list(computed("lazy")) == list(computed("cpu"))


PACKED = {
    "reals": torch.tensor([2.0, 3.0]),
    "halves": torch.tensor([2.0, 0.5], dtype=torch.half),
    "integers": torch.tensor([2, 3]),
    "bools": torch.tensor([True, False]),
    "complexes": torch.tensor([1j, 2]),
    "too many": torch.tensor([1.0, 2.0, 3.0]),
    "a matrix": torch.tensor([[1.0, 2.0]]),
    "a strided one": torch.arange(4.0)[::2],
}


@pytest.mark.parametrize("name", ["addcmul", "addcdiv", "addcmul_", "addcdiv_"])
@pytest.mark.parametrize("scalars", PACKED.values(), ids=PACKED)
def test_numbers_in_a_tensor_of_the_host(name, scalars):
    def computed(device):
        lists = [
            [torch.full((n,), n + 1.0, device=device) for n in (2, 3)] for _ in range(3)
        ]
        try:
            made = getattr(torch, f"_foreach_{name}")(*lists, scalars=scalars)
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return [x.tolist() for x in made or lists[0]]

    assert computed("lazy") == computed("cpu")
