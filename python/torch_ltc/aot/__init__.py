# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles: models that are compiled ahead of time and run without PyTorch.

    torch_ltc.aot.compile(torch.export.export(model, (x,)), "model.ltcpkg")
    torch_ltc.aot.load("model.ltcpkg")(x)

docs/aot.md has the rest: C programs, sizes that vary, the format.
"""

from torch_ltc.aot.model import Entry, Model, load, use_threads

__all__ = ["Entry", "Model", "compile", "load", "use_threads"]


def compile(
    programs, path, *, targets=("avx512", "avx2", "baseline"), weights="inside"
):
    """Write what ``torch.export.export`` returned to one file.

    ``programs`` is an ``ExportedProgram``, the entry ``forward``, or a dict of
    them by the names of entries; weights that entries share are stored once.
    ``targets`` are the processors that code is made for, of which the best that
    a machine has is chosen there: ``"avx512"``, ``"avx2"``, ``"baseline"``, or
    those by their names in the x86-64 psABI, ``"x86-64-v4"``, ``"x86-64-v3"``,
    ``"x86-64-v2"``. ``weights`` is ``"inside"``, or ``"beside"`` for a file
    ``<path>.weights``.

    Raises an ``UnsupportedOpError`` that names an op, with its line, for which
    there is no code without PyTorch. Nothing is written then. The best of the
    targets that this machine has is tried on the example inputs.
    """
    from torch_ltc.aot import bundles  # which loads the compiler

    bundles.write(programs, path, targets, weights)
