# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles, loaded: no compiler, and nothing of PyTorch's but tensors."""

import ctypes
import json
import os
import weakref

import torch
from torch.utils import _pytree as pytree

from torch_ltc.aot import library as aot


def load(path):
    """Open a bundle and return its `Model`.

    Raises an ``InvalidArgumentError`` for a file that is damaged or that others
    may write to, and an ``UnsupportedOpError`` if it has no code for this
    processor.
    """
    return Model(path)


def use_threads(count):
    """Have bundles use so many threads from now on; 0 is one for each core."""
    aot.library().ltc_aot_use_threads(count)


class Model:
    """An open bundle: ``model(x)`` runs its only entry, or ``forward``.

    Attributes:
        target: the processor whose code was chosen, such as ``"x86-64-v3"``.
        entries: a dict of `Entry` by name.

    """

    def __init__(self, path):
        library = aot.library()
        handle = library.ltc_aot_open(os.fsencode(path))
        if not handle:
            raise aot.failed()
        self._handle = handle
        # Not at exit: other threads may be in a run of it.
        weakref.finalize(self, library.ltc_aot_close, handle).atexit = False
        self.target = library.ltc_aot_target(handle).decode()
        self.entries = {}
        while entry := library.ltc_aot_entry_at(handle, len(self.entries)):
            name = library.ltc_aot_entry_name(entry).decode()
            self.entries[name] = Entry(self, name, entry)

    def __getitem__(self, name):
        return self.entries[name]

    def __call__(self, *args, **kwargs):
        """Run the only entry, or ``forward``."""
        entry = self.entries.get("forward")
        if len(self.entries) == 1:
            (entry,) = self.entries.values()
        if entry is None:
            raise aot.error(
                "invalid argument",
                f"the model has the entries {', '.join(self.entries)} and none named "
                f"forward; call one by its name: model[{next(iter(self.entries))!r}]",
            )
        return entry(*args, **kwargs)

    def reset(self):
        """Give buffers that entries write to the values that they began with."""
        aot.library().ltc_aot_reset(self._handle)

    def seed(self, seed):
        """Have random ops draw what follows from this seed."""
        aot.library().ltc_aot_seed(self._handle, seed)


class Entry:
    """What was exported under one name; call it as the module was called."""

    def __init__(self, model, name, handle):
        self.name = name
        self._model = model  # which owns the handle
        self._handle = handle
        notes = json.loads(aot.library().ltc_aot_entry_notes(handle))
        self._in_spec = _spec(notes["in_spec"])
        self._keywords = _keywords(self._in_spec)
        self._out_spec = _spec(notes["out_spec"])
        self._constants = notes["constants"]  # arguments that are no tensors
        self._results = notes["results"]  # None for a tensor
        self.inputs = _values(aot.library().ltc_aot_input, handle)
        self.outputs = _values(aot.library().ltc_aot_output, handle)

    def __call__(self, *args, **kwargs):
        """Run it on CPU tensors; what the module wrote to is written to."""
        given = self._tensors(args, kwargs)
        library = aot.library()
        inputs = (aot.Tensor * max(len(given), 1))(*map(_memory, given))
        results = []
        for number, value in enumerate(self.outputs):
            sizes = (ctypes.c_int64 * max(value.rank, 1))()
            self._check(
                library.ltc_aot_output_sizes(self._handle, inputs, number, sizes)
            )
            shape, dtype = list(sizes)[: value.rank], aot.DTYPES[value.dtype]
            results.append(torch.empty(shape, dtype=dtype, device="cpu"))
        outputs = (aot.Tensor * max(len(results), 1))(*map(_memory, results))
        self._check(library.ltc_aot_run(self._handle, inputs, outputs))
        return self._structured(results, given)

    def _check(self, code):
        if code:
            raise aot.failed()

    def _tensors(self, args, kwargs):
        leaves = self._leaves(args, kwargs)
        given = []
        for number, leaf in enumerate(leaves):
            constant = self._constants[number]
            if constant is None:
                given.append(self._taken(self.inputs[len(given)], leaf))
            elif not _is_same(leaf, constant[0]):
                raise aot.error(
                    "invalid argument",
                    f"argument {number} of entry {self.name} is {leaf!r}, and it was "
                    f"exported with {constant[0]!r}",
                )
        return given

    def _leaves(self, args, kwargs):
        if kwargs.keys() == set(self._keywords):
            kwargs = {name: kwargs[name] for name in self._keywords}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if len(leaves) != len(self._constants) or (
            self._in_spec is not None and spec != self._in_spec
        ):
            raise aot.error(
                "invalid argument",
                f"entry {self.name} was exported with other arguments: "
                f"{', '.join(value.name.decode() for value in self.inputs)}",
            )
        return leaves

    def _taken(self, value, tensor):
        name = value.name.decode()
        if value.is_integer:
            if type(tensor) is not int:
                raise aot.error(
                    "invalid argument",
                    f"input {name} of entry {self.name} is an integer",
                )
            return torch.tensor(tensor, device="cpu")
        dtype = aot.DTYPES[value.dtype]
        good = isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu"
        if not good or tensor.dtype != dtype or tensor.dim() != value.rank:
            raise aot.error(
                "invalid argument",
                f"input {name} of entry {self.name} is a CPU tensor of {dtype} with "
                f"{value.rank} dimensions",
            )
        dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
        if value.is_written and dense.data_ptr() != tensor.data_ptr():
            raise aot.error(
                "invalid argument",
                f"entry {self.name} writes to input {name}, which must be contiguous",
            )
        return dense

    def _structured(self, tensors, given):
        rest = iter(tensors)
        leaves = [
            next(rest) if result is None else _number(result, given)
            for result in self._results
        ]
        if self._out_spec is None:
            return leaves
        return pytree.tree_unflatten(leaves, self._out_spec)


def _number(result, given):
    kind, *what = result
    if kind == "value":
        return what[0]
    tensor, dim = given[what[0]], what[1]
    return tensor.shape[dim] if tensor.dim() else tensor.item()


def _is_same(given, constant):
    """Compare arguments that are no tensors; a NaN is the same as another."""
    if isinstance(given, torch.Tensor):
        return False
    return given == constant or (given != given and constant != constant)


def _spec(text):
    return text and pytree.treespec_loads(text)


def _keywords(in_spec):
    """Return the names of keyword arguments, in the order of the leaves."""
    if in_spec is None:
        return []
    return list(pytree.tree_unflatten([None] * in_spec.num_leaves, in_spec)[1])


def _values(function, handle):
    values = []
    while value := function(handle, len(values)):
        values.append(value.contents)
    return values


def _memory(tensor):
    sizes = (ctypes.c_int64 * max(tensor.dim(), 1))(*tensor.shape)
    return aot.Tensor(tensor.data_ptr(), tensor.nbytes, sizes)
