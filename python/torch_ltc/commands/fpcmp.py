# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``ltc-fpcmp``: how far the tensors of two files are apart."""

import argparse
import dataclasses
import fnmatch
import json
import math
import sys

import torch

from torch_ltc.checking.comparison import compare
from torch_ltc.commands.command_line import ended

_MEASURES = ("atol", "rtol", "ulp")


def main():
    """Run as ``ltc-fpcmp``."""
    parser = argparse.ArgumentParser(prog="ltc-fpcmp", description=__doc__)
    define(parser)
    return ended(run, parser.parse_args())


def define(parser):
    """Give an argparse parser its arguments."""
    parser.add_argument("found", metavar="A", help=".pt, .npy or .safetensors")
    parser.add_argument("wanted", metavar="B", help="what A is compared with")
    parser.add_argument("--atol", type=float, help="absolute error that is allowed")
    parser.add_argument("--rtol", type=float, help="relative error that is allowed")
    parser.add_argument("--ulp", type=int, help="units in the last place")
    parser.add_argument("--tolerances", help="a JSON file: these by name and dtype")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(arguments):
    """Compare; return 0 if all is as wanted, 1 if not, 2 if it cannot be read."""
    try:
        found, wanted = _tensors(arguments.found), _tensors(arguments.wanted)
        tolerances = _tolerances(arguments)
    except (OSError, ValueError) as error:
        print(f"ltc-fpcmp: {error}", file=sys.stderr)
        return 2
    rows = {
        name: _compare(found.get(name), wanted.get(name), tolerances(name, wanted))
        for name in [*wanted, *(name for name in found if name not in wanted)]
    }
    wrong = {name: row for name, row in rows.items() if row is not None}
    if arguments.json:
        plain = {
            name: {"text": str(row)}
            | (dataclasses.asdict(row) if dataclasses.is_dataclass(row) else {})
            for name, row in wrong.items()
        }
        print(json.dumps({"tensors": len(rows), "differ": plain}))
    else:
        for name, row in wrong.items():
            print(f"{name or 'the tensor'}: {row}")
        print(f"{len(rows) - len(wrong)} of {len(rows)} tensors are as wanted")
    return 1 if wrong else 0


def _compare(found, wanted, tolerance):
    """Return how they differ, or None."""
    if found is None or wanted is None:
        return "it is in one file only"
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{_type(found)} where {_type(wanted)} is wanted"
    return compare(found, wanted, _allowed(wanted, tolerance))


def _type(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _allowed(wanted, tolerance):
    """Return the greatest difference of each element, or None for none."""
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return None
    wide = torch.complex128 if wanted.is_complex() else torch.float64
    size = wanted.to(wide).abs()
    eps = torch.finfo(wanted.dtype)
    allowed = torch.zeros_like(size)
    if tolerance.get("atol"):
        allowed = allowed.clamp_min(tolerance["atol"])
    if tolerance.get("rtol"):
        allowed = torch.maximum(allowed, tolerance["rtol"] * size)
    if tolerance.get("ulp"):
        # One unit is eps times the power of two below the number.
        unit = torch.exp2(size.clamp_min(eps.tiny).log2().floor()) * eps.eps
        allowed = torch.maximum(allowed, tolerance["ulp"] * unit)
    return allowed


def _tolerances(arguments):
    """Return a function that gives the tolerance of a name."""
    given = {name: getattr(arguments, name) for name in _MEASURES}
    for name, value in given.items():
        if value is not None:
            _check(f"--{name}", value)
    table = {}
    if arguments.tolerances:
        with open(arguments.tolerances, encoding="utf-8") as file:
            table = json.load(file)
        if not isinstance(table, dict):
            raise ValueError(f"{arguments.tolerances} has no names with tolerances")
        for key, row in table.items():
            for measure, value in row.items() if isinstance(row, dict) else [(row, 0)]:
                if measure not in _MEASURES:
                    raise ValueError(
                        f"{arguments.tolerances}: {key} has {measure}, which is "
                        f"none of {', '.join(_MEASURES)}"
                    )
                _check(f"{arguments.tolerances}: {key}'s {measure}", value)

    def of(name, tensors):
        for pattern, row in table.items():
            if fnmatch.fnmatchcase(name, pattern):
                return row
        if name in tensors:
            dtype = str(tensors[name].dtype).removeprefix("torch.")
            return table.get(dtype, given)
        return given

    return of


def _check(what, value):
    """Raise a ``ValueError`` if a tolerance is none: what is NaN allows anything."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is {value!r}, which is no number")
    if not 0 <= value < math.inf:
        raise ValueError(f"{what} is {value}; wanted is a finite number from 0 on")


def _tensors(path):
    """Return the tensors of a file by name; "" for one that has none."""
    try:
        return _read(path)
    except (OSError, ImportError):
        raise
    except Exception as error:
        # Readers raise whatever damaged bytes lead to, with a page of advice.
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"{path} cannot be read: {said}") from error


def _read(path):
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(path)
    if path.endswith(".npy"):
        import numpy

        return {"": torch.from_numpy(numpy.load(path))}
    if not path.endswith((".pt", ".pth")):
        raise ValueError("it is no .pt, .npy or .safetensors file")
    found = {}
    _flatten(torch.load(path, map_location="cpu", weights_only=True), "", found)
    if not found:
        raise ValueError("it has no tensor")
    return found


def _flatten(value, name, found):
    """Add the tensors of nested dicts and lists."""
    if isinstance(value, torch.Tensor):
        found[name] = value.detach().contiguous()
        return
    if isinstance(value, dict):
        rows = value.items()
    elif isinstance(value, list | tuple):
        rows = enumerate(value)
    else:
        return
    for key, each in rows:
        _flatten(each, f"{name}.{key}" if name else str(key), found)
