# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input gets eager's exception and eager's words, over OpInfo's own samples."""

import re

import pytest
import torch
from parity import OPS
from sampling import sampled
from torch.utils import _pytree as pytree

# What eager's kernels refuse of dtypes they have nothing for, and lazy does not, or
# in other words: op -> why.
OTHER_DTYPES = {
    "histc": "integers are counted, as on GPUs: mixture models ask for it there",
    "stft": "the message shows the tensor's type",
}
# Ops that refuse values, such as an index, or look at them before they refuse anything
# else: lazy does when they are read.
LOOKS_AT_VALUES = {
    "_segment_reduce.lengths",
    "gather",
    "masked_fill",
    "scatter",
    "scatter_add",
}
DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.complex64,
)


def to_lazy(tree):
    """Copy a tree of CPU tensors; what shares memory there, shares it on lazy."""
    bases = {}

    def move(tensor):
        if tensor.device.type != "cpu":
            return tensor
        if tensor.layout != torch.strided:
            return tensor.detach().to("lazy")
        tensor = tensor.detach()
        storage = tensor.untyped_storage()
        key = (storage._cdata, tensor.dtype)
        layout = (tensor.size(), tensor.stride(), tensor.storage_offset())
        if key not in bases:
            is_whole = tensor.numel() * tensor.itemsize == storage.nbytes()
            if is_whole and tensor.is_contiguous():
                bases[key] = tensor.to("lazy")
                return bases[key]
            bases[key] = torch.empty(0, dtype=tensor.dtype).set_(storage).to("lazy")
        return bases[key].as_strided(*layout)

    return pytree.tree_map_only(torch.Tensor, move, tree)


def call(op, sample, device, reads):
    arguments = (sample.input, sample.args, sample.kwargs)
    if device == "lazy":
        arguments = to_lazy(arguments)
    result = op(arguments[0], *arguments[1], **arguments[2])
    if reads:
        pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, result)


def anonymous(error):
    """Return the message without the name of the device."""
    return re.sub(r"lazy(:0)?|cpu", "<device>", str(error).splitlines()[0].strip())


def raised(op, sample, device, reads=False):
    """Return what the call raises, or None."""
    try:
        call(op, sample, device, reads)
    except Exception as error:
        return error
    return None


def is_eagers(error, eager):
    return isinstance(error, type(eager)) and anonymous(eager) in anonymous(error)


def differences(op, samples, reads):
    """Return pairs of what eager and lazy raise, where lazy's is not eager's."""
    pairs = []
    for sample in samples:
        eager = raised(op, sample, "cpu")
        if eager is not None:
            pairs.append((eager, raised(op, sample, "lazy", reads)))
    return [(eager, lazy) for eager, lazy in pairs if not is_eagers(lazy, eager)]


def with_errors():
    return [name for name, op in OPS.items() if op.error_inputs_func]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sampled(with_errors()))
def test_errors_are_eagers(name):
    samples = [error.sample_input for error in OPS[name].error_inputs("cpu")]
    assert not differences(OPS[name], samples, reads=name in LOOKS_AT_VALUES)


def of_refused_dtypes(op):
    """Yield a sample in each dtype that eager has no kernel for."""
    supported = op.supported_dtypes("cpu")
    own = next((d for d in (torch.float32, torch.int64) if d in supported), None)
    sample = next(iter(op.sample_inputs("cpu", own)), None) if own else None
    if sample is None:
        return
    for dtype in DTYPES:
        if dtype not in supported:
            yield sample.transform(
                lambda value, to=dtype: (
                    value.to(to)
                    if isinstance(value, torch.Tensor) and value.dtype == own
                    else value
                )
            )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sampled(OPS))
def test_refused_dtypes_are_eagers(name):
    samples = of_refused_dtypes(OPS[name])
    found = differences(OPS[name], samples, reads=name in LOOKS_AT_VALUES)
    if name in OTHER_DTYPES:
        assert found, "take it out of the table"
    else:
        assert not found


def ones(device, *shape, dtype=torch.float16):
    return torch.ones(shape, dtype=dtype, device=device)


AT_THE_CALL = {
    "polynomial": lambda d: torch.special.chebyshev_polynomial_t(ones(d, 3), 2),
    "bessel": lambda d: torch.special.bessel_j0(ones(d, 3, dtype=torch.bfloat16)),
    "gcd": lambda d: torch.gcd(ones(d, 3), ones(d, 3)),
    "bits": lambda d: ones(d, 3, dtype=torch.float32) & 1,
    "cdist": lambda d: torch.cdist(ones(d, 3, 2), ones(d, 4, 2)),
    "qr": lambda d: torch.linalg.qr(ones(d, 3, 3)),
    "fft": lambda d: torch.fft.rfft(ones(d, 8, dtype=torch.bfloat16)),
    "pivots": lambda d: torch.linalg.lu_solve(
        ones(d, 3, 3), ones(d, 3, dtype=torch.int32), ones(d, 3, 1)
    ),
    "groups": lambda d: torch.nn.functional.group_norm(
        ones(d, 1, 6, 3, dtype=torch.complex64), 2
    ),
    "parts": lambda d: torch.complex(ones(d, 3), ones(d, 3, dtype=torch.float32)),
    "volume": lambda d: torch.nn.functional.avg_pool3d(ones(d, 1, 1, 4, 4, 4), 2),
}


