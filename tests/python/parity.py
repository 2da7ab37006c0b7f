# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run PyTorch's own OpInfo samples on lazy and on eager CPU, and compare.

A check takes one OpInfo and a dtype and yields one `Outcome` a sample. Eager CPU
is the oracle: values, dtypes, shapes, what raises, what is written in place. The
door is the lazy device, or torch.compile of CPU tensors.
"""

import contextlib
import copy
import itertools
import math
import subprocess
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
import torch_ltc
from accuracy import Skipped, doubled, is_as_near, mismatch, tolerance
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

# The numbers of eager CPU's generator, so that random ops can be compared too.
torch_ltc.settings.rng = "eager"

OPS = {op.full_name: op for op in op_db}
KINDS = ("forward", "inplace", "out", "backward")
DOORS = ("lazy", "dynamo", "aot")
VIEWED = "viewed"  # forward, of views that nobody has read
SEED = 1234


# Their values are whatever was in the memory.
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}


# PyTorch wants these arguments on the host, whatever the device is.
HOST_ARGUMENTS = {"tensor_split"}


class Outcome(NamedTuple):
    """What came of one sample: an empty `problem` is a pass.

    `nearer`: it differs from eager's, and is as near to the exact result.
    """

    problem: str
    sample: str
    fallbacks: frozenset = frozenset()
    nearer: bool = False


def _is_tensor(value):
    return isinstance(value, torch.Tensor)


def _copy(tree, device):
    """Copy a tree of arguments to `device`; a tensor that occurs twice, stays one."""
    copies = {}

    def one(value):
        if _is_tensor(value):
            if id(value) not in copies:
                fresh = value.detach()
                fresh = fresh.clone() if device == "cpu" else fresh.to(device)
                copies[id(value)] = fresh.requires_grad_(value.requires_grad)
            return copies[id(value)]
        if device != "cpu" and str(value) in ("cpu", "cpu:0"):
            return device
        return value

    return pytree.tree_map(one, tree)


def tensors(tree):
    """Return the tensors of a result, in order."""
    return [leaf for leaf in pytree.tree_leaves(tree) if _is_tensor(leaf)]


def _cotangents(results):
    """Return the results that can be differentiated, and a weight for each."""
    results = [r for r in tensors(results) if r.requires_grad]
    generator = torch.Generator().manual_seed(SEED)

    def weight(r):
        parts = (2,) if r.is_complex() else ()
        drawn = torch.randn(*r.shape, *parts, generator=generator)
        drawn = drawn.mul(16).round() / 16  # what all dtypes hold exactly
        return (torch.view_as_complex(drawn) if parts else drawn).to(r.dtype)

    weights = [weight(r) for r in results]
    return results, weights


def _forward(op, sample):
    result = op(sample.input, *sample.args, **sample.kwargs)
    return torch.zeros_like(result) if op.name in UNINITIALISED else result


def _inplace(op, sample):
    result = op.inplace_variant(sample.input, *sample.args, **sample.kwargs)
    return result, sample.input


def _out(op, sample):
    def empty(value):
        if not _is_tensor(value):
            raise Skipped("a result that is not a tensor")
        # Not empty: some of eager's kernels leave a part unwritten.
        return torch.zeros_like(value, device=device)

    given = tensors([sample.input, sample.args, sample.kwargs])
    device = given[0].device if given else torch.get_default_device()
    if isinstance(sample.kwargs.get("device"), str):
        device = sample.kwargs["device"]
    expected = op(sample.input, *sample.args, **sample.kwargs)
    out = pytree.tree_map(empty, expected)
    out = tuple(out) if isinstance(out, (list, tuple)) else out
    kwargs = {**sample.kwargs, "out": out}
    kwargs.pop("device", None)
    kwargs.pop("dtype", None)
    op(sample.input, *sample.args, **kwargs)
    return [t.zero_() for t in tensors(out)] if op.name in UNINITIALISED else out


def _backward(op, sample):
    inputs = [
        t
        for t in tensors([sample.input, sample.args, sample.kwargs])
        if t.requires_grad
    ]
    result = op(sample.input, *sample.args, **sample.kwargs)
    result = sample.output_process_fn_grad(result)
    results, weights = _cotangents(result)
    if not results or not inputs:
        raise Skipped("nothing to differentiate")
    weights = [w.to(r.device) for w, r in zip(weights, results, strict=True)]
    return torch.autograd.grad(results, inputs, weights, allow_unused=True)


def _unread(tensor):
    """Return an equal view: its base is larger, and its last dimensions turned."""
    if tensor.dim() == 0:
        return torch.stack([tensor, tensor])[0]
    laid_out = tensor.mT if tensor.dim() > 1 else tensor
    part = torch.cat([laid_out, laid_out[:1]])[: len(laid_out)]
    return part.mT if tensor.dim() > 1 else part


def _viewed(op, sample):
    viewed = copy.copy(sample)
    whole = (sample.input, sample.args, sample.kwargs)
    viewed.input, viewed.args, viewed.kwargs = pytree.tree_map_only(
        torch.Tensor, _unread, whole
    )
    return _forward(op, viewed)


_RUN = {
    "forward": _forward,
    "inplace": _inplace,
    "out": _out,
    "backward": _backward,
    VIEWED: _viewed,
}


def supports(op, kind, dtype):
    """Return whether eager CPU has this form of the op."""
    if dtype not in op.supported_dtypes("cpu"):
        return False
    if kind == "inplace":
        return op.inplace_variant is not None
    if kind == "out":
        return op.supports_out
    if kind == "backward":
        return op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    return True


def samples(op, kind, dtype, limit):
    """Return at most `limit` samples, spread over all that the OpInfo makes."""
    torch.manual_seed(SEED)
    made = list(op.sample_inputs("cpu", dtype, requires_grad=kind == "backward"))
    if kind == "inplace":
        made = [s for s in made if not s.broadcasts_input]
    step = max(1, math.ceil(len(made) / limit)) if limit else 1
    return made[::step]


@contextlib.contextmanager
def fallbacks():
    """Collect the names of the ops that split the graph inside the block."""

    def count():
        return {
            name.removeprefix("record.fallback."): value
            for name, value in torch.lazy.metrics().items()
            if name.startswith("record.fallback.")
        }

    names = set()
    before = count()
    yield names
    names.update(n for n, v in count().items() if v != before.get(n, 0))


def _describe(sample):
    def one(value):
        if _is_tensor(value):
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        return value

    parts = pytree.tree_map(one, [sample.input, *sample.args])
    text = ", ".join(map(str, parts))
    named = pytree.tree_map(one, sample.kwargs)
    return text + "".join(f", {k}={v}" for k, v in named.items())


def _run(op, kind, sample, device):
    """Run one sample from the same seed and copies of the same arguments."""
    sample = _moved(op, sample, device)
    torch.manual_seed(SEED)
    context = contextlib.nullcontext() if kind == "backward" else torch.no_grad()
    # What names no device, and has no tensor to take it from, is made on `device`.
    named = tensors([sample.input, sample.args, sample.kwargs])
    default = contextlib.nullcontext() if named else torch.device(device)
    with context, default, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _RUN[kind](op, sample)


def _moved(op, sample, device):
    moved = copy.copy(sample)
    if op.name in HOST_ARGUMENTS:
        moved.input = _copy(sample.input, device)
        return moved
    moved.input, moved.args, moved.kwargs = _copy(
        (sample.input, sample.args, sample.kwargs), device
    )
    return moved


def _doubled(sample):
    wide = copy.copy(sample)
    wide.input, wide.args, wide.kwargs = doubled(
        (sample.input, sample.args, sample.kwargs)
    )
    return wide


def _first_line(error):
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0:1]}"


# What eager raises for a sample that it cannot run; jiterator asserts a GPU.
_NOT_ON_CPU = (RuntimeError, ValueError, TypeError, IndexError, AssertionError, Skipped)


class _Attempt(NamedTuple):
    """One sample that has been recorded on lazy, and not yet looked at."""

    text: str
    expected: object
    actual: object
    problem: str
    split: frozenset
    tolerance: dict
    exactly: object  # computes the same in double precision
    device: str


def _through(op, door):
    if door == "lazy":
        return op
    from compiled_ops import CompiledOp  # imports Dynamo, which takes a second

    return CompiledOp(op, door)


def _attempt(op, kind, dtype, sample, door):
    """Run one sample on both; None if eager CPU cannot run it."""
    try:
        expected = _run(op, kind, sample, "cpu")
    except _NOT_ON_CPU:
        return None
    text = f"{op.full_name}({_describe(sample)}) {kind}"
    actual, problem = None, ""
    device = "lazy" if door == "lazy" else "cpu"
    with fallbacks() as split:
        try:
            actual = _run(_through(op, door), kind, sample, device)
        except Skipped:
            return None
        except Exception as error:
            problem = _first_line(error)
    allowed = tolerance(op, dtype)

    def exactly():
        return _run(op, kind, _doubled(sample), "cpu")

    split = frozenset(split)
    return _Attempt(text, expected, actual, problem, split, allowed, exactly, device)


def _is_as_near(attempt):
    """Return whether the result, which is not eager's, is as near to the truth."""
    try:
        exact = attempt.exactly()
    except _NOT_ON_CPU:
        return False
    return is_as_near(attempt.actual, attempt.expected, exact, attempt.device)


