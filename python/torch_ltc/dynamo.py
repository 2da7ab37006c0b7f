# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of ``torch.compile(model, backend="ltc")``.

AOTAutograd gives functional graphs of ATen ops. Each is built into the graph that
the lazy device would record for it (`ltc_backend/graph/graph_builder.h`), once for
each set of sizes, and is in the same cache.
"""

import contextlib
import functools
import re
import sys
import types
import warnings

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils import _pytree as pytree

from torch_ltc import settings, startup

_OURS = ("cpu", "lazy")
# Of one graph, for inputs of other sizes; the engine keeps what was compiled.
MAX_PROGRAMS = 64
_FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)')


def ltc(gm, example_inputs, *, options=None, mode=None):
    """Compile a graph of Dynamo's for CPU tensors, or for lazy ones.

    ``options`` are settings by name (``torch_ltc.settings``); ``mode`` is one of
    torch.compile's, of which all are the same here. Raises a ``ValueError`` for a
    graph whose tensors are on other devices.
    """
    scope = dict(options or {})

    def compiler(gm, _, kept_from=None):
        return make_boxed_func(_Compiled(gm, scope, kept_from))

    def forward_compiler(gm, inputs):
        return compiler(gm, inputs, _returned_by_forward())

    with settings.scope(**scope):
        return aot_autograd(
            fw_compiler=forward_compiler,
            bw_compiler=compiler,
            inference_compiler=compiler,
            partition_fn=min_cut_rematerialization_partition,
        )(gm, example_inputs)


def _returned_by_forward():
    """Return how many outputs of the forward graph are not saved for backward."""
    context = torch._guards.TracingContext.try_get()
    metadata = context and context.fw_metadata
    return metadata and metadata.num_forward_returns + len(metadata.tokens)


def _call(function, args, kwargs):
    return function(*args, **kwargs)


@functools.lru_cache(maxsize=4096)
def _call_from(file, line, name):
    """Return a function that calls another one from that line of the user's.

    What is recorded has the line of the innermost frame that is not a library's.
    """
    place = {"co_filename": file, "co_firstlineno": int(line) - 1, "co_name": name}
    if sys.version_info >= (3, 11):
        place["co_qualname"] = name
    code = _call.__code__.replace(**place)
    return types.FunctionType(code, globals())


class _OnDevice(fx.Interpreter):
    """Makes the graph's calls on one lazy device."""

    def __init__(self, gm, device):
        super().__init__(gm)
        self.device = device

    def fetch_args_kwargs_from_env(self, node):
        def move(value):
            if isinstance(value, torch.device) and value.type in _OURS:
                return self.device
            return value

        return pytree.tree_map(move, super().fetch_args_kwargs_from_env(node))

    def call_function(self, target, args, kwargs):
        if target is torch.ops.higher_order.cond:
            condition, then, otherwise, operands = args
            return self.run_graph(then if condition.item() else otherwise, operands)
        if target is torch.ops.higher_order.while_loop:
            goes_on, body, carried, rest = args
            while self.run_graph(goes_on, (*carried, *rest)).item():
                carried = self.run_graph(body, (*carried, *rest))
            return carried
        return self.call(target, args, kwargs)

    def run_node(self, node):
        places = _FRAME.findall(node.meta.get("stack_trace") or "")
        self.call = _call_from(*places[-1]) if places else _call
        return super().run_node(node)

    def run_graph(self, gm, operands):
        return _OnDevice(gm, self.device).run(*operands)

    def fetch_attr(self, target):
        value = super().fetch_attr(target)
        return value.to(self.device) if isinstance(value, torch.Tensor) else value


class _Program:
    """A graph for inputs of certain types, and where its outputs come from."""

    def __init__(self, gm, args, ordinal):
        builder = startup.start().GraphBuilder(ordinal)
        stand_ins = [
            builder.input(arg) if isinstance(arg, torch.Tensor) else arg for arg in args
        ]
        places = {id(value): i for i, value in enumerate(stand_ins)}
        outputs = _OnDevice(gm, builder.device).run(*stand_ins)
        results = []
        self.outputs = []  # (list that it is in, position)
        self.numbers = []
        for value in outputs:
            if id(value) in places and isinstance(value, torch.Tensor):
                self.outputs.append(("argument", places[id(value)]))
            elif isinstance(value, torch.Tensor):
                self.outputs.append(("result", len(results)))
                results.append(value)
            else:
                self.outputs.append(("number", len(self.numbers)))
                self.numbers.append(value)
        self.graph = builder.finish(results)

    def run(self, args):
        results = self.graph.run([a for a in args if isinstance(a, torch.Tensor)])
        found = {"argument": args, "result": results, "number": self.numbers}
        return [found[kind][i] for kind, i in self.outputs]


class _Compiled:
    """A graph of AOTAutograd's, with a program for each set of sizes."""

    def __init__(self, gm, options, kept_from):
        self.gm = gm
        self.options = options
        self.ordinal = _ordinal(gm)
        self.programs = {}
        (output,) = gm.graph.find_nodes(op="output")
        # What is only saved for backward stays on the device.
        self.on_cpu = [
            _device_of(node) == "cpu" and (kept_from is None or i < kept_from)
            for i, node in enumerate(output.args[0])
        ]

    def __call__(self, *args):
        scope = settings.scope if self.options else contextlib.nullcontext
        with torch.no_grad(), scope(**self.options):
            key = tuple(map(_type, args))
            if key not in self.programs:
                if len(self.programs) >= MAX_PROGRAMS:
                    del self.programs[next(iter(self.programs))]
                self.programs[key] = self._build(args)
            program = self.programs[key]
            outputs = program.run(args) if program else self._run_ops(args)
            return [
                value.cpu() if there and isinstance(value, torch.Tensor) else value
                for value, there in zip(outputs, self.on_cpu, strict=True)
            ]

    def _build(self, args):
        if settings.rng == "eager" and _draws(self.gm):
            return None
        try:
            return _Program(self.gm, args, self.ordinal)
        except RuntimeError as error:
            warnings.warn(
                "torch_ltc runs a graph of torch.compile op by op on the lazy "
                f"device: {str(error).splitlines()[0]}",
                stacklevel=2,
            )
            return None

    def _run_ops(self, args):
        device = torch.device("lazy", self.ordinal)
        moved = [
            arg.to(device) if isinstance(arg, torch.Tensor) else arg for arg in args
        ]
        outputs = _OnDevice(self.gm, device).run(*moved)
        places = {id(value): arg for value, arg in zip(moved, args, strict=True)}
        return [places.get(id(value), value) for value in outputs]


def _type(arg):
    if isinstance(arg, torch.Tensor):
        return arg.dtype, tuple(arg.shape), arg.stride()
    return arg


def _device_of(node):
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return value.device.type if isinstance(value, torch.Tensor) else None


def _ordinal(gm):
    """Return the lazy device of the graph: that of its lazy inputs, or the first."""
    ordinal = 0
    for node in gm.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            continue
        if value.device.type not in _OURS:
            raise ValueError(
                f"backend='ltc' compiles for CPU and lazy tensors, and {node.name} is "
                f"on {value.device}; move the model and its inputs, or use another "
                "backend"
            )
        if value.device.type == "lazy":
            ordinal = value.device.index or 0
    return ordinal


def _draws(gm):
    return any(
        torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        for node in gm.graph.nodes
    )
