# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strides, and what programs do by them, are eager's."""

import pytest
import torch
import torch_ltc
from comparing import numbers
from parity import OPS
from sampling import sampled
from torch.nn import functional
from torch.utils import _pytree as pytree

CHANNELS_LAST = {"memory_format": torch.channels_last}


def images(device):
    return numbers(device, 2, 3, 4, 4).to(**CHANNELS_LAST)


def describe(result):
    return pytree.tree_map_only(
        torch.Tensor,
        lambda t: (t.tolist(), t.stride(), t.storage_offset(), t.is_contiguous()),
        result,
    )


def same(program):
    found = []
    for device in ("cpu", "lazy"):
        try:
            found.append(describe(program(device)))
        except (RuntimeError, IndexError) as error:
            found.append(str(error).splitlines()[0])
    assert found[1] == found[0]


VIEWS = {
    "t": lambda x: x.flatten(1).t(),
    "permute": lambda x: x.permute(0, 2, 1, 3),
    "slice": lambda x: x[:, 1:],
    "slices": lambda x: x[1][2:, ::2],
    "unfold": lambda x: x.unfold(1, 2, 1),
    "diagonal": lambda x: x.diagonal(0, 2, 3),
    "expand": lambda x: x[:, :1].expand(2, 5, 4, 4),
    "squeeze": lambda x: x[:, :, :1].squeeze(2),
    "unsqueeze": lambda x: x.transpose(0, 1).unsqueeze(1),
    "split": lambda x: x.split(2, dim=1),
    "unbind": lambda x: x.unbind(1),
    "mT": lambda x: x.mT,
    "swapped in place": lambda x: x.clone().transpose_(0, 2),
    "channels_last": lambda x: x.to(**CHANNELS_LAST),
    "real": lambda x: torch.view_as_real(torch.complex(x, x)).select(-1, 1),
    "diagonal_copy": lambda x: torch.diagonal_copy(x, 0, 2, 3),
    "expand_copy": lambda x: torch.expand_copy(x[:1], (3, 3, 4, 4)),
}


@pytest.mark.parametrize("view", VIEWS)
def test_view(view):
    same(lambda d: VIEWS[view](numbers(d, 2, 3, 4, 4)))


COPIES = {
    "clone": lambda x: x.clone(),
    "clone to row-major": lambda x: x.clone(memory_format=torch.contiguous_format),
    "contiguous": lambda x: x.contiguous(),
    "cast": lambda x: x.to(torch.float64),
    "zeros_like": torch.zeros_like,
    "empty_like": lambda x: torch.empty_like(x).fill_(1),
    "new_empty_strided": lambda x: x.new_empty_strided((2, 3), (1, 2)).fill_(1),
    "add": lambda x: x + 1,
    "where": lambda x: torch.where(x > 3, x, 0.0),
    "sum": lambda x: x.sum(0, keepdim=True),
    "softmax": lambda x: x.softmax(0).round(),
    "stack": lambda x: torch.stack([x, x]),
    "cat": lambda x: torch.cat([x, x]),
}


@pytest.mark.parametrize("view", ["t", "permute", "slice", "unfold", "channels_last"])
@pytest.mark.parametrize("copy", COPIES)
def test_result_of_an_op(copy, view):
    same(lambda d: COPIES[copy](VIEWS[view](numbers(d, 2, 3, 4, 4))))


IMAGE_OPS = {
    "max_pool2d": lambda x: functional.max_pool2d(x, 2),
    "interpolate": lambda x: functional.interpolate(x, scale_factor=2),
    "adaptive_avg_pool2d": lambda x: functional.adaptive_avg_pool2d(x, 2),
    "conv2d": lambda x: functional.conv2d(x, torch.ones_like(x[:, :, :2, :2])),
    "relu": functional.relu,
    "permute to rows": lambda x: x.permute(0, 2, 3, 1).view(-1, 3),
}


@pytest.mark.parametrize("op", IMAGE_OPS)
def test_channels_last(op):
    same(lambda d: IMAGE_OPS[op](images(d)))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(2, 4, 3, 5), (2, 4, 3, 2, 2)])