def _judge(attempt):
    """Compare, which is where a graph runs; None if there is nothing to compare."""
    problem, nearer = attempt.problem, False
    try:
        if not problem:
            problem = mismatch(
                attempt.actual, attempt.expected, attempt.tolerance, attempt.device
            )
            nearer = bool(problem) and _is_as_near(attempt)
    except Skipped:
        return None
    except Exception as error:
        problem = _first_line(error)
    return Outcome("" if nearer else problem, attempt.text, attempt.split, nearer)


def check(op, checks, limit=0, door="lazy"):
    """Return the Outcomes of several (kind, dtype), on lazy recorded in one graph.

    Compiling takes the time, and one graph with all samples takes the least.
    """
    attempts = [
        _attempt(op, kind, dtype, sample, door)
        for kind, dtype in checks
        if supports(op, kind, dtype)
        for sample in samples(op, kind, dtype, limit)
    ]
    outcomes = [_judge(attempt) for attempt in attempts if attempt]
    return [outcome for outcome in outcomes if outcome]


def listed_rows():
    """Return the names of the compiler's rows, or nothing without ltc-opt."""
    library = Path(torch_ltc.__file__).parent / "lib" / "libltc_runtime.so"
    tool = library.resolve().parents[1] / "bin" / "ltc-opt"
    if not tool.exists():
        return set()
    listed = subprocess.run([tool, "--list-rows"], capture_output=True, text=True)
    return {line.split()[0] for line in listed.stdout.splitlines() if "::" in line}


def _rows():
    """Return the names of the rows without overload, namespace and underscores."""
    return {
        n.split("::")[1].split(".")[0].removesuffix("_copy").strip("_")
        for n in listed_rows()
    }


def lowered():
    """Return the names of the OpInfos of ops that the compiler has a row for."""
    rows = _rows()
    return [
        name
        for name, op in OPS.items()
        if {op.name.rsplit(".")[-1].strip("_"), op.aten_name.strip("_")} & rows
    ]


def interesting(names):
    """Return the OpInfos of these names, every variant of each."""
    wanted = set(names)
    return list(itertools.chain(op for op in op_db if {op.name, op.full_name} & wanted))
