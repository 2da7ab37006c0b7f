# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call that equals an earlier one takes a shorter way, to eager's results."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from comparing import from_one as numbers
from repeated import RUNS
from torch_ltc import errors


def describe(value):
    if isinstance(value, int):
        return value
    if isinstance(value, torch.Tensor):
        return value.tolist(), value.stride(), value.storage_offset()
    return tuple(map(describe, value))


def outcome(program, device):
    try:
        return describe(program(device))
    except RuntimeError as error:
        return str(error).splitlines()[0]


def cpu(values):
    return [v.cpu() for v in torch.utils._pytree.tree_leaves(values) if v is not None]


unmet = itertools.count(11)


def assert_runs_alike(program, counts):
    """Fail if the run that meets the calls of program(rows) leaves other graphs."""
    rows = next(unmet)
    first = program(rows)
    met = counts["codegen.graphs"]
    assert met > 0
    counts.restart()
    torch.testing.assert_close(program(rows), first)
    assert counts["codegen.graphs"] == 0


def same(program):
    eager = outcome(program, "cpu")
    assert [outcome(program, "lazy") for _ in range(RUNS)] == [eager] * RUNS


VIEWS = {
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[:, 1],
    "view": lambda x: x.view(3, 2, 4),
    "t": lambda x: x.t(),
    "transpose": lambda x: x.unsqueeze(2).transpose(0, 2),
    "permute": lambda x: x.view(2, 3, 4).permute(2, 0, 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "a view of a view": lambda x: (
        x.t()[1:].unsqueeze(0)[0].view(3, 6)
        if x.stride(0) == 1
        else x.t()[1:].unsqueeze(0)[0]
    ),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_show_and_write_what_eager_does(view):
    def program(device):
        x = numbers(device, 6, 4)
        before = view(x)
        x.mul_(2)
        after = view(x)
        seen = after + 1
        after.add_(numbers(device, *after.shape))
        return x, before, after, seen, view(x)

    same(program)


def test_views_of_a_write_that_has_not_reached_the_base():
    def program(device):
        x = numbers(device, 4, 4)
        x[0].fill_(7)
        row = x.t()[0]
        x[1:3].mul_(3)
        return row, x

    same(program)


def test_view_refuses_strides_after_its_copy_was_recorded():
    def program(device):
        x = numbers(device, 4, 6)
        torch.view_copy(x.t().contiguous(), (24,))
        return x.t().view(24)

    same(program)


def test_gradients_through_views():
    def program(device):
        x = numbers(device, 4, 6).requires_grad_()
        y = x * 2
        y[1:3].t()[0].mul_(3)
        (y.view(2, 12).select(0, 1) * y.transpose(0, 1)[2:].sum()).sum().backward()
        return x.grad

    same(program)


IN_PLACE = {
    "alone": lambda x: (x.add_(1), x),
    "a detached one sees it": lambda x: (x.detach(), x.add_(1)),
    "a view sees it": lambda x: (x[0], x.add_(1)),
    "a copy does not": lambda x: (x.clone(), x.add_(1)),
    "twice": lambda x: (x.add_(1).mul_(x), x),
    "its old value lives": lambda x: (x * 2, x.sub_(3)),
    "after data=": lambda x: (x.data.add_(1), x),
    "after set_": lambda x: (torch.zeros_like(x).set_(x).add_(1), x),
    "a broadcast operand": lambda x: x.add_(x[0].clone()),
    "a larger operand": lambda x: x[0].clone().add_(x),
    "a float operand": lambda x: x.long().add_(0.5),
    "a comparison": lambda x: x.gt_(3),
    "transposed": lambda x: x.t().contiguous().t().add_(x),
}


@pytest.mark.parametrize("write", IN_PLACE.values(), ids=IN_PLACE)
def test_in_place_ops(write):
    def program(device):
        x = numbers(device, 3, 4)
        _ = x + x[0], x[0] + x, x.long() + 0.5, x > 3  # meets the functional ops
        return write(x)

    same(program)


ROUTES = {
    "alone": lambda x: x.div_(x.sum(-1, keepdim=True)),
    "a view of it afterwards": lambda x: x.div_(3).reshape(-1) * 2,
    "through a view": lambda x: (x[1:].mul_(2), x.t() + 1, x),
    "with a view": lambda x: (x[1:], x.mul_(2), x[1:] + 1),
    "of another dtype": lambda x: x.gt_(3).view(-1) + 1,
    "lists": lambda x: (torch._foreach_mul_([x], 3.0), x[0] + 1),
    "out=": lambda x: (torch.add(x, x, out=x), x.t() + 1),
    "many parts": lambda x: (x.add_(1), [p * 2 for p in x.split(4)], x[0].expand(3, 4)),
}


@pytest.mark.parametrize("write", ROUTES.values(), ids=ROUTES)
def test_the_first_run_leaves_the_graphs_of_later_ones(write, counts):
    def program(rows):
        x = numbers("lazy", rows, 4)
        kept = write(x)
        torch.lazy.mark_step()
        return x, kept

    assert_runs_alike(lambda rows: cpu(program(rows)), counts)


def test_lists_in_place():
    def program(device):
        xs = [numbers(device, 3), numbers(device, 2, 2)]
        torch._foreach_mul_(xs, 2.0)
        torch._foreach_add_(xs, [x.clone() for x in xs], alpha=0.5)
        row = xs[1][0]
        torch._foreach_add_(xs, xs)
        torch._foreach_sub_([row, xs[0]], 1.0)
        return *xs, row

    same(program)


def test_a_detached_tensor_shares_all():
    def program(device):
        x = numbers(device, 4, 3)
        y = x.t().detach()
        z = x.detach()
        x.mul_(2)
        seen = y + 0
        y[0].add_(1)
        z.sub_(x)
        x = None
        return y, z.add_(7).div_(2), z[1:], seen, z._version

    same(program)


def test_gradients_that_add_up_are_like_eagers():
    def program(device):
        x = numbers(device, 4, 3).requires_grad_()
        (x * x).sum().backward()
        kept, half = x.grad, x.grad * 0.5
        (x * half).sum().backward()
        x.grad.clamp_(max=9.0)
        return kept, x.grad[1:] + 1, half

    same(program)


def test_saved_values_are_guarded():
    def program(device):
        x = numbers(device, 4).requires_grad_()
        y = x.exp()
        y.add_(1)
        y.sum().backward()
        return x.grad

    for device in ("cpu", *["lazy"] * RUNS):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            program(device)


def test_inference_mode():
    def program(device):
        x = numbers(device, 4, 4)
        with torch.inference_mode():
            y = x[1:] * 2
            y.add_(1)
            z = y.t()[0]
        return x, y, z

    same(program)


def test_a_steady_loop_that_changes_in_the_midst():
    """One op, one shape, one number, one live tensor differ, once each."""

    def program(device):
        x, kept = numbers(device, 4, 4), []
        for step in range(24):
            y = x.sigmoid() if step == 5 else x.tanh()
            z = y[:2] if step == 9 else y
            x.mul_(0.5 if step == 13 else 0.75)
            x[: z.shape[0]].add_(z)
            if step == 17:
                kept.append(y * 2)
            if device == "lazy":
                torch.lazy.mark_step()
        return x.sum(), *kept

    cpu, lazy = (program(device) for device in ("cpu", "lazy"))
    torch.testing.assert_close([t.cpu() for t in lazy], list(cpu))


def test_other_devices_are_refused_after_a_call_was_met():
    x = numbers("lazy", 3)
    for _ in range(RUNS):
        assert (x + x).tolist() == [2, 4, 6]
    with pytest.raises(errors.Error, match="same device"):
        x + torch.ones(3)
    with pytest.raises(errors.Error, match="same device"):
        x.add_(torch.ones(3))
    assert x.tolist() == [1, 2, 3]


def test_numbers_of_python():
    def program(device):
        x = numbers(device, 3)
        return x * 2, x * 2.5, x * True, x.long() * 2, x.long() * 2.5, 1 - x, 2**x

    same(program)


def failing_line(line):
    """Return the line that an error names: code of its own file fails there."""
    # A graph of its own, too: an equal one would name the line it was made at.
    table = torch.zeros(10, line, device="lazy")
    call = "torch.nn.functional.embedding(torch.tensor([12], device='lazy'), table)"
    body = compile("\n" * (line - 1) + f"kept = {call}\n", "made_up.py", "exec")
    names = {"torch": torch, "table": table}
    exec(body, names)
    with pytest.raises(errors.Error) as caught:
        torch.lazy.synchronize()
    return caught.value.line


def test_code_in_the_place_of_dead_code_has_lines_of_its_own():
    """Lines are remembered by places in code, and memory is used again."""
    assert [failing_line(line) for line in range(1, 13)] == list(range(1, 13))


@pytest.mark.parametrize("write", ["fill_", "add_", "copy_"])
def test_an_op_of_several_keeps_the_sizes_of_a_view_of_what_was_written(write):
    weight, bias = torch.randn(2, 2), torch.randn(2)
    lazy_weight, lazy_bias = weight.to("lazy"), bias.to("lazy")
    for rows in range(3, 9):
        x, y = torch.zeros(rows, 2), torch.zeros(rows, 2, device="lazy")
        for base in (x, y):
            value = torch.ones(rows, 2) if write == "copy_" else 1.5
            view = base.unsqueeze(1)
            getattr(base, write)(value)
        fresh = F.linear(y.unsqueeze(1), lazy_weight, lazy_bias)
        stale = F.linear(view, lazy_weight, lazy_bias)
        expected = F.linear(x.unsqueeze(1), weight, bias)
        for found in (fresh, stale):
            assert found.shape == expected.shape
            torch.testing.assert_close(found.cpu(), expected)


BORN = {
    "zeros": lambda rows, device: torch.zeros(rows, 1, 2, device=device),
    "moved": lambda rows, device: torch.zeros(rows, 1, 2).to(device),
    "clone": lambda rows, device: torch.zeros(rows, 1, 2, device=device).clone(),
    "detach": lambda rows, device: torch.zeros(rows, 1, 2, device=device).detach(),
    "cast": lambda rows, device: torch.zeros(rows, 1, 2, device=device).int().float(),
    "sum": lambda rows, device: torch.zeros(rows, 3, 2, device=device).sum(1, True),
    "two": lambda rows, device: torch.zeros(rows, 1, 2, device=device).max(1, True)[0],
    "expand": lambda rows, device: torch.zeros(rows, 1, 1).to(device).expand(-1, 1, 2),
    "split": lambda rows, device: torch.zeros(rows, 2, 2, device=device).split(1, 1)[1],
    "turned": lambda rows, device: torch.zeros(1, 2, rows).to(device).permute(2, 0, 1),
    "unsqueeze_": lambda rows, device: torch.zeros(rows, 2).to(device).unsqueeze_(1),
}


@pytest.mark.parametrize("born", BORN.values(), ids=BORN)
def test_any_tensor_keeps_its_sizes_while_an_op_of_several_runs(born):
    weight, bias = torch.randn(2, 2), torch.randn(2)
    for rows in range(3, 9):
        results = []
        for device in ("cpu", "lazy"):
            x = born(rows, device)
            part = x[1:]
            part[0].fill_(1.5)
            layer = weight.to(device), bias.to(device)
            results += [F.linear(x, *layer), F.linear(part, *layer)]
        for expected, found in zip(results[:2], results[2:], strict=True):
            assert found.shape == expected.shape
            torch.testing.assert_close(found.cpu(), expected)


def test_a_view_of_what_was_written_is_taken_once(counts):
    for run in range(RUNS):
        x = numbers("lazy", 4, 6)
        x[0].fill_(7)
        _ = x + 1  # the write reaches the base
        before = counts["record.ops"]
        # The column is strided, for which view() asks; views of all kinds, then.
        _ = x.t()[1].view(2, 2).expand(3, 2, 2).unfold(1, 1, 1) + 1
        _ = x.split(2)[1].unbind()[0].view(6, 1).squeeze() + 1
        # Who reads it tries several ways until the call is one met before.
        assert run == 0 or counts["record.ops"] - before == 11


def test_sizes_follow_what_changes_them():
    def program(device):
        x = numbers(device, 4, 6)
        seen = [tuple(x.shape)]
        for change in (
            lambda: x.t_(),
            lambda: x.unsqueeze_(0),
            lambda: x.transpose_(0, 2),
            lambda: x.squeeze_(),
            lambda: x.as_strided_((3, 4), (1, 6)),
            lambda: x.resize_(2, 2),
            lambda: x.set_(numbers(device, 5)),
            lambda: setattr(x, "data", numbers(device, 2, 3)),
        ):
            change()
            seen.append((tuple(x.shape), x.stride(), x.numel(), x.dim()))
            seen.append((x + 1).sum().item())
        return seen

    assert [program("lazy") for _ in range(RUNS)] == [program("cpu")] * RUNS


SHOWN_IN_PLACE = {
    "a transposed one, smaller": lambda x: x.t_().resize_(2, 2),
    "a column, as long": lambda x: x[:, 1].resize_(2, 2),
    "a row, shorter": lambda x: x[1].resize_(2),
    "smaller, and as it was": lambda x: x.resize_(3).resize_(4, 6),
    "none, and as it was": lambda x: x.resize_(0).resize_(4, 6),
    "larger": lambda x: x.resize_(5, 6)[:4],
    "larger than its view": lambda x: x[0].resize_(2, 6),
    "channels last": lambda x: x.resize_(1, 2, 2, 2, memory_format=torch.channels_last),
    "strides of a transposed one": lambda x: x.t_().as_strided_((2, 2), (1, 6)),
    "strides of a column": lambda x: x[:, 1].as_strided_((3,), (2,)),
    "strides of a row": lambda x: x[1].as_strided_((2, 2), (1, 1), 6),
}


@pytest.mark.parametrize("show", SHOWN_IN_PLACE.values(), ids=SHOWN_IN_PLACE)
def test_a_tensor_shows_other_places_of_its_storage(show):
    def program(device):
        x = numbers(device, 4, 6)
        kept = x[:]
        if show is SHOWN_IN_PLACE["larger"]:
            kept = x.clone()
        shown = show(x)
        first = shown + 1
        kept.add_(numbers(device, 4, 6))
        shown.fill_(7)
        return shown, first, kept

    same(program)


def test_a_call_in_another_default_dtype_is_another_call():
    def program(device):
        made = []
        for dtype in (torch.float32, torch.float64, torch.float16, torch.float32):
            torch.set_default_dtype(dtype)
            count = torch.tensor([1, 2], device=device)
            made += [torch.ones(2, device=device), count / 2, count.sqrt(), count.sum()]
            made += [torch.linspace(0, 1, 3, device=device), count * 0.5]
        return [(t.dtype, t.tolist()) for t in made]

    before = torch.get_default_dtype()
    try:
        assert program("lazy") == program("cpu")
    finally:
        torch.set_default_dtype(before)


CONJUGATES = {
    "resolve_conj": lambda z: z.conj().resolve_conj(),
    "of a view": lambda z: z.conj()[1:].t().resolve_conj(),
    "of a view of a view": lambda z: z[1:].conj().conj().resolve_conj(),
    "of itself": lambda z: z.resolve_conj(),
    "conj": lambda z: z.conj(),
    "mH": lambda z: z.mH,
}


@pytest.mark.parametrize("conjugate", CONJUGATES.values(), ids=CONJUGATES)
def test_a_resolved_conjugate_is_a_copy(conjugate):
    def program(device):
        z = torch.complex(numbers(device, 3, 2), numbers(device, 3, 2) + 1)
        result = conjugate(z)
        z.mul_(2)
        before = result * 1
        result.mul_(3)
        return torch.view_as_real(before), torch.view_as_real(z)

    same(program)
