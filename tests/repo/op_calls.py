# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of each op that the lazy device records, and what eager says of them.

They are what the samples of PyTorch's OpInfo call of ATen, forwards, backwards and
wrongly, and the table of op_samples.py. An op that writes to its argument, or shows
it in another way, is taken down as the one that it becomes on the device.
"""

import collections
import contextlib
import itertools

import op_samples
import torch
from torch.testing._internal import common_methods_invocations as op_infos
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# What Python says of arguments that an op does not have.
MISMATCH = "Declaration: "
SAMPLES, EACH = 8, 3
ERRORS = 20
DTYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
    torch.complex32,
    torch.complex64,
    torch.complex128,
    torch.bool,
)
# c10's.
NUMBER_OF = {
    **{dtype: number for number, dtype in enumerate(DTYPES)},
    torch.qint8: 12,
    torch.quint8: 13,
    torch.qint32: 14,
    torch.bfloat16: 15,
    torch.float8_e4m3fn: 24,
    torch.uint64: 29,
    torch.strided: 0,
    torch.sparse_csr: 2,
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
OP_INFOS = [
    *op_infos.op_db,
    *op_infos.foreach_unary_op_db,
    *op_infos.foreach_binary_op_db,
    *op_infos.foreach_pointwise_op_db,
    *op_infos.foreach_reduce_op_db,
    *op_infos.foreach_other_op_db,
]


def recorded():
    """Return the names of the overloads that the device has a kernel of its own for."""
    torch.zeros(1, device="lazy")
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    names = set()
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::") or not has_kernel(name, "Lazy"):
            continue
        schema = torch._C._get_schema(*name.partition(".")[::2])
        writes_or_views = any(a.alias_info for a in schema.arguments)
        if not writes_or_views and not has_kernel(name, "CompositeImplicitAutograd"):
            names.add(name)
    return names


def full_name(func):
    schema = func._schema
    return schema.name + ("." + schema.overload_name if schema.overload_name else "")


def overload_of(name):
    packet, _, overload = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def is_dense(tensor):
    special = tensor.is_quantized or tensor.is_nested
    return tensor.layout == torch.strided and not special


def plain(value):
    """Return the value as a file holds it; raise TypeError if it holds none such."""
    if isinstance(value, torch.Tensor):
        if not is_dense(value) or value.is_conj() or value.is_neg():
            raise TypeError
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return NUMBER_OF[value]
    if isinstance(value, torch.device):
        return str(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError


def said_of(results):
    """Return what replay_calls.cpp says of them."""
    leaves = tree_leaves(results)
    tensors = [each for each in leaves if isinstance(each, torch.Tensor)]
    if not all(is_dense(each) for each in tensors):
        return " not dense"
    return "".join(
        f" {NUMBER_OF[each.dtype]}{list(each.shape)}{list(each.stride())}"
        for each in tensors
    )


class Notes(TorchDispatchMode):
    """The calls of ATen's recorded ops, and what eager says of them."""

    def __init__(self):
        super().__init__()
        self.recorded = recorded()
        self.calls, self.said = [], []
        self.known, self.count = set(), collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace == "aten":
            for name in self.names_of(func):
                self.note(overload_of(name), args, kwargs)
        return func(*args, **kwargs)

    def names_of(self, func):
        """Yield the recorded op, and what the op becomes on the device."""
        packet, dot, overload = full_name(func).partition(".")
        base = packet.removesuffix("_")
        for other in (packet, base, f"{base}_functional", f"{packet}_copy"):
            if other + dot + overload in self.recorded:
                yield other + dot + overload

    def note(self, func, args, kwargs):
        try:
            values = self.values_of(func, args, kwargs)
        except (TypeError, KeyError):
            return
        try:
            with torch.no_grad():  # as the program is
                said = said_of(func(*args, **kwargs))
        except Exception as error:
            if MISMATCH in str(error):
                return
            said = " ! " + str(error).split("\n")[0]
        key = repr((func, said, [v for v in values if not tensors_in(v)]))
        count = func, said.startswith(" !")
        if key in self.known or self.count[count] >= EACH:
            return
        self.known.add(key)
        self.count[count] += 1
        name = func._schema.name, func._schema.overload_name
        self.calls.append((*name, values))
        self.said.append(said)

    def values_of(self, func, args, kwargs):
        values = list(args)
        for argument in func._schema.arguments[len(args) :]:
            value = kwargs.get(argument.name, argument.default_value)
            if argument.name == "device" and not tensors_in(args):
                value = "lazy"
            values.append(value)
        return plain(values)

    def names(self):
        return {name + ("." + part if part else "") for name, part, _ in self.calls}


def tensors_in(value):
    return any(isinstance(each, torch.Tensor) for each in tree_leaves(value))


def run(op, sample):
    first = sample.input
    is_float = isinstance(first, torch.Tensor) and first.is_floating_point()
    if is_float and op.supports_autograd:
        first = first.detach().requires_grad_()
    results = op(first, *sample.args, **sample.kwargs)
    if is_float and op.supports_autograd:
        wanted = [r for r in tree_leaves(results) if isinstance(r, torch.Tensor)]
        wanted = [r for r in wanted if r.requires_grad]
        if wanted:
            ones = [torch.ones_like(each) for each in wanted]
            torch.autograd.grad(wanted, [first], ones, allow_unused=True)


def run_in_place(op, sample):
    first = sample.input
    if op.inplace_variant and isinstance(first, torch.Tensor):
        op.inplace_variant(first.detach().clone(), *sample.args, **sample.kwargs)


def samples_of(op):
    known = [t for t in (torch.float32, torch.int64, torch.bool) if t in op.dtypes]
    if not known or "jiterator" in op.name:
        return []
    samples = list(itertools.islice(op.sample_inputs("cpu", known[0]), SAMPLES))
    if op.error_inputs_func:
        errors = op.error_inputs("cpu")
        samples += [each.sample_input for each in itertools.islice(errors, ERRORS)]
    return samples


def note_all():
    notes = Notes()
    for op in OP_INFOS:
        for sample in samples_of(op):
            for way in (run_in_place, run):
                with contextlib.suppress(Exception), notes:
                    way(op, sample)
    for name in sorted(notes.recorded - notes.names()):
        func = overload_of(name)
        for args, kwargs in op_samples.samples_of(name, func._schema.arguments):
            notes.note(func, args, kwargs)
    return notes