def test_group_norm_keeps_channels_last(affine, shape, counts):
    last = torch.channels_last if len(shape) == 4 else torch.channels_last_3d

    def run(device):
        # Eager's sums of squares lose digits where the mean is large.
        x = numbers(device, *shape).cos().to(memory_format=last).requires_grad_()
        norm = torch.nn.GroupNorm(2, 4, affine=affine).to(device)
        y = norm(x)
        (y * numbers(device, *shape).sin()).sum().backward()
        return y.detach().cpu(), x.grad.cpu(), y.stride()

    found, wanted = run("lazy"), run("cpu")
    assert found[2] == wanted[2]
    torch.testing.assert_close(found[:2], wanted[:2])
    assert counts.fallbacks() == []


def test_what_group_norm_refuses():
    def message(device, **options):
        x = images(device)
        with pytest.raises(RuntimeError) as error:
            functional.group_norm(x, **options)
        return str(error.value).splitlines()[0]

    for options in ({"num_groups": 2}, {"num_groups": 3, "weight": torch.ones(2)}):
        assert message("lazy", **options) == message("cpu", **options)


def test_channels_last_network():
    def program(device):
        conv = torch.nn.Conv2d(3, 2, 3, bias=False)
        with torch.no_grad():
            conv.weight.fill_(0.5)
        conv.to(device).to(**CHANNELS_LAST)
        x = images(device).requires_grad_()
        conv(x).sum().backward()
        return conv.weight.detach(), conv.weight.grad, x.grad

    same(program)


def test_moves_between_devices():
    for x in (numbers("cpu", 3, 4).t(), images("cpu")):
        assert x.to("lazy").stride() == x.stride()
        assert x.to("lazy").cpu().stride() == x.stride()
        assert x.to("lazy").cpu().numpy().strides == x.numpy().strides
    strided = torch.empty_strided((2, 3), (1, 2), device="lazy")
    assert strided.stride() == (1, 2)


ALIASES = {
    "contiguous": lambda v: v.contiguous().add_(1),
    "reshape": lambda v: v.reshape(-1).mul_(0),
    "flatten": lambda v: v.flatten().zero_(),
    "view": lambda v: v.view(-1).zero_(),
    "to the same": lambda v: v.to(torch.float32).zero_(),
    "ravel": lambda v: v.ravel().fill_(7),
    "in place": lambda v: v.add_(1),
    "copy_": lambda v: v.copy_(torch.ones_like(v)),
    "out=": lambda v: torch.add(v.contiguous(), 1, out=v),
    "out= of another layout": lambda v: torch.mul(v.t(), 2, out=v.t()),
    "foreach": lambda v: torch._foreach_mul_([v], 3.0),
    "index_put_": lambda v: v.index_put_((torch.tensor([0]),), torch.tensor(5.0)),
    "as_strided": lambda v: v.as_strided((2,), (1,)).mul_(9),
    "as_strided with gaps": lambda v: v.as_strided((2,), (3,), 1).fill_(9),
    "scatter": lambda v: v.copy_(
        torch.as_strided_scatter(v, torch.full_like(v[0, :2], -1), (2,), (2,), 1)
    ),
}


@pytest.mark.parametrize("view", ["all", "t", "rows of t", "slice", "strided base"])
@pytest.mark.parametrize("write", ALIASES)
def test_a_write_reaches_what_it_reaches_in_eager(write, view):
    def program(device):
        x = numbers(device, 4, 4)
        if view == "strided base":
            x = x.t().clone()
        v = {"t": x.t(), "rows of t": x.t()[1:], "slice": x[1:]}.get(view, x)
        ALIASES[write](v)
        return x, v, x.view(2, 8) if x.is_contiguous() else None

    same(program)


VIEWS_BY_STRIDES = {
    "view of a transpose": lambda x: x.t().view(-1),
    "view of rows of a transpose": lambda x: x.t()[:, :1].view(4),
    "as_strided of a transpose": lambda x: x.t().as_strided((3, 2), (2, 1)),
    "as_strided of a slice": lambda x: x[1:].as_strided((3, 2), (2, 1)),
    "with an offset": lambda x: x[1:].as_strided((3, 2), (2, 1), 1),
    "of a strided copy": lambda x: x.t().clone().as_strided((12,), (1,)),
    "beyond the storage": lambda x: x[1:].as_strided((5, 5), (2, 1)),
    "as_strided_copy": lambda x: torch.as_strided_copy(x.t(), (3, 2), (2, 1)),
}


