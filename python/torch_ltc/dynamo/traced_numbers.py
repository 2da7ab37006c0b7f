# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that a body computes, while a graph is built.

A loop may carry Python's integers, and `x.item()` in a body is a number that the next
op takes. No graph has those: each is a tensor without dimensions, and what is called
with one computes what it would with the number.
"""

import functools
import operator

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from torch_ltc import startup
from torch_ltc.dynamo.derived_sizes import LEASTS

# How a call of a body is refused that takes a number which the graph computes.
REFUSED = "a number that a graph computes is passed to"
_aten = torch.ops.aten
_DTYPES = {int: torch.int64, float: torch.float64, bool: torch.bool}
_SYMBOLIC = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
READS = (_aten._local_scalar_dense.default, _aten.item.default)
# Functions of numbers that tensors do not have under the same name, or compute
# otherwise.
_OF_NUMBERS = {
    operator.and_: torch.logical_and,
    operator.or_: torch.logical_or,
    operator.not_: torch.logical_not,
    torch.sym_not: torch.logical_not,
    torch.sym_max: torch.maximum,
    torch.sym_min: torch.minimum,
    torch.sym_float: lambda x: x.to(torch.float64),
    torch.sym_int: torch.trunc,
    torch.sym_ite: torch.where,
    torch.sym_sum: lambda *x: functools.reduce(operator.add, x),
    torch._sym_sqrt: torch.sqrt,
}
_SAME = {
    getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "pow"),
        *("lt", "le", "gt", "ge", "eq", "ne"),
    )
}


def type_of(value):
    """Return which of Python's numbers a traced value is, or None."""
    if isinstance(value, torch.Tensor):
        return None
    return _SYMBOLIC.get(type(value)) or (
        type(value) if type(value) in _DTYPES else None
    )


def is_number(value):
    """Return whether a value is one of Python's numbers."""
    return type(value) in _DTYPES


def tensor_of(number, device):
    """Return a tensor that stands for a number."""
    return torch.full((), number, dtype=_DTYPES[type(number)], device=device)


def compute_floats(graph):
    """Have a graph compute the floats that follow from sizes, from the sizes.

    But those that an integer, a condition or a result follows from.
    """
    computed = set()
    for node in reversed(graph.nodes):
        if isinstance(node.meta.get("val"), torch.SymFloat) and all(
            user in computed or isinstance(user.meta.get("val"), torch.Tensor)
            for user in node.users
        ):
            computed.add(node)
    for node in [n for n in graph.nodes if n in computed]:
        with graph.inserting_before(node):
            for operand in node.all_input_nodes:
                if isinstance(operand.meta.get("val"), torch.SymInt):
                    size = graph.call_function(
                        tensor_of, (operand, torch.device("cpu"))
                    )
                    size.meta = {
                        key: of.meta[key]
                        for key, of in (("val", operand), ("stack_trace", node))
                        if key in of.meta
                    }
                    node.replace_input_with(operand, size)


def takes_numbers(node):
    """Return whether the node is a call that a number may be passed to or read by."""
    if node.target in READS:
        return True
    if node.target is tensor_of:
        return False
    is_function = not isinstance(node.target, torch._ops.HigherOrderOperator)
    return is_function and any(
        type_of(operand.meta.get("val")) for operand in node.all_input_nodes
    )


class Check:
    """What has to hold of a number that a graph computes."""

    def __init__(self, holds, message):
        self.holds = holds
        self.message = message


def checked(outputs, checks):
    """Return a graph's outputs, of which the smallest waits for the checks."""
    tensors = [value for value in outputs if isinstance(value, torch.Tensor)]
    if not checks or not tensors:
        return outputs
    smallest = least = min(tensors, key=torch.Tensor.numel)
    for check in checks:
        least = torch._functional_assert_async(check.holds, check.message, least)
    return [least if value is smallest else value for value in outputs]


# Their results are views in eager, and not where the number is a tensor.
_VIEWS = (_aten.select.int, _aten.slice.Tensor, _aten.narrow.default)


