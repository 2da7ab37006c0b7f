# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend of ``torch.compile(model, backend="ltc")``.

AOTAutograd gives functional graphs of ATen ops. Each is built into the graph that
the lazy device would record for it (`ltc_backend/graph/built/graph_builder.h`), and is
in the same cache: once for all sizes that are open, or where that cannot be, for each
set of them.
"""

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from torch_ltc import settings, startup
from torch_ltc.dynamo import (
    control_flow,
    host_calls,
    open_calls,
    partition,
    traced_numbers,
)
from torch_ltc.dynamo.fx_calls import OURS, draws, outputs_of, run, warn_at
from torch_ltc.dynamo.fx_pieces import Pieces, mark_reads, reads_values

# torch.compile() imports this. Started later, the device would patch functions of
# PyTorch's while Dynamo traces them.
startup.start()

# Of one graph, for inputs of other sizes; the engine keeps what was compiled.
MAX_PROGRAMS = 64
# What is no part of a graph: an op that reads a value meets the first while a graph
# is built (graph_builder.cpp).
_NO_PART = (
    "has types and no values",
    control_flow.REFUSED,
    traced_numbers.REFUSED,
)
# An argument gets the memory of another tensor, which no program of ours does.
_GIVES_MEMORY = torch.ops.aten.set_.source_Tensor
_MODES = (
    "default",
    "reduce-overhead",
    "max-autotune",
    "max-autotune-no-cudagraphs",
)


def ltc(gm, example_inputs, *, options=None, mode=None):
    """Compile a graph of Dynamo's for CPU tensors, or for lazy ones.

    ``options`` are settings by name (``torch_ltc.settings``); ``mode`` is one of
    torch.compile's, of which all are the same here. Raises a ``ValueError`` for a
    graph whose tensors are on other devices.
    """
    scope = dict(options or {})
    if mode not in (None, *_MODES):
        raise ValueError(f"backend='ltc' has no mode {mode!r}; it takes {_MODES}")
    with settings.scope(**scope):
        return aot_autograd(**compilers(scope))(gm, example_inputs)


def compilers(scope=None):
    """Return what PyTorch's AOTAutograd is to compile graphs of ATen ops with.

    Keyword arguments, such as those of ``functorch.compile.aot_function``. The
    settings in ``scope`` hold in the calls of what is compiled.
    """

    def compiler(gm, _, kept_from=None):
        compiled = _compiled(gm, kept_from)
        return _Scoped(compiled, scope) if scope else compiled

    def forward_compiler(gm, inputs):
        return compiler(gm, inputs, _returned_by_forward())

    return {
        "fw_compiler": forward_compiler,
        "bw_compiler": compiler,
        "inference_compiler": compiler,
        "partition_fn": partition.partition,
        "keep_inference_input_mutations": True,
    }


def _returned_by_forward():
    """Return how many outputs of the forward graph are not saved for backward."""
    context = torch._guards.TracingContext.try_get()
    metadata = context and context.fw_metadata
    return metadata and metadata.num_forward_returns + len(metadata.tokens)


def _compiled(gm, kept_from=None):
    if any(node.target is _GIVES_MEMORY for node in gm.graph.nodes):
        return make_boxed_func(gm)
    if any(map(reads_values, gm.graph.nodes)):
        return Pieces(gm, _compiled)
    return _Compiled(gm, kept_from)


class _Scoped:
    """What was compiled with settings of its own, which hold in its calls too."""

    def __init__(self, compiled, options):
        self._boxed_call = True  # of the instance: it is copied to wrappers
        self.compiled = compiled
        self.options = options

    def __call__(self, args):
        with settings.scope(**self.options):
            return self.compiled(args)


class _Compiled:
    """A graph of AOTAutograd's, with calls for each set of sizes."""

    def __init__(self, gm, kept_from):
        self._boxed_call = True
        self.gm = gm
        self.kept_from = kept_from
        self.ordinal = _ordinal(gm)
        self.numbers = _numbers(gm)
        self.calls = {}  # on CPU tensors, by the numbers, the latest first
        self.open = None  # gives those, once it is built
        self.may_open = open_calls.may_open(gm)
        self.programs = {}  # on lazy ones, and of what has no program
        self.on_cpu = [_device_of(node) == "cpu" for node in outputs_of(gm)]
        self.pieces = None  # instead, once an op has asked for a value

    def __call__(self, args):
        # With open sizes, the numbers are the sizes.
        numbers = tuple([args[i] for i in self.numbers]) if self.numbers else ()
        try:
            kept = self.calls.get(numbers, ())
        except TypeError:  # a size of fake tensors that is open has no hash
            kept = ()
        for call in kept:
            results = call(args)
            if results is not None:
                return results
        with torch.no_grad():
            if _are_fake(args):
                return self.gm(*args)
            if self.pieces:
                return self.pieces(args)
            # A graph is built with calls of our own, which no mode is to see.
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                return self._run(args, numbers)

    def _run(self, args, numbers):
        call = self.open and self.open.at(args)
        if call:
            self._keep(call, numbers)
            return call(args)
        key = tuple(map(_type, args))
        if key not in self.programs:
            if host_calls.takes(self.gm, args, self.ordinal):
                call = self._call_for(args)
                results = call and call(args)
                if results is not None:
                    self._keep(call, numbers)
                    return results
                program = None
            else:
                program = self._build(_Program, args)
            if self.pieces:
                return self.pieces(args)
            if len(self.programs) >= MAX_PROGRAMS:
                del self.programs[next(iter(self.programs))]
            self.programs[key] = program
        program = self.programs[key]
        outputs = program.run(args) if program else self._run_ops(args)
        return [
            value.cpu() if there and isinstance(value, torch.Tensor) else value
            for value, there in zip(outputs, self.on_cpu, strict=True)
        ]

    def _call_for(self, args):
        if self.may_open:
            self.open = self._build(open_calls.build, args, self.kept_from)
            self.may_open = False
            call = self.open and self.open.at(args)
            if call or self.pieces:
                return call
        return self._build(host_calls.build, args, self.kept_from)

    def _keep(self, call, numbers):
        same = self.calls.get(numbers, [])
        calls = self.calls | {numbers: [call, *same][:MAX_PROGRAMS]}
        if len(calls) > MAX_PROGRAMS:
            del calls[next(iter(calls))]
        self.calls = calls  # at once: other threads read it

    def _build(self, make, args, *more):
        if settings.rng == "eager" and draws(self.gm):
            return None
        try:
            return make(self.gm, args, self.ordinal, *more)
        except (RuntimeError, TypeError) as error:  # Tensor.numpy() raises the other
            is_cut = mark_reads(self.gm, getattr(error, "ltc_node", None))
            if is_cut:
                self.pieces = Pieces(self.gm, _compiled)
            is_known = any(words in str(error) for words in _NO_PART)
            if not is_cut or not is_known:
                what = "an op" if is_cut else "a graph"
                how = "eagerly" if is_cut else "op by op on the lazy device"
                why = str(error).splitlines()[0]
                warn_at(error, f"torch_ltc runs {what} of torch.compile {how}: {why}")
            return None

    def _run_ops(self, args):
        device = torch.device("lazy", self.ordinal)
        moved = [
            arg.to(device) if isinstance(arg, torch.Tensor) else arg for arg in args
        ]
        versions = [getattr(value, "_version", None) for value in moved]
        outputs, _ = run(self.gm, device, moved)
        for arg, value, version in zip(args, moved, versions, strict=True):
            if value is not arg and value._version != version:
                arg.copy_(value)
        places = {id(value): arg for value, arg in zip(moved, args, strict=True)}
        return [places.get(id(value), value) for value in outputs]


