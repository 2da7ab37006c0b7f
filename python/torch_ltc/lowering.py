# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowerings of custom ops that a program brings along.

Without one, a custom op with a fake kernel is a library call to its CPU kernel.
"""

import torch

# What memory holds: integers have no sign in MLIR, a bool is a byte.
_ELEMENT = {
    torch.bool: "i8",
    torch.uint8: "i8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.uint16: "i16",
    torch.int32: "i32",
    torch.uint32: "i32",
    torch.int64: "i64",
    torch.uint64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
}
_libraries = {}  # by op: a lowering that is given again takes the other's place


def register_lowering(op, function=None, *, mlir=None):
    """Give a custom op code that fuses with the graph around it.

    ``op`` is a name, ``"mylib::op"`` or ``"mylib::op.overload"``, what
    ``torch.library.custom_op`` returned, or ``torch.ops.mylib.op``. One of two forms:

    ``function``: takes the op's arguments and calls torch ops on them, which are
    recorded in the op's place. Also a decorator::

        @torch_ltc.register_lowering("mylib::swish")
        def _(x, beta):
            return x * torch.sigmoid(beta * x)

    ``mlir``: the text of a module with one function, from the op's tensors, and
    its floats as ``f64``, to its results; or a Python function that returns it.
    Dialects: func, linalg, tensor, arith, math. The Python function is called
    with the op's arguments, tensors as their MLIR types (``tensor<4x8xf32>``),
    floats as ``"f64"``, all else as it is. Sizes in the text may be ``?``. The op
    needs a fake kernel (``register_fake``), which says the results' shapes.

    The text is part of the graph: of its dump, its hash and its cache entry. What
    is wrong with it is a `CompileError` at the line that called the op.

    Raises ValueError for an unknown op, one that writes to its arguments, one of
    ``aten``, and unless exactly one form is given.
    """
    schema = _schema_of(op)
    if function is None and mlir is None:
        return lambda body: register_lowering(op, body) and body
    if function is not None and mlir is not None:
        raise ValueError("register_lowering takes a function or mlir=, not both")
    if function is not None:
        _put_in_front(schema, function)
        return function
    from torch_ltc import startup

    startup.start().register_lowering(schema.name, schema.overload_name, _text_of(mlir))
    return mlir


def adopting(stock):
    """Wrap ``torch.library.Library.impl``."""

    def impl(self, *args, **kwargs):
        result = stock(self, *args, **kwargs)
        from torch_ltc import _C

        _C.adopt_custom_ops()
        return result

    return impl


def _name_of(op):
    if isinstance(op, str):
        return op
    if isinstance(op, torch._ops.OpOverload):
        return op.name()
    if isinstance(op, torch._ops.OpOverloadPacket):
        return op._qualified_op_name
    if isinstance(op, torch.library.CustomOpDef):
        return op._qualname
    raise TypeError(
        f"register_lowering takes an op or its name, not a {type(op).__name__}"
    )


def _schema_of(op):
    name = _name_of(op)
    base, _, overload = name.partition(".")
    try:
        schema = torch._C._get_schema(base, overload)
    except RuntimeError as error:
        raise ValueError(
            f"there is no op {name!r}; define it first, with torch.library"
        ) from error
    if base.startswith(("aten::", "prim::", "prims::")):
        raise ValueError(f"{name} is PyTorch's own op; lowerings are for custom ops")
    if schema.is_mutable:
        raise ValueError(
            f"{name} writes to its arguments; only an op that returns new tensors "
            "can have a lowering"
        )
    return schema


def _put_in_front(schema, function):
    namespace, _, name = schema.name.partition("::")
    if schema.overload_name:
        name += f".{schema.overload_name}"
    earlier = _libraries.pop((namespace, name), None)
    if earlier is not None:
        earlier._destroy()
    library = torch.library.Library(namespace, "IMPL")
    library.impl(name, function, "Lazy")
    _libraries[namespace, name] = library


def _text_of(mlir):
    if not callable(mlir):
        return lambda *arguments: mlir
    return lambda *arguments: mlir(*map(_type_of, arguments))


def _type_of(value):
    if isinstance(value, torch.Tensor):
        sizes = "".join(f"{size}x" for size in value.shape)
        return f"tensor<{sizes}{_ELEMENT[value.dtype]}>"
    if isinstance(value, (list, tuple)):
        return [_type_of(each) for each in value]
    return value
