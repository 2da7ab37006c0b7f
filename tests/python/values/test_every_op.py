# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op that a dispatcher knows is right on lazy, or refused by its name.

ATen's are in test_op_db.py. Here are prims and quantized_decomposed, each called;
of all others, that none which writes or returns a view is left to a kernel that
knows of neither; and ops that a program defines, of every kind.
"""

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed

has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key

F32, U8, I64 = torch.float32, torch.uint8, torch.int64
X = torch.tensor([[0.2, 0.9, 0.4], [0.7, 0.1, 0.6]])
MATRIX = torch.tensor([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
BYTES = torch.arange(6, dtype=U8).view(2, 3)
SCALES, ZEROS = torch.tensor([0.1, 0.2]), torch.tensor([1, 2])
# Kinds of elements, of which an op without a line below takes one.
KINDS = (X, (X * 9).long(), X > 0.5, X.to(torch.complex64))
MADE = {"dtype": F32, "requires_grad": False}


class Call:
    """Arguments of a call; `Call.ON` stands for the device."""

    ON = object()

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def on(self, device):
        return [self._move(each, device) for each in self.args], {
            name: self._move(each, device) for name, each in self.kwargs.items()
        }

    def _move(self, value, device):
        if value is Call.ON:
            return torch.device(device)
        if isinstance(value, list):
            return [self._move(each, device) for each in value]
        return value.to(device).clone() if isinstance(value, torch.Tensor) else value


ON = Call.ON
CALLS = {
    "prims::as_strided": Call(X, [2, 2], [1, 2], 1),
    "prims::as_strided_scatter": Call(X, X[:, :2], [2, 2], [1, 2], 1),
    "prims::broadcast_in_dim": Call(X, [4, 2, 3], [1, 2]),
    "prims::cat": Call([X, X * 2], 1),
    "prims::collapse": Call(X, 0, 1),
    "prims::collapse_view": Call(X, 0, 1),
    "prims::conj": Call(X + 1j),
    "prims::convert_element_type": Call(X, torch.float64),
    "prims::copy_strided": Call(X, [1, 2]),
    "prims::copy_to": Call(X, X * 2),
    "prims::device_put": Call(X, ON),
    "prims::empty": Call([0, 3], device=ON, **MADE),
    "prims::empty_permuted": Call([0, 3], [1, 0], device=ON, **MADE),
    "prims::empty_strided": Call([0, 3], [1, 2], device=ON, **MADE),
    "prims::fft_c2c": Call(X + 1j, dim=[1], forward=True),
    "prims::fft_c2r": Call(X + 1j, dim=[1], last_dim_size=4),
    "prims::fft_r2c": Call(X, dim=[1], onesided=True),
    "prims::fill": Call(X, 2.0),
    "prims::full": Call([2, 3], 2.0, device=ON, **MADE),
    "prims::full_like": Call(X, 2.0, device=ON, **MADE),
    "prims::imag": Call(X + 2j),
    "prims::iota": Call(4, start=1, step=2, dtype=I64, device=ON, requires_grad=False),
    "prims::item": Call(torch.tensor(2.5)),
    "prims::maximum_value": Call(F32),
    "prims::minimum_value": Call(F32),
    "prims::real": Call(X + 2j),
    "prims::reshape": Call(X, [3, 2]),
    "prims::resize": Call(X, [1, 4]),
    "prims::rev": Call(X, [1]),
    "prims::scalar_tensor": Call(2.5, dtype=F32, device=ON),
    "prims::split_dim": Call(X, 1, 3),
    "prims::squeeze": Call(X[None], [0]),
    "prims::svd": Call(MATRIX, full_matrices=False),
    "prims::transpose": Call(X, [1, 0]),
    "prims::view_of_dtype": Call(X, torch.int32),
    "prims::where": Call(X > 0.5, X, -X),
    "quantized_decomposed::choose_qparams.tensor": Call(X, 0, 255, 1e-5, U8),
    "quantized_decomposed::choose_qparams_symmetric.tensor": Call(
        X, -128, 127, 1e-5, torch.int8
    ),
    "quantized_decomposed::dequantize_per_channel": Call(
        BYTES, SCALES, ZEROS, 0, 0, 255, U8
    ),
    "quantized_decomposed::dequantize_per_channel_group": Call(
        BYTES.to(torch.int8), SCALES[:, None], ZEROS[:, None], -8, 7, torch.int8, 3, F32
    ),
    "quantized_decomposed::dequantize_per_tensor": Call(BYTES, 0.1, 3, 0, 255, U8),
    "quantized_decomposed::dequantize_per_tensor.tensor": Call(
        BYTES, SCALES[0], ZEROS[0], 0, 255, U8
    ),
    "quantized_decomposed::dequantize_per_tensor.tensor2": Call(
        BYTES, SCALES[0], ZEROS[0], torch.tensor(0), torch.tensor(255), U8
    ),
    "quantized_decomposed::dequantize_per_token": Call(
        BYTES, SCALES[:, None], ZEROS[:, None], 0, 255, U8, F32
    ),
    "quantized_decomposed::fake_quant_per_channel": Call(X, SCALES, ZEROS, 0, 0, 255),
    "quantized_decomposed::quantize_per_channel": Call(X, SCALES, ZEROS, 0, 0, 255, U8),
    "quantized_decomposed::quantize_per_channel_group": Call(
        X, SCALES[:, None], ZEROS[:, None], -8, 7, torch.int8, 3
    ),
    "quantized_decomposed::quantize_per_tensor": Call(X, 0.1, 3, 0, 255, U8),
    "quantized_decomposed::quantize_per_tensor.tensor": Call(
        X, SCALES[0], ZEROS[0], 0, 255, U8
    ),
    "quantized_decomposed::quantize_per_tensor.tensor2": Call(
        X, SCALES[0], ZEROS[0], torch.tensor(0), torch.tensor(255), U8
    ),
    "quantized_decomposed::quantize_per_token": Call(
        X, SCALES[:, None], ZEROS[:, None].float(), 0, 255, U8
    ),
}
# Draw numbers of their own, or hold what nobody reads.
UNTESTED = {
    "prims::normal": Call([4], mean=0.0, std=1.0, device=ON, **MADE),
    "prims::uniform": Call([4], low=0.0, high=1.0, dtype=F32, device=ON, stride=[1]),
    "prims::_make_token": Call(),
    "prims::_sink_tokens": Call([X]),
}


def all_names():
    """Return the names of all ops but those that this package defines."""
    names = torch._C._dispatch_get_all_op_names()
    return sorted(n for n in names if not n.startswith("torch_ltc::"))


# Eager has no kernel for them either.
NOWHERE = {"prims::xor_sum"}
CALLED = [n for n in all_names() if n.startswith(("prims::", "quantized_decomposed::"))]


def schema_of(name):
    return torch._C._get_schema(*name.partition(".")[::2])


def overload_of(name):
    space, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload or "default")


def made_up(name):
    """Return a call that eager takes: elementwise, or a reduction."""
    arguments = [a for a in schema_of(name).arguments if not a.kwarg_only]
    for x in KINDS:
        values = []
        for argument in arguments:
            kind = str(argument.type)
            if kind == "Tensor":
                values.append(x if not values else x * 2 if x.dtype != bool else x)
            elif kind == "Optional[List[int]]":
                values.append([1])
            elif "dtype" in argument.name:
                values.append(torch.int8)
            elif argument.has_default_value():
                values.append(argument.default_value)
        call = Call(*values)
        try:
            run(name, call, "cpu")
        except Exception:  # not of this kind
            continue
        return call
    raise AssertionError(f"no made-up arguments of {name}: give it a line in CALLS")


def run(name, call, device):
    """Return what a call gives, and its tensors after a write to a view of one."""
    args, kwargs = call.on(device)
    result = overload_of(name)(*args, **kwargs)
    returns = schema_of(name).returns
    isView = len(returns) == 1 and returns[0].alias_info is not None
    if isView and not torch.is_complex(result) and result.numel():
        result.flatten()[:1].zero_() if result.is_contiguous() else result.zero_()
    return result, [a for a in args if isinstance(a, torch.Tensor)]


def on_cpu(value):
    if isinstance(value, (list, tuple)):
        return [on_cpu(each) for each in value]
    return value.cpu().resolve_conj() if isinstance(value, torch.Tensor) else value


def about(value):
    """Return what tells tensors apart whose elements are equal."""
    if isinstance(value, (list, tuple)):
        return [about(each) for each in value]
    return (value.dtype, value.shape) if isinstance(value, torch.Tensor) else value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in CALLED if n not in {*UNTESTED, *NOWHERE}])
def test_called_ops(name):
    call = CALLS.get(name) or made_up(name)
    eager = run(name, call, "cpu")
    lazy = run(name, call, "lazy")
    assert about(lazy) == about(eager)
    for part in lazy[0] if isinstance(lazy[0], tuple) else [lazy[0]]:
        assert not isinstance(part, torch.Tensor) or part.device.type == "lazy"
    torch.testing.assert_close(on_cpu(lazy), on_cpu(eager), equal_nan=True)


def test_no_line_is_left_over():
    assert set(CALLS) | set(UNTESTED) <= set(CALLED)


def test_random_prims(counts):
    for name in ("prims::normal", "prims::uniform"):
        args, kwargs = UNTESTED[name].on("lazy")
        assert overload_of(name)(*args, **kwargs).device.type == "lazy"


def aliases(schema):
    return any(argument.alias_info is not None for argument in schema.arguments)


# PyTorch functionalises neither, and says so by name.
REFUSED = {
    "aten::_cummax_helper",
    "aten::_cummin_helper",
    "aten::_slow_conv2d_backward.grad_input",
    "aten::adaptive_avg_pool3d_backward.grad_input",
    "aten::lift.out",
    "aten::resize.out",
    "aten::set.source_Tensor_out",
}


def test_no_op_that_writes_or_views_is_taken_for_one_that_does_not():
    """One with neither kernel reaches the recorder, which gives a new tensor."""
    torch.ones(1, device="lazy")
    left = []
    for name in all_names():
        try:
            schema = schema_of(name)
        except RuntimeError:
            continue
        if not aliases(schema) or has_kernel(name, "CompositeImplicitAutograd"):
            continue
        for_dense = ("CPU", "CompositeExplicitAutograd")
        is_dense = any(has_kernel(name, key) for key in for_dense)
        if name.startswith("aten::") and not is_dense:
            continue
        # torch.compile is told of no kernel of ours (custom_ops.py).
        kernels = torch._C._dispatch_dump(name).splitlines()
        if not any(line.startswith("Functionalize:") for line in kernels):
            left.append(name)
    assert set(left) == REFUSED
    x, indices = torch.ones(2, device="lazy"), torch.ones(2, device="lazy").long()
    with pytest.raises(RuntimeError, match="aten::_cummax_helper"):
        torch._cummax_helper(x, x, indices, 0)
    with pytest.raises(RuntimeError, match=r"aten::resize\.out"):
        torch.ops.aten.resize.out(x, [3], out=x.clone())


LIBRARY = torch.library.Library("every_op", "DEF")


def define(schema, key, kernel, fake=None):
    LIBRARY.define(schema)
    name = schema.partition("(")[0]
    LIBRARY.impl(name, kernel, key)
    if fake:
        torch.library.register_fake(f"every_op::{name}", fake, lib=LIBRARY)
    return getattr(torch.ops.every_op, name)


def written_through_view(x):
    out = torch.empty_like(x)
    out.view(-1)[1:].copy_(x.view(-1)[:-1])
    out.view(-1)[0] = 0
    return out


def sparse(x):
    return x.to_sparse()


def written(x):
    x.view(-1)[1:] += 1


EVERY = "CompositeExplicitAutograd"
DEFINED = {
    "parts": define("parts(Tensor x) -> Tensor", EVERY, written_through_view),
    "with a fake": define(
        "faked(Tensor x) -> Tensor", EVERY, written_through_view, torch.empty_like
    ),
    "of the CPU": define("cpu(Tensor x) -> Tensor", "CPU", written_through_view),
    "of the CPU with a fake": define(
        "cpu_faked(Tensor x) -> Tensor", "CPU", written_through_view, torch.empty_like
    ),
    "view": define("half(Tensor(a) x) -> Tensor(a)", EVERY, lambda x: x[:, 1:]),
    "view with a fake": define(
        "half_faked(Tensor(a) x) -> Tensor(a)",
        EVERY,
        lambda x: x[:, 1:],
        lambda x: x[:, 1:],
    ),
    "view of the CPU": define(
        "half_cpu(Tensor(a) x) -> Tensor(a)", "CPU", lambda x: x[:, 1:]
    ),
    "write": define("up(Tensor(a!) x) -> ()", EVERY, written, lambda x: None),
    "write without a fake": define("up_only(Tensor(a!) x) -> ()", EVERY, written),
    "write of the CPU": define("up_cpu(Tensor(a!) x) -> ()", "CPU", written),
    "a list of parts": define(
        "both(Tensor x) -> Tensor[]", EVERY, lambda x: [x + 1, x * 2]
    ),
    "a number": define("first(Tensor x) -> float", "CPU", lambda x: float(x[0, 0])),
    "a sparse tensor": define("few(Tensor x) -> Tensor", "CPU", sparse),
    "sparse by parts": define("few2(Tensor x) -> Tensor", EVERY, sparse),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", DEFINED)
def test_defined_ops(kind):
    """Right, or refused by name, and then nothing is changed."""

    def run(device):
        x = X.to(device).clone()
        result = DEFINED[kind](x)
        if "view" in kind:
            result.zero_()
        if isinstance(result, torch.Tensor) and result.layout != torch.strided:
            result = result.to_dense()
        return result, x

    x = X.to("lazy")
    try:
        lazy = run("lazy")
    except RuntimeError as error:
        assert "every_op::" in str(error)
        assert torch.equal(x.cpu(), X)
        assert kind in ("view of the CPU",)
    else:
        torch.testing.assert_close(on_cpu(lazy), on_cpu(run("cpu")))