class _Program:
    """A graph for inputs of certain types, and where its outputs come from."""

    def __init__(self, gm, args, ordinal):
        builder = startup.start().GraphBuilder(ordinal)
        stand_ins = [
            builder.input(arg) if isinstance(arg, torch.Tensor) else arg for arg in args
        ]
        places = {id(value): i for i, value in enumerate(stand_ins)}
        outputs, _ = run(gm, builder.device, stand_ins)
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


def _are_fake(args):
    """Return whether tensors have no values now, but types alone."""
    is_in_mode = torch._guards.active_fake_mode() is not None
    return is_in_mode or any(isinstance(arg, FakeTensor) for arg in args)


def _type(arg):
    if isinstance(arg, torch.Tensor):
        return arg.dtype, tuple(arg.shape), arg.stride()
    return arg


def _numbers(gm):
    """Return which of the graph's inputs are numbers."""
    inputs = gm.graph.find_nodes(op="placeholder")
    return [i for i, node in enumerate(inputs) if _is_number(node.meta.get("val"))]


def _is_number(value):
    return isinstance(value, (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


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
        if value.device.type not in OURS:
            raise ValueError(
                f"backend='ltc' compiles for CPU and lazy tensors, and {node.name} is "
                f"on {value.device}; move the model and its inputs, or use another "
                "backend"
            )
        if value.device.type == "lazy":
            ordinal = value.device.index or 0
    return ordinal