@pytest.mark.parametrize("view", VIEWS_BY_STRIDES)
def test_view_that_asks_about_strides(view):
    same(lambda d: VIEWS_BY_STRIDES[view](numbers(d, 3, 4)))


REINTERPRETED = {
    "integers": lambda x: x[1:].view(torch.int32),
    "bytes": lambda x: x[2:3, 1:].view(torch.uint8),
    "pairs": lambda x: x.view(-1)[2:10].view(torch.float64),
    "complex": lambda x: torch.view_as_complex(x.view(6, 2)[1:]),
    "and back": lambda x: x.t().view(torch.int32).view(torch.float32)[1:],
}


@pytest.mark.parametrize("view", REINTERPRETED)
@pytest.mark.parametrize("strided", [None, 0, 1])
def test_view_of_another_dtype(view, strided):
    def program(device):
        v = REINTERPRETED[view](numbers(device, 3, 4))
        taken = v.as_strided((2, 1), (2, 1), strided), v.as_strided((3,), (1,))
        return v, taken, [each.dtype for each in taken], v.view(v.dtype)

    same(program)


def test_writes_to_views_of_another_dtype():
    def program(device):
        x = numbers(device, 3, 4)
        REINTERPRETED["integers"](x)[0, 1:].add_(1)
        REINTERPRETED["complex"](x).imag.mul_(2)
        REINTERPRETED["bytes"](x).zero_()
        return x

    same(program)


@pytest.mark.parametrize("view", ["integers", "pairs", "complex"])
@pytest.mark.parametrize("take", ["as_strided", "expand", "unfold"])
def test_writes_that_no_inverse_carries_back_are_refused(view, take):
    x = numbers("lazy", 3, 4)
    v = REINTERPRETED[view](x).flatten()
    arguments = {"as_strided": ((2,), (2,)), "expand": (2, -1), "unfold": (0, 2, 2)}
    with pytest.raises(torch_ltc.UnsupportedOpError, match="another dtype"):
        getattr(v, take)(*arguments[take]).zero_()
    assert torch.equal(x.cpu(), numbers("cpu", 3, 4))


def test_conjugates_are_strided():
    z = torch.tensor([1 + 2j, 3 + 4j, 5 + 6j], device="lazy")
    assert z.conj().as_strided((2,), (2,)).tolist() == [1 - 2j, 5 - 6j]
    assert z.conj()[2:].as_strided((2,), (1,), 1).tolist() == [3 - 4j, 5 - 6j]


def pooled(x):
    return functional.max_pool2d(x, 2, return_indices=True)


TRAINED = {
    "batch_norm": lambda x: functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: functional.group_norm(x, 2),
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[2:]),
    "conv_transpose2d": lambda x: functional.conv_transpose2d(x, x.detach()[:, :3]),
    "conv_transpose3d": lambda x: functional.conv_transpose3d(
        x[..., None], x.detach()[:, :3, :, :, None]
    ),
    "max_unpool2d": lambda x: functional.max_unpool2d(*pooled(x), 2),
    "pixel_shuffle": lambda x: functional.pixel_shuffle(x, 2),
    "channel_shuffle": lambda x: functional.channel_shuffle(x, 2),
    "replication_pad2d": lambda x: functional.pad(x, (1, 1, 1, 1), "replicate"),
    "mse_loss": lambda x: functional.mse_loss(x, x.detach().cos()),
    "smooth_l1_loss": lambda x: functional.smooth_l1_loss(x, x.detach().cos()),
    "div": lambda x: torch.div(x, torch.tensor(2.0), rounding_mode="floor"),
    "logaddexp": lambda x: torch.logaddexp(x, x[0]),
    "rfft2": lambda x: torch.fft.rfft2(x).abs(),
    "irfft": lambda x: torch.fft.irfft(x),
    "view_copy": lambda x: torch.view_copy(x, (4, -1)),
}


