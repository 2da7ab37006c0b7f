# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes into a call of a step that is being frozen, and what comes out."""

import torch

from torch_ltc.freezing.reachable import PLAIN


class Arguments:
    """The arguments of one call, and a tree of what others have to be like."""

    def __init__(self, args, kwargs, c):
        self._c = c
        self.tensors, self.hosts, self.floats, self.roots = [], [], [], []
        self.obstacle = None
        self.stand_ins = []  # pairs of what the function is given, and for what
        self.args, self._args = self._read(args, "")
        self.kwargs, self._kwargs = self._read(kwargs, "")
        self.signature = (_signature(self._args), _signature(self._kwargs))
        self.signature += (torch.is_grad_enabled(), torch.is_inference_mode_enabled())

    @property
    def has_stand_ins(self):
        """Whether the function is given other tensors, for views."""
        return bool(self.stand_ins)

    def restore(self, result):
        """Return the caller's tensor where the function returns its stand-in."""
        for stand_in, tensor in self.stand_ins:
            if result is stand_in:
                return tensor
        return result

    def forget(self):
        """Let go of the tensors; their types stay."""
        self.args = self.kwargs = None
        self.tensors, self.hosts = [], []
        self.stand_ins = []

    def tree(self):
        """Return what `ArgumentGuard` takes (python/bindings/state_guard.h)."""
        return ("tuple", [self._args, self._kwargs])

    def _read(self, value, path):
        if type(value) in (list, tuple):
            pairs = [self._read(v, f"{path}[{i}]") for i, v in enumerate(value)]
            given = type(value)(given for given, _ in pairs)
            return given, (type(value).__name__, [tree for _, tree in pairs])
        if type(value) is dict:
            pairs = {k: self._read(v, f"{path}[{k!r}]") for k, v in value.items()}
            given = {key: given for key, (given, _) in pairs.items()}
            return given, ("dict", [t for _, t in pairs.values()], list(pairs))
        if type(value) is torch.Tensor and not (value.requires_grad and value.is_leaf):
            return self._read_tensor(value)
        if type(value) is float:
            self.floats.append(value)
            return value, ("value", value, len(self.floats) - 1)
        if not isinstance(value, PLAIN):
            self.roots.append((value, f"argument{path}"))
        return value, ("value", value, None)

    def _read_tensor(self, value):
        if value.requires_grad:
            self.obstacle = (
                "is given a tensor that gradients flow to; call backward() inside"
            )
        if value.device.type == "lazy" and value.layout is torch.strided:
            given = self._c.with_own_memory(value) if not value.requires_grad else value
            if given is not value:
                self.stand_ins.append((given, value))
            self.tensors.append(given)
            kind = "tensor"
        else:
            given = value
            self.hosts.append(value)
            kind = "host"
            if not value.is_cpu or value.layout is not torch.strided:
                self.obstacle = f"is given a tensor on {value.device}, {value.layout}"
                return given, ("value", None, None)
        like = torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device="meta"
        )
        return given, (kind, like)


def _signature(tree):
    kind = tree[0]
    if kind in ("list", "tuple", "dict"):
        keys = tuple(map(repr, tree[2])) if kind == "dict" else ()
        return (kind, keys, *map(_signature, tree[1]))
    if kind in ("tensor", "host"):
        return (kind, tree[1].dtype, tuple(tree[1].shape), tree[1].stride())
    if tree[2] is not None:
        return (kind, float)
    value = tree[1]
    return (kind, type(value), value if isinstance(value, PLAIN) else id(value))


class Leaves:
    """The floats among arguments and objects, which may turn out to be inputs."""

    def __init__(self, arguments, state):
        self.values = list(arguments.floats)
        self.tree = arguments.tree()
        self.rows = []
        for row in state.rows.values():
            numbers = []
            for value in row.values:
                is_float = type(value) is float
                numbers.append(len(self.values) if is_float else None)
                if is_float:
                    self.values.append(value)
            self.rows.append((row.kind, row.container, row.keys, row.values, numbers))


class Returned:
    """What a call returns: tensors, in tuples, lists and dicts of plain values."""

    def __init__(self, result, state, arguments):
        self.tensors = []
        self.obstacle = None
        self._state = state
        self._given = {id(t) for t in (*arguments.tensors, *arguments.hosts)}
        self._given |= {id(tensor) for _, tensor in arguments.stand_ins}
        self._given |= {id(t) for t in state.hosts}
        self.detached, self._tree = self._read(result)
        self._state = self._given = None

    def __call__(self, tensors):
        """Return the same of these tensors."""
        return _build(self._tree, tensors)

    def is_like(self, older):
        """Whether both return as many tensors, in the same places."""
        return self._tree == older._tree

    def forget(self):
        """Let go of the tensors."""
        self.tensors = []
        self.detached = None

    def _read(self, value):
        if type(value) in (list, tuple):
            pairs = [self._read(part) for part in value]
            result = type(value)(part for part, _ in pairs)
            return result, (type(value), [tree for _, tree in pairs])
        if type(value) is dict:
            pairs = {key: self._read(part) for key, part in value.items()}
            result = {key: part for key, (part, _) in pairs.items()}
            return result, (dict, {key: tree for key, (_, tree) in pairs.items()})
        if isinstance(value, torch.Tensor):
            return self._read_tensor(value)
        if not isinstance(value, PLAIN):
            self.obstacle = (
                f"returns a {type(value).__name__}; tensors and numbers, in tuples, "
                "lists and dicts, can be returned"
            )
        return value, (None, value)

    def _read_tensor(self, value):
        if id(value) in self._state.tensors or id(value) in self._given:
            self.obstacle = "returns a tensor that was there before it was called"
            return value, (None, None)
        if value.device.type != "lazy" or type(value) is not torch.Tensor:
            self.obstacle = f"returns a {type(value).__name__} on {value.device}"
            return value, (None, None)
        if value.requires_grad:
            if _keeps_graph(value):
                self.obstacle = (
                    "returns a tensor that backward() can still be called on; call "
                    "it inside, or return a detached tensor"
                )
                return value, (None, None)
            value = value.detach()
        self.tensors.append(value)
        return value, (torch.Tensor, len(self.tensors) - 1)


def _build(tree, tensors):
    kind, parts = tree
    if kind is torch.Tensor:
        return tensors[parts]
    if kind is None:
        return parts
    if kind is dict:
        return {key: _build(part, tensors) for key, part in parts.items()}
    return kind(_build(part, tensors) for part in parts)


def _keeps_graph(tensor):
    """Whether gradients can still be computed: autograd's values are not freed."""
    queue, seen = [tensor.grad_fn], set()
    while queue:
        node = queue.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        queue.extend(next_ for next_, _ in node.next_functions)
        saved = [name for name in dir(node) if name.startswith("_saved_")]
        for name in (*saved, "saved_tensors"):
            try:
                getattr(node, name, None)
            except RuntimeError:
                return False
    return True