def writes_by_number(graph):
    """Return whether what is written to may be a view at a number of the graph's."""
    calls = graph.find_nodes
    return any(_is_write(node) for node in graph.nodes) and any(
        free_unbacked_symbols(operand.meta.get("val"))
        for target in _VIEWS
        for node in calls(op="call_function", target=target)
        for operand in node.all_input_nodes
        if type_of(operand.meta.get("val"))
    )


def _is_write(node):
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


class WithNumbers:
    """A call some of whose arguments may be tensors that stand for numbers."""

    def __init__(self, node):
        self.node = node
        self.target = node.target
        self.made = node.meta.get("val")

    def __call__(self, *args, **kwargs):
        """Make the call."""
        if self.target in READS:
            return self._read(*args)
        numbers = self._numbers(args, kwargs)
        if not numbers:
            return self.target(*args, **kwargs)
        if self.target is _aten._assert_scalar.default:
            return Check(*args)
        if type_of(self.made):
            return self._number(args)
        value = self._tensor(args, kwargs, numbers)
        return value.to(self.made.dtype) if value.dtype != self.made.dtype else value

    def _numbers(self, args, kwargs):
        """Return the tensors that stand for numbers."""
        found = []

        def add(node, value):
            if isinstance(node, fx.Node):
                if isinstance(value, torch.Tensor) and type_of(node.meta.get("val")):
                    found.append(value)
            elif isinstance(node, list | tuple):
                for part, element in zip(node, value, strict=True):
                    add(part, element)

        add(self.node.args, args)
        add(list(self.node.kwargs.values()), [kwargs[k] for k in self.node.kwargs])
        return found

    def _read(self, tensor):
        if not is_traced(tensor):
            return self.target(tensor)
        return tensor.reshape(()).to(_DTYPES[type_of(self.made)])

    def _number(self, args):
        """Compute a number of numbers, as Python does."""
        wanted = type_of(self.made)
        args = torch.utils._pytree.tree_leaves(args)
        is_real = wanted is float or any(
            arg.is_floating_point()
            if isinstance(arg, torch.Tensor)
            else type(arg) is float
            for arg in args
        )
        if is_real:
            args = [
                arg.to(torch.float64) if isinstance(arg, torch.Tensor) else arg
                for arg in args
            ]
        device = next(arg.device for arg in args if isinstance(arg, torch.Tensor))
        if self.target in _SAME:
            value = self.target(*args)
        elif self.target in _OF_NUMBERS:
            args = [tensor_of(a, device) if is_number(a) else a for a in args]
            value = _OF_NUMBERS[self.target](*args)
        else:
            raise self._refusal()
        return value.to(_DTYPES[wanted])

    def _tensor(self, args, kwargs, numbers):
        """Compute a tensor of tensors and numbers."""
        special = _OF_TENSORS.get(self.target)
        if special:
            return special(*args, **kwargs)
        if self.target is _aten.slice.Tensor:
            return self._slice(*args, **kwargs)
        target = self._for_tensors()
        first = next(a for a in args if isinstance(a, torch.Tensor))
        if first.dim() == 0 and first is not numbers[0]:
            # A tensor without dimensions counts for the dtype as a number does not.
            args = [
                a.to(self.made.dtype) if any(a is n for n in numbers) else a
                for a in args
            ]
        return target(*args, **kwargs)

    def _slice(self, x, dim=0, start=0, end=None, step=1):
        """Return a slice whose length is known and that is within ``x``."""
        length = self._length(dim)
        if length is None or not isinstance(start, torch.Tensor):
            raise self._refusal()
        return x.index_select(dim, _places(x, dim, start, length, step))

    def _length(self, dim):
        """Return the length of a slice, or None if it depends on where it starts."""
        length, start = _length_of(self.node, dim), self.node.args[2]
        if isinstance(length, int) or not isinstance(start, fx.Node):
            return length if isinstance(length, int) else None
        # A view is made once more of the new values of what it was written to.
        for same in start.users:
            if same.target is self.target and same.args[1:] == self.node.args[1:]:
                known = _length_of(same, dim)
                if isinstance(known, int) and _rows(same, dim) == _rows(self.node, dim):
                    return known
        begin = start.meta["val"].node.expr
        # Its use checks that it starts within the dimension.
        within = length.node.expr.replace(
            lambda part: isinstance(part, LEASTS) and begin in part.args,
            lambda _: begin,
        )
        return int(within) if within.is_Integer else None

    def _for_tensors(self):
        """Return the overload that has a tensor wherever this one has the number."""
        packet = self.target.overloadpacket
        name = self.target._overloadname
        schema = self.target._schema
        if self._fits(schema):
            return self.target
        other = getattr(packet, name.replace("Scalar", "Tensor"), None)
        if name and other is not None and self._fits(other._schema):
            return other
        raise self._refusal()

    def _fits(self, schema):
        kinds = {argument.name: str(argument.type) for argument in schema.arguments}
        named = dict(zip(kinds, self.node.args, strict=False)) | self.node.kwargs
        return all(
            kinds.get(name) in ("Tensor", "Optional[Tensor]")
            for name, operand in named.items()
            if isinstance(operand, fx.Node) and type_of(operand.meta.get("val"))
        ) and not any(
            isinstance(operand, list | tuple)
            and any(
                isinstance(o, fx.Node) and type_of(o.meta.get("val")) for o in operand
            )
            for operand in named.values()
        )

    def _refusal(self):
        return RuntimeError(f"{REFUSED} {self.target}")