@pytest.mark.parametrize("layout", ["channels_last", "t", "permute"])
@pytest.mark.parametrize("op", TRAINED)
def test_layout_of_results_and_gradients(op, layout):
    def program(device):
        x = VIEWS[layout](numbers("cpu", 4, 4, 4, 4).sin())
        x = x.reshape(4, 4, 4, 4) if x.dim() == 2 else x
        x = _on_lazy(x) if device == "lazy" else x
        x.requires_grad_()
        y = TRAINED[op](x)
        if not y.requires_grad:
            return _strides(y)
        return _strides([y, torch.autograd.grad(y.sum(), x)])

    assert program("lazy") == program("cpu")


def test_division_of_strided_integers():
    def program(device):
        x = torch.arange(1, 13, device=device).view(3, 4).t()
        return torch.floor_divide(x, x.flip(0)), torch.unravel_index(x, (5, 3))

    same(program)


def test_empty_images_are_not_shuffled():
    x = torch.empty(0, 1, 6, 6)
    assert (
        functional.pixel_unshuffle(x.to("lazy"), 3).cpu().shape
        == functional.pixel_unshuffle(x, 3).shape
    )


def test_gradient_of_as_strided():
    def program(device):
        x = numbers(device, 3, 4).t().requires_grad_()
        x.as_strided((3, 2), (2, 1), 1).square().sum().backward()
        return x.grad

    same(program)


RESIZED = {
    "diagonal_copy": lambda x, out: torch.diagonal_copy(x, 1, out=out),
    "expand_copy": lambda x, out: torch.expand_copy(x[0], (3, 4), out=out),
    "unfold_copy": lambda x, out: torch.unfold_copy(x, 0, 2, 1, out=out),
    "t_copy": lambda x, out: torch.t_copy(x, out=out),
    "slice_scatter": lambda x, out: torch.slice_scatter(x.t(), x.t(), out=out),
    "remainder": lambda x, out: torch.remainder(x.t(), 2, out=out),
    "sort": lambda x, out: torch.sort(x.t(), out=(out, out.long()))[0],
}


@pytest.mark.parametrize("op", RESIZED)
def test_layout_of_out_that_is_resized(op):
    def program(device):
        out = torch.empty(0, device=device)
        RESIZED[op](numbers(device, 3, 4), out)
        flat = out.as_strided((out.numel(),), (1,))
        return out, flat, out[1:].add_(1), out

    same(program)


def test_out_that_fits_keeps_its_offset():
    def program(device):
        out = numbers(device, 4, 4)
        torch.unbind_copy(numbers(device, 4, 4), out=out.unbind())
        torch.diagonal_copy(numbers(device, 4, 4), 1, out=out[2, :3])
        return out, out[2, :3].storage_offset()

    same(program)


def test_resize_as_the_same_size_changes_nothing():
    def program(device):
        x = numbers(device, 3, 4).t()
        x.resize_as_(numbers(device, 4, 3))
        last = numbers(device, 2, 3, 4, 4)
        last.resize_as_(images(device), memory_format=torch.preserve_format)
        return x, last, numbers(device, 3, 4).resize_as_(numbers(device, 2))

    same(program)


EMPTY = {
    "zeros_like": torch.zeros_like,
    "clone": torch.clone,
    "flip": lambda x: x.flip(0),
    "isfinite": torch.isfinite,
    "add": lambda x: x + 1,
    "matmul": lambda x: x @ x.mT,
    "svd": lambda x: torch.linalg.svd(x, full_matrices=False)[2],
    "nonzero": torch.nonzero,
}


@pytest.mark.parametrize("shape", [(0, 3, 3), (1, 0, 3), (3, 0)])
@pytest.mark.parametrize("op", EMPTY)
def test_layout_where_there_are_no_elements(op, shape):
    def program(device):
        x = torch.empty(shape, device=device)
        wide = torch.empty((*shape[:-1], 1), device=device).expand(shape)
        steps = torch.empty((*shape, 2), device=device)[..., 1]
        return [EMPTY[op](each) for each in (x, x.mT, wide, steps)]

    same(program)


