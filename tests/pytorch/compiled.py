# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts ``backend="ltc"`` in the place of the backends that PyTorch's tests name."""

import importlib

BACKENDS = (
    "aot_eager",
    "aot_eager_decomp_partition",
    "aot_eager_default_partitioner",
)


def install(device):
    """Compile with ltc what a test gives to another backend, or to none.

    Or with aot_eager, to tell what AOTAutograd does not take.
    """
    from torch._dynamo import testing
    from torch._dynamo.backends import registry

    compile_graph, compile_aten = backend_of(device)
    compile_graph._tags = ()
    eager = registry.lookup_backend("eager")  # which fills the table
    registry._COMPILER_FNS.update(dict.fromkeys(BACKENDS, compile_graph))
    registry._COMPILER_FNS["eager"] = leaving_to_eager(compile_graph, eager)
    # What torch.compile() calls by default.
    importlib.import_module("torch._inductor.compile_fx").compile_fx = compile_graph
    for module in ("torch._functorch.compilers", "functorch.compile"):
        importlib.import_module(module).nop = compile_aten
    for recorder in (testing.EagerAndRecordGraphs, testing.CompileCounter):
        then_compile(recorder, compile_graph)
    testing.aot_eager = recording_aten(compile_aten)


def backend_of(device):
    """Return what compiles graphs of Dynamo's, and what graphs of ATen ops."""
    from torch._dynamo.backends import debugging

    if device == "aot_eager":

        def compile_by_aot_eager(gm, inputs, *_args, **_options):
            return debugging.aot_eager(gm, inputs)

        return compile_by_aot_eager, debugging.boxed_nop

    from torch_ltc import settings
    from torch_ltc.dynamo import backend

    settings.rng = "eager"  # so that random numbers can be compared

    def compile_by_ltc(gm, inputs, *_args, **_options):
        return backend.ltc(gm, inputs)

    def compile_aten_by_ltc(gm, inputs):
        return backend.compilers()["inference_compiler"](gm, inputs)

    return compile_by_ltc, compile_aten_by_ltc


def leaving_to_eager(compile_graph, eager):
    """Return a backend that leaves to "eager" what PyTorch compiles with no other.

    Graphs under an eager transform of torch.func, where Dynamo refuses all other
    backends, and what `torch.cond` compiles by itself in eager or in a trace.
    """
    import torch
    from torch._higher_order_ops.utils import _in_hop_compile

    def compile_or_leave(gm, inputs, *args, **options):
        is_transformed = torch._C._functorch.peek_interpreter_stack() is not None
        if is_transformed or _in_hop_compile():
            return eager(gm, inputs)
        return compile_graph(gm, inputs, *args, **options)

    compile_or_leave._tags = ()
    return compile_or_leave


def then_compile(recorder, compile_graph):
    """Let a backend that records or counts graphs compile them, too."""
    record = recorder.__call__

    def call(self, gm, inputs):
        record(self, gm, inputs)
        return compile_graph(gm, inputs)

    recorder.__call__ = call


def recording_aten(compile_aten):
    """Return a backend that compiles what it gives to functions that record it."""
    from torch._dynamo.backends.common import aot_autograd

    def recording(record):
        def compiler(gm, inputs):
            record(gm, inputs)
            return compile_aten(gm, inputs)

        return compiler

    def backend(gm, inputs, *, fw_compiler, bw_compiler):
        compilers = {
            "fw_compiler": recording(fw_compiler),
            "bw_compiler": recording(bw_compiler),
        }
        return aot_autograd(**compilers)(gm, inputs)

    return backend