def _length_of(node, dim):
    size = node.meta["val"].shape[dim]
    is_known = isinstance(size, int) or size.node.expr.is_Integer
    return int(size) if is_known else size


def _rows(node, dim):
    return _length_of(node.args[0], dim)


def is_traced(tensor):
    """Return whether a tensor is of a graph that is being built."""
    if tensor.device.type != "lazy":
        return False
    index = tensor.device.index
    return startup.start().home_of(index) != index


def _place(x, dim, index):
    """Return an index of a dimension as eager counts it, with one dimension."""
    index = index.reshape(1)
    return torch.where(index < 0, index + x.shape[dim], index)


def _select(x, dim, index):
    return x.index_select(dim, _place(x, dim, index)).squeeze(dim)


def _select_scatter(x, source, dim, index):
    return x.index_copy(dim, _place(x, dim, index), source.unsqueeze(dim))


def _places(x, dim, start, length, step=1):
    """Return so many indices of a dimension, each checked where it is used."""
    return _place(x, dim, start) + torch.arange(0, length * step, step, device=x.device)


def _narrow(x, dim, start, length):
    if isinstance(length, torch.Tensor):
        raise RuntimeError(f"{REFUSED} aten.narrow.default")
    return x.index_select(dim, _places(x, dim, start, length))


def _slice_scatter(x, source, dim=0, start=0, end=None, step=1):
    if not isinstance(start, torch.Tensor):
        raise RuntimeError(f"{REFUSED} aten.slice_scatter.default")
    places = _places(x, dim, start, source.shape[dim], step)
    return x.index_copy(dim, places, source)


def _full(size, value, dtype=None, **_):
    value = value.to(dtype or _default(value))
    return value.expand(size)


def _full_like(x, value, dtype=None, **_):
    return value.to(dtype or x.dtype).expand(x.shape)


def _scalar_tensor(value, dtype=None, **_):
    return value.to(dtype or torch.get_default_dtype())


def _default(value):
    return torch.get_default_dtype() if value.is_floating_point() else value.dtype


_OF_TENSORS = {
    _aten.select.int: _select,
    _aten.select_copy.int: _select,
    _aten.select_scatter.default: _select_scatter,
    _aten.narrow.default: _narrow,
    _aten.narrow_copy.default: _narrow,
    _aten.slice_scatter.default: _slice_scatter,
    _aten.full.default: _full,
    _aten.full_like.default: _full_like,
    _aten.scalar_tensor.default: _scalar_tensor,
}

# Calls that need a value as PyTorch traces them, and none in a body.
COMPUTED = {
    *READS,
    *_OF_TENSORS,
    _aten.slice.Tensor,
    _aten.sym_storage_offset.default,
}