LIKE_THE_CPU = {
    "angle": torch.angle,
    "glu": lambda x: functional.glu(x, 1),
    "pow": lambda x: torch.pow(2.0, x),
    "hardswish": functional.hardswish,
    "hardtanh": functional.hardtanh,
    "bce": lambda x: functional.binary_cross_entropy(
        x.sigmoid(), x.detach().abs().contiguous(), reduction="none"
    ),
    "reflection_pad2d": lambda x: functional.pad(x, (1,) * 4, "reflect"),
    "reflection_pad3d": lambda x: functional.pad(x, (1,) * 6, "reflect"),
    "replication_pad3d": lambda x: functional.pad(x, (1,) * 6, "replicate"),
    "conv_transpose3d": lambda x: functional.conv_transpose3d(x[None], x[:, None]),
    "ldexp": lambda x: torch.ldexp(x[:, :1], x),
    "svd": lambda x: torch.linalg.svd(x, full_matrices=False),
    "eig": torch.linalg.eig,
}


@pytest.mark.parametrize("layout", ["given", "channels_last", "permute"])
@pytest.mark.parametrize("op", LIKE_THE_CPU)
def test_layout_that_meta_kernels_miss(op, layout):
    def program(device):
        x = numbers(device, 4, 4, 4, 4).sin()
        x = VIEWS[layout](x) if layout != "given" else x
        x.requires_grad_()
        y = pytree.tree_leaves(LIKE_THE_CPU[op](x))
        if op in ("svd", "eig"):
            return _strides(y)
        return _strides([y, torch.autograd.grad(y[0].sum(), x)])

    assert program("lazy") == program("cpu")


def test_layout_of_nonzero_static():
    same(lambda device: torch.nonzero_static(numbers(device, 2, 3), size=4).view(-1))


def test_layout_of_gradients():
    def program(device):
        linear = torch.nn.Linear(4, 3, device=device)
        x = numbers(device, 2, 3, 4).requires_grad_()
        linear(x.permute(1, 0, 2)).sum().backward()
        return linear.weight.grad.stride(), x.grad.stride()

    same(program)


# What eager runs and lazy refuses, with the words.
REFUSED = {
    "as_strided.partial_views": "of a tensor whose storage has gaps or overlaps",
    "tensor_split": "tensor_indices_or_sections to be on cpu",
}


def _on_lazy(tensor):
    if tensor.layout != torch.strided:
        return tensor
    return torch.empty_strided(
        tensor.size(), tensor.stride(), dtype=tensor.dtype, device="lazy"
    ).copy_(tensor)


def _strides(result):
    # Along a dimension of one element, a stride says nothing.
    return [
        [stride for stride, size in zip(t.stride(), t.shape, strict=True) if size > 1]
        for t in pytree.tree_leaves(result)
        if isinstance(t, torch.Tensor) and t.layout == torch.strided and t.numel()
    ]


def _dtype_of(op):
    supported = op.supported_dtypes("cpu")
    kinds = (torch.float32, torch.int64, torch.complex64)
    return next((dtype for dtype in kinds if dtype in supported), None)


# Sparse matrices have no strides.
WITH_STRIDES = [
    name
    for name, op in OPS.items()
    if _dtype_of(op) and not name.startswith(("sparse.mm", "sparse.sampled"))
]


@pytest.mark.parametrize("name", sampled(WITH_STRIDES))
def test_strides_of_every_op(name):
    op = OPS[name]
    sample = next(iter(op.sample_inputs("cpu", _dtype_of(op))))
    samples = [sample, sample.noncontiguous()]
    refused = False
    for sample in samples:
        call = (sample.input, sample.args, sample.kwargs)
        call = pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, call)
        try:
            eager = op(call[0], *call[1], **call[2])
        except (RuntimeError, AssertionError):
            continue  # noncontiguous() also makes samples that no device takes
        call = pytree.tree_map_only(torch.Tensor, _on_lazy, call)
        try:
            lazy = op(call[0], *call[1], **call[2])
        except RuntimeError as error:
            assert REFUSED.get(name, "nothing is") in str(error)
            refused = True
            continue
        assert _strides(lazy) == _strides(eager)
    assert refused == (name in REFUSED), "take it out of the table"