@pytest.mark.parametrize("program", AT_THE_CALL.values(), ids=AT_THE_CALL)
def test_dtypes_are_refused_at_the_call(program):
    with pytest.raises(RuntimeError) as eager:
        program("cpu")
    for _ in range(2):  # what is refused is not taken for one that was met before
        with pytest.raises(RuntimeError) as lazy:
            program("lazy")
        assert is_eagers(lazy.value, eager.value)


def chunked_loss(device, targets=4, dtype=torch.float32):
    return torch.nn.functional.linear_cross_entropy(
        torch.ones(4, 3, device=device),
        ones(device, 5, 3, dtype=dtype),
        ones(device, targets, dtype=torch.int64),
        options=torch.nn.LinearCrossEntropyOptions(),
    )


WRONG_ARGUMENTS = {
    "range": lambda d: torch.histc(ones(d, 3, dtype=torch.float32), 4, 0, float("inf")),
    "dilation": lambda d: torch.conv1d(
        ones(d, 1, 1, 4, dtype=torch.float64),
        ones(d, 1, 1, 2, dtype=torch.float64),
        dilation=0,
    ),
    "padding": lambda d: torch.conv1d(ones(d, 1, 1, 4), ones(d, 1, 1, 2), padding=-1),
    "weight": lambda d: torch.conv1d(
        ones(d, 1, 1, 4, dtype=torch.float32), ones(d, 1, 1, 2, dtype=torch.float64)
    ),
    "dim": lambda d: torch.softmax(ones(d, 3), -7),
    "no dim": lambda d: torch.logsumexp(ones(d, 3, 3, dtype=torch.float32), ()),
    "source": lambda d: ones(d, 3, 2).index_add(
        0, ones(d, 2, dtype=torch.int64), ones(d, 2)
    ),
    "slice": lambda d: ones(d, 4, 3).slice_scatter(ones(d, 1, 2, 3), 0, 0, 2),
    "row": lambda d: ones(d, 4, 3).select_scatter(ones(d, 1, 3), 0, 1),
    "scalar": lambda d: torch.select_scatter(ones(d), ones(d, 3), 0, 1),
    "diagonal": lambda d: ones(d, 3, 3).diagonal_scatter(ones(d, 1, 3)),
    "mask": lambda d: ones(d, 3).masked_scatter(
        ones(d, 3, dtype=torch.uint8), ones(d, 3)
    ),
    "boundaries": lambda d: torch.bucketize(ones(d, 3), ones(d, 2, 2)),
    "dimensions": lambda d: ones(d, *65 * [1], dtype=torch.float32).nansum(0),
    "slope": lambda d: torch.ops.aten.rrelu_with_noise_backward(
        *3 * [ones(d, 3, dtype=torch.float32)], -5.0, 1.0, False, True
    ),
    "bool": lambda d: torch.rsub(ones(d, 3, dtype=torch.bool), ones(d, 3)),
    "classes": lambda d: torch.nn.functional.cross_entropy(
        ones(d, 2, 3, dtype=torch.float64),
        ones(d, 2, dtype=torch.int64),
        ones(d, 3, dtype=torch.float32),
    ),
    "cross": lambda d: torch.linalg.cross(
        ones(d, 2, 3, dtype=torch.float32), ones(d, 2, 3, dtype=torch.int64)
    ),
    "last of none": lambda d: torch.trapezoid(ones(d)),
    "beta": lambda d: torch.nn.functional.smooth_l1_loss(
        ones(d, 3), ones(d, 3), beta=-1.0
    ),
    "delta": lambda d: torch.nn.functional.huber_loss(
        ones(d, 3), ones(d, 3), delta=-1.0
    ),
    "alpha": lambda d: torch.nn.functional.celu(ones(d, 3, dtype=torch.float32), 0.0),
    "probabilities": lambda d: ones(d, 3).bernoulli_(ones(d, 2)),
    "bounds of random integers": lambda d: torch.randint_like(ones(d, 3), 3, 1),
    "lambda": lambda d: torch.nn.functional.softshrink(ones(d, 3), -1.0),
    "maxnorm": lambda d: torch.renorm(ones(d, 3, 3, dtype=torch.float32), 2, 0, -1.0),
    "logits": lambda d: torch.nn.functional.binary_cross_entropy_with_logits(
        ones(d, 3, dtype=torch.int64), ones(d, 3, dtype=torch.float32)
    ),
    "groups of integers": lambda d: torch.nn.functional.group_norm(
        ones(d, 1, 4, 3, dtype=torch.float32), 2, ones(d, 4, dtype=torch.int64)
    ),
    "group of a strided": lambda d: torch.native_group_norm(
        ones(d, 1, 4, 6)[..., ::2], None, None, 1, 4, 3, 2, 1e-5
    ),
    "addmm": lambda d: torch.addmm(ones(d, 2, 3), ones(d, 2, 2), ones(d, 2, 1)),
    "addmm in place": lambda d: ones(d, 5).addmm_(ones(d, 2, 2), ones(d, 2, 3)),
    "baddbmm": lambda d: torch.baddbmm(ones(d, 5), ones(d, 2, 2, 3), ones(d, 2, 3, 4)),
    "addmv": lambda d: torch.addmv(ones(d, 5), ones(d, 2, 3), ones(d, 3)),
    "addr": lambda d: torch.addr(ones(d, 5), ones(d, 2), ones(d, 3)),
    "mixed convolution": lambda d: torch.conv1d(
        ones(d, 1, 1, 4, dtype=torch.int64), ones(d, 1, 1, 2, dtype=torch.float32)
    ),
    "output padding": lambda d: torch.conv_transpose1d(
        ones(d, 1, 1, 4), ones(d, 1, 1, 2), output_padding=3
    ),
    "segments": lambda d: torch.segment_reduce(
        ones(d, 3, dtype=torch.int32), "sum", lengths=ones(d, 1, dtype=torch.int64) * 3
    ),
    "index of floats": lambda d: ones(d, 3).index_select(0, ones(d, 1)),
    "index of a matrix": lambda d: ones(d, 3).index_select(
        0, ones(d, 1, 1, dtype=torch.int64)
    ),
    "item of another dtype": lambda d: ones(d, 3).__setitem__(
        ones(d, 1, dtype=torch.int64), ones(d, 1, dtype=torch.float64)
    ),
    "items of another number": lambda d: ones(d, 3).__setitem__(
        ones(d, 2, dtype=torch.int64), ones(d, 3)
    ),
    "index_reduce": lambda d: ones(d, 3).index_reduce(
        0, ones(d, 1, dtype=torch.int64), ones(d, 1, dtype=torch.float64), "mean"
    ),
    "index_copy": lambda d: ones(d, 3).index_copy(
        0, ones(d, 1, dtype=torch.int64), ones(d, 1, dtype=torch.float64)
    ),
    "grid": lambda d: torch.nn.functional.grid_sample(
        ones(d, 1, 1, 4, 4, dtype=torch.float32), ones(d, 1, 3, 3, 2, dtype=torch.int64)
    ),
    "sort": lambda d: ones(d, 3).sort(2),
    "copy": lambda d: ones(d, 3).copy_(ones(d, 4)),
    "copy of more": lambda d: ones(d, 3).copy_(ones(d, 2, 3)),
    "copy from the host": lambda d: ones(d, 3, 2).copy_(ones("cpu", 2, 3)),
    "t_": lambda d: ones(d, 3, 2, 2).t_(),
    "randn of integers": lambda d: torch.randn(2, dtype=torch.int64, device=d),
    "rand of bools": lambda d: torch.rand(2, dtype=torch.bool, device=d),
    "cummax": lambda d: torch.cummax(ones(d), 1),
    "targets of a chunked loss": lambda d: chunked_loss(d, targets=3),
    "dtypes of a chunked loss": lambda d: chunked_loss(d, dtype=torch.float64),
    "mvlgamma": lambda d: torch.mvlgamma(ones(d, 3, dtype=torch.float32), 0),
    "complex of a strided": lambda d: torch.view_as_complex(ones(d, 3, 4)[:, ::2]),
    "complex of odd strides": lambda d: torch.view_as_complex(ones(d, 3, 3)[:, :2]),
    "complex of an odd place": lambda d: torch.view_as_complex(
        ones(d, 9)[1:].view(4, 2)
    ),
    "dtype of a transposed": lambda d: ones(d, 4, 4).t().view(torch.float32),
    "dtype of none in columns": lambda d: ones(d, 4, 0).t().view(torch.float64),
    "dtype of an odd place": lambda d: ones(d, 9)[1:].view(torch.float32),
    "negative stride": lambda d: ones(d, 9).as_strided((3,), (-1,), 4),
    "negative offset": lambda d: ones(d, 9).as_strided((3,), (1,), -7),
    "slice of another size": lambda d: torch.as_strided_scatter(
        ones(d, 9), ones(d, 1), (2,), (1,)
    ),
    "strides too few": lambda d: torch.empty_strided((3, 3), (1,), device=d),
    "bounds": lambda d: ones(d, 3).random_(5, 2),
    "values of a row": lambda d: torch.linalg.eigvals(ones(d, 3, dtype=torch.float32)),
    "values of two rows": lambda d: torch.linalg.eigvals(
        ones(d, 2, 3, dtype=torch.float32)
    ),
    "factors without pivots": lambda d: torch.linalg.lu(
        ones(d, 2, 2, dtype=torch.float32), pivot=False
    ),
    "norm of integers": lambda d: torch.norm(ones(d, 3, dtype=torch.int64)),
    "norm of whole rows": lambda d: ones(d, 3, 3, dtype=torch.int64).norm(1, 0),
    "matrix norm of a row": lambda d: ones(d, 3, dtype=torch.float32).norm("nuc"),
    "unknown norm": lambda d: ones(d, 3, 3, dtype=torch.float32).norm("two"),
    "negative size": lambda d: torch.empty(-1, device=d),
    "samples of a few": lambda d: torch.multinomial(ones(d, 3), 4),
    "samples of rows of a few": lambda d: torch.multinomial(ones(d, 2, 3), 4),
    "samples of nothing": lambda d: torch.multinomial(ones(d, 0), 1, True),
    "no samples": lambda d: torch.multinomial(ones(d, 3), 0),
    "samples of integers": lambda d: torch.multinomial(
        ones(d, 3, dtype=torch.int64), 2
    ),
    "samples of too many": lambda d: torch.multinomial(
        ones(d, 1).expand(2**24 + 1), 1, True
    ),
}
MAKERS = {
    "permutation of bytes": lambda d: torch.randperm(300, dtype=torch.uint8, device=d),
    "permutation of halves": lambda d: torch.randperm(3000, dtype=torch.half, device=d),
    "permutation of bools": lambda d: torch.randperm(3, dtype=torch.bool, device=d),
    "random bytes": lambda d: torch.randint(300, (2,), dtype=torch.uint8, device=d),
    "random negative bytes": lambda d: torch.randint(
        -1, 2, (2,), dtype=torch.uint8, device=d
    ),
    "powers of bytes": lambda d: torch.logspace(0, 300, 4, dtype=torch.uint8, device=d),
    "powers": lambda d: torch.logspace(0, 1e40, 3, dtype=torch.float32, device=d),
    "steps": lambda d: torch.linspace(0, 1, 5, dtype=torch.uint16, device=d),
    "identity": lambda d: torch.eye(3, dtype=torch.uint16, device=d),
    "window of integers": lambda d: torch.hann_window(5, dtype=torch.int64, device=d),
    "window of complexes": lambda d: torch.kaiser_window(
        5, dtype=torch.complex64, device=d
    ),
    "bytes like it": lambda d: torch.rand_like(
        torch.ones(2, device=d), dtype=torch.uint8
    ),
}
# Calls that end eager's process, or read outside of its tensors, with the words for it.
FATAL = {
    "pivots": (
        lambda: torch.lu_unpack(ones("lazy", 3, 3), ones("lazy", 0, dtype=torch.int32)),
        "LU_pivots should have the shape",
    ),
    "statistics": (
        lambda: torch.native_batch_norm(
            ones("lazy", 2, 3, 4),
            None,
            None,
            ones("lazy", 0),
            ones("lazy", 3),
            False,
            0.1,
            1e-5,
        ),
        "running_mean should contain 3 elements not 0",
    ),
}


