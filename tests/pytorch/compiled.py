# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts ``backend="ltc"`` in the place of the backends that PyTorch's tests name."""

import importlib

BACKENDS = (
    "eager",
    "aot_eager",
    "aot_eager_decomp_partition",
    "aot_eager_default_partitioner",
)


def install():
    """Compile with ltc what a test gives to another backend, or to none."""
    from torch._dynamo import testing
    from torch._dynamo.backends import registry
    from torch_ltc import dynamo, settings

    settings.rng = "eager"  # so that random numbers can be compared

    def compile_by_ltc(gm, inputs, *_args, **_options):
        return dynamo.ltc(gm, inputs)

    def compile_aten_by_ltc(gm, inputs):
        return dynamo.compilers()["inference_compiler"](gm, inputs)

    registry.lookup_backend("eager")  # fills the table
    registry._COMPILER_FNS.update(dict.fromkeys(BACKENDS, compile_by_ltc))
    # What torch.compile() calls by default.
    importlib.import_module("torch._inductor.compile_fx").compile_fx = compile_by_ltc
    for module in ("torch._functorch.compilers", "functorch.compile"):
        importlib.import_module(module).nop = compile_aten_by_ltc
    for recorder in (testing.EagerAndRecordGraphs, testing.CompileCounter):
        then_compile(recorder, compile_by_ltc)


def then_compile(recorder, compile_by_ltc):
    """Let a backend that records or counts graphs compile them, too."""
    record = recorder.__call__

    def call(self, gm, inputs):
        record(self, gm, inputs)
        return compile_by_ltc(gm, inputs)

    recorder.__call__ = call
