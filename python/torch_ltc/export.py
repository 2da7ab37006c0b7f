# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs as files that other compilers read (docs/hand-over.md, docs/egress.md)."""

import contextlib
from pathlib import Path
from typing import NamedTuple

import torch
from torch.utils import _pytree as pytree

from torch_ltc import errors
from torch_ltc.startup import start

DIALECTS = ("linalg", "bytecode", "graph", "stablehlo", "tosa")


class ExportedGraph(NamedTuple):
    """What `export_graph` returns: what the file's ``main`` takes and gives."""

    path: Path
    inputs: list  # in order: tensors as they were given, numbers, None for a seed
    # For each tensor that the program returns: which of main's results it is, or
    # the given tensor that it is.
    results: list
    written: list  # (given tensor that gets a new value, that value, likewise)


def export_graph(program, path, *args, dialect="linalg"):
    """Write the graph of a module or a function to a file; return its inputs.

    ``dialect`` is linalg (MLIR of upstream's dialects, as text), bytecode (the same),
    graph, stablehlo or tosa. Sizes are those of ``args``. A module's parameters and
    buffers become inputs; a function has to take all its tensors as arguments. In
    linalg a convolution or a sort stays whole, as a call of a function that says what
    it is; what StableHLO or TOSA does not say is an UnsupportedOpError that names the
    op and your line.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
    c = start()
    builder = c.GraphBuilder(torch.lazy.current_device())
    state = {}
    if isinstance(program, torch.nn.Module):
        state = {**dict(program.named_parameters()), **dict(program.named_buffers())}
    values, spec = pytree.tree_flatten((state, args))
    given = [value for value in values if isinstance(value, torch.Tensor)]
    stand_ins = [
        builder.input(value.detach()) if isinstance(value, torch.Tensor) else value
        for value in values
    ]
    own_state, own_args = pytree.tree_unflatten(stand_ins, spec)
    with torch.no_grad(), _layers_op_by_op():
        if state:
            returned = torch.func.functional_call(program, own_state, own_args)
        else:
            returned = program(*own_args)
    outputs = [x for x in pytree.tree_leaves(returned) if isinstance(x, torch.Tensor)]
    if any(x.device.type != "lazy" for x in outputs):
        raise _no_argument()
    graph = builder.trace(outputs)
    inputs, results, writes = c.origins(graph)
    exported = ExportedGraph(
        Path(path),
        [_value(origin, given) for origin in inputs],
        [_value(origin, given) for origin in results],
        [(given[i], _value(origin, given)) for i, origin in writes],
    )
    exported.path.write_bytes(graph.lower(dialect))
    return exported


@contextlib.contextmanager
def _layers_op_by_op():
    """Have nn.TransformerEncoderLayer and such not record one op of their own."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _value(origin, given):
    kind, what = origin
    if kind == "constant":
        raise _no_argument()
    if kind == "input":
        return given[what]
    return None if kind == "seed" else what


def _no_argument():
    message = "the program uses a tensor that is none of its arguments"
    hint = "pass all as arguments, or export a module with them as buffers"
    nowhere = ("", 0, "")
    text = f"{message}\n  {hint}"
    return errors.make("unsupported", "graph", "", nowhere, message, hint, text)