@pytest.mark.parametrize(
    "program",
    (WRONG_ARGUMENTS | MAKERS).values(),
    ids=WRONG_ARGUMENTS | MAKERS,
)
def test_arguments_are_refused_at_the_call(program):
    with pytest.raises((RuntimeError, IndexError)) as eager:
        program("cpu")
    with pytest.raises((RuntimeError, IndexError)) as lazy:
        program("lazy")
    assert is_eagers(lazy.value, eager.value)


@pytest.mark.parametrize("program, words", FATAL.values(), ids=FATAL)
def test_fatal_calls_are_refused(program, words):
    with pytest.raises(RuntimeError, match=words):
        program()


def test_a_number_is_refused_after_another_was_taken():
    x = ones("lazy", 3, dtype=torch.float32)
    loss = torch.nn.functional.smooth_l1_loss
    for beta in (0.5, 0.25):
        loss(x, x, beta=beta)
        with pytest.raises(RuntimeError, match="negative values for beta"):
            loss(x, x, beta=-beta)


def test_equal_compares_tensors_of_two_dtypes():
    for dtype in (torch.bool, torch.int64, torch.float64):
        for other in (torch.ones(2, dtype=dtype), torch.zeros(2, dtype=dtype)):
            wanted = torch.equal(torch.ones(2), other)
            assert (
                torch.equal(ones("lazy", 2, dtype=torch.float32), other.to("lazy"))
                == wanted
            )
