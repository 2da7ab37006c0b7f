# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function leads to: the objects that its calls may read or change.

From its closure, its defaults and the globals that it names the walk goes on
through containers, modules, optimizers and other objects. Of a user's own object
only those attributes count whose names stand in code that was reached: a trainer
may count its steps in another method. Libraries are not looked into.
"""

import collections
import dis
import functools
import sys
import types

import torch

_LIBRARIES = {*sys.stdlib_module_names, "torch", "torch_ltc", "numpy"}
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
PLAIN = (type(None), bool, int, float, complex, str, bytes)
# Names of code that may look up a global by other means.
_LOOKUPS = {"globals", "vars", "eval", "exec", "__globals__", "f_globals"}
_LOOKUPS |= {"modules", "import_module", "__import__"}


class Row:
    """A container as it is: what `python/bindings/state_guard.h` compares."""

    def __init__(self, kind, container, keys, values, path):
        self.kind = kind
        self.container = container
        self.keys = tuple(keys)
        self.values = tuple(values)
        self.path = path

    def changes(self, newer):
        """Return the path of the first value that is another in `newer`; or None."""
        old = dict(zip(self.keys, self.values, strict=True))
        for key, value in zip(newer.keys, newer.values, strict=True):
            if key not in old and self.kind == "list":
                return self.path  # it has grown
            if key not in old or not _is_same(old[key], value):
                return self._name(key)
        if len(newer.keys) < len(self.keys):
            return self.path
        return None

    def _name(self, key):
        if self.kind in ("names", "attributes") and isinstance(key, str):
            return f"{self.path}.{key}" if self.path else key
        return self.path if key is None else f"{self.path}[{key!r}]"


def _is_same(old, new):
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, types.MethodType):
        return old.__self__ is new.__self__ and old.__func__ is new.__func__
    if type(old) is tuple:
        return len(old) == len(new) and all(map(_is_same, old, new))
    return isinstance(old, (*PLAIN, frozenset)) and old == new


class Reachable:
    """What `roots`, pairs of an object and its name, lead to now."""

    def __init__(self, roots):
        self.rows = {}  # by kind and id of the container
        self.tensors = {}  # lazy ones with their paths, by id
        self.hosts = {}  # the same of CPU tensors
        self._seen = {}
        self._names = set()
        self._objects = {}  # of the user's own classes, modules and the like
        self._queue = collections.deque(roots)
        size = None
        while size != (len(self._seen), len(self._names)):
            size = (len(self._seen), len(self._names))
            while self._queue:
                self._visit(*self._queue.popleft())
            for thing, path in list(self._objects.values()):
                self._look_into(thing, path)

    def first_change(self, newer):
        """Return the path of what is another in `newer`, or None."""
        for key, row in self.rows.items():
            path = key in newer.rows and row.changes(newer.rows[key])
            if path:
                return path
        return None

    def _add(self, kind, container, keys, values, path):
        keys, values = tuple(keys), tuple(values)
        self.rows[kind, id(container)] = Row(kind, container, keys, values, path)
        joint = "." if kind in ("names", "attributes") else ""
        for key, value in zip(keys, values, strict=True):
            if joint or key is None:
                name = ".".join(filter(None, (path, key)))
            else:
                name = f"{path}[{key!r}]"
            self._queue.append((value, name))

    def _visit(self, thing, path):
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, torch.Tensor):
            self._visit_tensor(thing, path)
        elif isinstance(thing, types.FunctionType):
            self._visit_function(thing, path)
        elif isinstance(thing, types.MethodType):
            self._queue.append((thing.__self__, path))
            self._queue.append((thing.__func__, path))
        elif isinstance(thing, functools.partial):
            self._queue.extend((part, path) for part in (thing.func, thing.args))
            self._queue.append((thing.keywords, path))
        elif isinstance(thing, types.CellType):
            if _is_filled(thing):
                self._add("cell", thing, (None,), (thing.cell_contents,), path)
        elif isinstance(thing, _CONTAINERS):
            self._visit_container(thing, path)
        elif isinstance(thing, types.ModuleType | type):
            name = thing.__name__ if isinstance(thing, types.ModuleType) else None
            if not _is_library(name or thing.__module__):
                self._objects[id(thing)] = (thing, path)
        elif not _is_library(type(thing).__module__):
            self._objects[id(thing)] = (thing, path)
        elif type(thing).__module__.startswith("torch.") and hasattr(thing, "__dict__"):
            attributes = vars(thing)
            self._add("dict", attributes, attributes, attributes.values(), path)

    def _visit_tensor(self, tensor, path):
        if tensor.device.type == "lazy":
            self.tensors[id(tensor)] = (tensor, path)
        elif tensor.is_cpu and tensor.layout is torch.strided:
            self.hosts[id(tensor)] = (tensor, path)
        for hooks in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            self._queue.append((getattr(tensor, hooks, None), f"{path}.{hooks}"))

    def _visit_container(self, thing, path):
        if isinstance(thing, dict):
            # An optimizer's state has parameters as keys.
            self._queue.extend((key, path) for key in list(thing))
            self._add("dict", thing, thing, thing.values(), path)
        elif type(thing) is list:
            self._add("list", thing, range(len(thing)), thing, path)
        elif isinstance(thing, set):
            self._add("set", thing, (None,), (frozenset(thing),), path)
        else:
            self._queue.extend((value, path) for value in thing)

    def _visit_function(self, function, path):
        if _is_library(function.__module__ or ""):
            return
        names = set(_names_in(function.__code__))
        self._names |= names
        globals_ = function.__globals__
        used = sorted(n for n in _globals_in(function.__code__) if n in globals_)
        known = self.rows.get(("names", id(globals_)))
        if known:
            used = sorted({*used, *known.keys})
        self._add("names", globals_, used, (globals_[name] for name in used), "")
        cells = zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
        self._queue.extend((cell, name) for name, cell in cells)
        self._queue.append((function.__defaults__, path))
        self._queue.append((function.__kwdefaults__, path))
        self._queue.append((function.__dict__, path))

    def _look_into(self, thing, path):
        """Take in the attributes of an object that reached code names."""
        is_module = isinstance(thing, torch.nn.Module)
        if isinstance(thing, type):
            for base in thing.__mro__:
                if not _is_library(base.__module__):
                    self._look_into_class(base, path)
            return
        if not isinstance(thing, types.ModuleType):
            self._queue.append((type(thing), type(thing).__name__))
            if is_module:
                self._names.add("forward")
        attributes = getattr(thing, "__dict__", {})
        names = [
            name
            for name in attributes
            if name in self._names
            or (is_module and (name[0] == "_" or name == "training"))
        ]
        self._add("names", attributes, names, map(attributes.get, names), path)
        slots = [n for n in _slots(type(thing)) if n in self._names]
        slots = [name for name in slots if hasattr(thing, name)]
        if slots:
            values = (getattr(thing, name) for name in slots)
            self._add("attributes", thing, slots, values, path)

    def _look_into_class(self, class_, path):
        values = {}
        for name, value in vars(class_).items():
            is_special = name[:2] == "__" and name != "__init__"
            if name not in self._names and not is_special:
                continue
            for part in _functions_in(value):
                self._queue.append((part, f"{path}.{name}"))
            if isinstance(value, (*PLAIN, *_CONTAINERS, torch.Tensor)):
                values[name] = value
        special = ("__module__", "__doc__", "__dict__", "__weakref__")
        names = [n for n in values if n not in special and n[:2] != "__"]
        self._add("attributes", class_, names, map(values.get, names), path)


def _is_filled(cell):
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _is_library(name):
    return name.partition(".")[0] in _LIBRARIES and name != "__main__"


def _names_in(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant  # for getattr()


@functools.lru_cache(maxsize=4096)
def _globals_in(code):
    """Return which names of the code may be globals, not attributes alone."""
    if not _LOOKUPS.isdisjoint(code.co_names):
        return frozenset(_names_in(code))
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname.endswith(("_GLOBAL", "_NAME", "_OR_GLOBALS"))
    }
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return names.union(*map(_globals_in, inner))


def _functions_in(value):
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [f for f in (value.fget, value.fset) if f]
    return [value] if isinstance(value, types.FunctionType) else []


def _slots(class_):
    for base in class_.__mro__:
        slots = vars(base).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots
