# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input gets eager's exception and eager's words, over OpInfo's own samples."""

import re

import pytest
import torch
from parity import OPS
from torch.utils import _pytree as pytree

# What eager's kernels refuse of dtypes they have nothing for, and lazy does not, or
# in other words: op -> why.
OTHER_DTYPES = {
    "histc": "integers are counted, as on GPUs: mixture models ask for it there",
    "nn.functional.gaussian_nll_loss": "clamp_ names dtypes as C++ does, clamp not",
    "nn.functional.normalize": "torch.norm asks for the device's name",
    "norm": "as above",
    "norm.fro": "as above",
    "norm.inf": "as above",
    "sparse.mm.reduce": "sparse tensors stay on the CPU",
    "sparse.sampled_addmm": "as above",
    "stft": "the message shows the tensor's type",
}
# Ops that refuse values, such as an index, or look at them before they refuse anything
# else: lazy does when they are read.
LOOKS_AT_VALUES = {"_segment_reduce.lengths", "gather", "scatter", "scatter_add"}
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
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            return tensor
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", with_errors())
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPS)
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
}


@pytest.mark.parametrize("program", WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_arguments_are_refused_at_the_call(program):
    with pytest.raises((RuntimeError, IndexError)) as eager:
        program("cpu")
    with pytest.raises((RuntimeError, IndexError)) as lazy:
        program("lazy")
    assert is_eagers(lazy.value, eager.value)
