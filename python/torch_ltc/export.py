# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs as files that other compilers read (docs/hand-over.md, docs/egress.md)."""

import contextlib
from pathlib import Path
from typing import NamedTuple

import torch
from torch.utils import _pytree as pytree

from torch_ltc import errors, settings
from torch_ltc.distributed import shardings
from torch_ltc.startup import start

DIALECTS = ("linalg", "bytecode", "graph", "stablehlo", "tosa")


class ExportedGraph(NamedTuple):
    """What `export_graph` returns: what the file's ``main`` takes and gives."""

    path: Path
    # In order: tensors as they were given, numbers, None for a seed. A number that
    # depends on an open size is its formula, as "2*s0".
    inputs: list
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
    op and your line. A program of torch.export without ``args`` keeps sizes open that
    its dynamic_shapes leave open, in linalg, bytecode and graph. Of DTensors the graph
    has the whole, and says which device of their mesh has which part.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is one of {', '.join(DIALECTS)}, not {dialect!r}")
    if isinstance(program, torch.export.ExportedProgram):
        if not args:
            return _export_open(program, Path(path), dialect)
        program = program.module()
    c = start()
    builder = c.GraphBuilder(torch.lazy.current_device())
    state = {}
    if isinstance(program, torch.nn.Module):
        state = {**dict(program.named_parameters()), **dict(program.named_buffers())}
    values, spec = pytree.tree_flatten((state, args))
    given = [value for value in values if isinstance(value, torch.Tensor)]

    def call(values):
        own_state, own_args = pytree.tree_unflatten(values, spec)
        if state:
            return torch.func.functional_call(program, own_state, own_args)
        return program(*own_args)

    placed = shardings.results_like(call, values)
    stand_ins = _StandIns(builder, values)
    with torch.no_grad(), _layers_op_by_op(), shardings.as_one_device(program):
        returned = call(stand_ins.seen)
        stand_ins.hand_on_writes()
    outputs = [x for x in pytree.tree_leaves(returned) if isinstance(x, torch.Tensor)]
    if any(x.device.type != "lazy" for x in outputs):
        raise _no_argument()
    if placed:
        outputs = stand_ins.placed(outputs, placed)
    del returned, stand_ins  # a value that somebody holds is a result
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


def _export_open(exported, path, dialect):
    from torch_ltc.aot.opened import Opened
    from torch_ltc.aot.tracing import Program, Weights

    program, weights = Program(exported), Weights()
    with settings.scope(rng="fast"):  # numbers of eager's would be drawn now
        made = Opened(program, weights)
    examples = program.examples()

    def value(origin):
        kind, what, *_ = origin
        given = {"input": examples, "weight": weights.tensors}.get(kind)
        if given is not None:
            return given[what]
        return None if kind == "seed" else what

    path.write_bytes(made.program.lower(dialect))
    return ExportedGraph(
        path,
        [value(origin) for origin in made.sources],
        [value(origin) for origin in made.results],
        [(value(to), value(of)) for to, of in made.writes],
    )


class _StandIns:
    """Inputs of the graph, and what the program sees of them."""

    def __init__(self, builder, values):
        self.seen, self._whole = [], []
        for value in values:
            if shardings.is_distributed(value):
                like = torch.empty(value.shape, dtype=value.dtype, device="lazy")
                whole = builder.input(like)
                self.seen.append(shardings.shard(whole, value))
                self._whole.append((whole, self.seen[-1], value))
            elif isinstance(value, torch.Tensor):
                self.seen.append(builder.input(value.detach()))
            else:
                self.seen.append(value)

    def hand_on_writes(self):
        """Give inputs what was written to their placed values."""
        for whole, seen, value in self._whole:
            if seen._version > 0:
                whole.copy_(shardings.shard(seen, value))

    def placed(self, outputs, like):
        """Return the outputs that are computed with the placements of the others."""
        return [
            output
            if placed is None or any(output is seen for seen in self.seen)
            else shardings.shard(output, placed)
            for output, placed in zip(outputs, like, strict=True)
        ]


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
