# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that are repeated without their Python: ``freeze``.

The first calls are recorded. What two of them did alike becomes a frozen step
(`ltc_backend/graph/frozen/frozen_step.h`), with guards of all that the function leads
to (`reachable`). A call that fits no frozen step is recorded again.
"""

import functools
import inspect
import random
import sys
import threading
import types
import warnings

import torch

from torch_ltc import errors, settings, startup
from torch_ltc.freezing import frozen_values
from torch_ltc.freezing.reachable import Reachable

# Of one function, for arguments and states that differ.
MAX_STEPS = 16
# Calls that are recorded before the step is given up.
MAX_RECORDINGS = 6

_recording = threading.local()


def freeze(function=None, *, strict=False):
    """Repeat a step without running its Python, once two calls have done the same.

    A function, or a decorator of one. It is for steps that do the same to other
    data in each call. A step that cannot be repeated goes on as it was, with one
    warning that says why; with ``strict=True`` it raises a `FreezeError`.

        @torch_ltc.freeze
        def step(x, y):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

    Tensors that it returns are detached.
    """
    if function is None:
        return functools.partial(freeze, strict=strict)
    if not callable(function):
        raise TypeError(
            f"freeze takes a function, not a {type(function).__name__}; "
            "write freeze(step), not freeze(step(x))"
        )
    returns_early = (
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
    )
    if any(test(function) for test in returns_early):
        raise TypeError(
            f"{function.__qualname__} returns before it runs: freeze a function "
            "whose call is one whole step"
        )
    return FrozenStep(function, strict)


class FrozenStep:
    """A function that is recorded, and repeated once it is known to do the same."""

    def __init__(self, function, strict=False):
        functools.update_wrapper(self, function)
        self.function = function
        self.strict = strict
        self.reset()

    def reset(self):
        """Forget what was recorded, and a refusal: the next calls record again."""
        self._steps = []  # pairs of a guarded step and what it returns
        self._calls = {}  # the last recorded ones, by signature
        self._refused = False
        self._lock = threading.Lock()

    @property
    def is_frozen(self):
        """Whether some calls run no Python."""
        return bool(self._steps)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self):
        found = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return self.__qualname__
        return FrozenStep, (self.function, self.strict)

    def __call__(self, *args, **kwargs):
        """Repeat the step for these arguments, or record it."""
        for step, returned in self._steps:
            tensors = step(args, kwargs)
            if tensors is not None:
                return returned(tensors)
        if self._refused or getattr(_recording, "is_on", False) or _is_unusual():
            return self.function(*args, **kwargs)
        # One call at a time: another thread's goes on unfrozen.
        if not self._lock.acquire(blocking=False):
            return self.function(*args, **kwargs)
        _recording.is_on = True
        try:
            return self._record(args, kwargs)
        finally:
            _recording.is_on = False
            self._lock.release()

    def _record(self, args, kwargs):
        call = _Call(self.function, args, kwargs)
        result = call.run()
        key = call.arguments.signature
        older = self._calls.pop(key, None)
        call.number = older.number + 1 if older else 1
        self._calls[key] = call
        while len(self._calls) > MAX_STEPS:
            del self._calls[next(iter(self._calls))]
        why = call.obstacle
        if older and not why and not older.obstacle:
            why = call.difference_from(older)
            step = None if why else call.freeze(older)
            if isinstance(step, tuple):
                why = step
            elif step is not None:
                self._steps = [(step, call.returned), *self._steps][:MAX_STEPS]
                call.number = 1
        if why and (
            (older and older.obstacle and call.obstacle)
            or (call.number >= MAX_RECORDINGS)
        ):
            self._refuse(why)
        call.forget()
        return result

    def _refuse(self, why):
        what, file, line, function = why
        if not file:
            code = getattr(inspect.unwrap(self.function), "__code__", None)
            if code:
                file, line = code.co_filename, code.co_firstlineno
                function = code.co_qualname if hasattr(code, "co_qualname") else ""
        name = getattr(self, "__qualname__", repr(self.function))
        message = f"freeze: {name} cannot be repeated without its Python: it {what}"
        hint = "move that out of the step, or do not freeze it"
        self._refused = True
        self._steps, self._calls = [], {}
        if self.strict:
            raise errors.not_frozen(message, (file, line, function), hint)
        warnings.warn_explicit(
            f"{message}; it goes on unfrozen. {hint[0].upper()}{hint[1:]}",
            errors.FreezeWarning,
            file or "<unknown>",
            line,
        )


def _is_unusual():
    """Whether a setting asks for each step to be looked at."""
    return (
        settings.dry_run
        or settings.verify
        or settings.sync
        or settings.detect_nan != "off"
    )


class _Call:
    """One recorded call."""

    def __init__(self, function, args, kwargs):
        self.function = function
        self.c = startup.start()
        self.args, self.kwargs = args, kwargs
        self.arguments = frozen_values.Arguments(args, kwargs, self.c)
        self.roots = [(function, ""), *self.arguments.roots]
        self.before = Reachable(self.roots)
        self.number = 0
        self.obstacle = None
        if self.arguments.obstacle:
            self._obstruct(self.arguments.obstacle)

    def _obstruct(self, what):
        if not self.obstacle:
            self.obstacle = what if isinstance(what, tuple) else (what, "", 0, "")

    def _kept(self, kind):
        return [tensor for tensor, _ in getattr(self.before, kind).values()]

    def run(self):
        """Call the function; note what it did."""
        self.tensors, self.hosts = self._kept("tensors"), self._kept("hosts")
        for tensor, path in self.before.tensors.values():
            if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
                self._obstruct(f"leads to {path}, a {type(tensor).__name__}")
        leaves = frozen_values.Leaves(self.arguments, self.before)
        recorder = self.c.StepRecorder(
            self.tensors + self.arguments.tensors,
            self.hosts + self.arguments.hosts,
            leaves.values,
        )
        self.leaves = leaves
        versions = _versions(self.hosts + self.arguments.hosts)
        randoms = _random_states()
        recorder.enter()
        try:
            result = self.function(*self.arguments.args, **self.arguments.kwargs)
            if self.arguments.has_stand_ins and result is not None:
                result = self.arguments.restore(result)
            self.returned = frozen_values.Returned(result, self.before, self.arguments)
            if self.returned.obstacle:
                self._obstruct(self.returned.obstacle)
            result = self.returned.detached
            self.recording = recorder.finish(self.returned.tensors)
        finally:
            recorder.leave()
        is_lazy = self.tensors or self.arguments.tensors or self.recording.launches
        if not is_lazy:
            raise errors.not_frozen(
                f"freeze: {self.function!r} met no lazy tensor, in its arguments or in "
                "what it names",
                ("", 0, ""),
                "move model and data to 'lazy' before the first call",
            )
        self._look_at(versions, randoms)
        return result

    def _look_at(self, versions, randoms):
        """Compare the program's objects with what they were."""
        # The first that is found is told: what says most comes first.
        self.obstacle = self.recording.wait or self.obstacle
        after = Reachable(self.roots)
        path = self.before.first_change(after)
        if path:
            self._obstruct(f"changes {path}, an object of Python's")
        self.before = after
        if self.recording.obstacle:
            self._obstruct(self.recording.obstacle)
        self.counted = []
        hosts = self.hosts + self.arguments.hosts
        for i, (host, old) in enumerate(zip(hosts, versions, strict=True)):
            new = _versions([host])[0]
            if old == new:
                continue
            is_count = i < len(self.hosts) and old[1] is not None
            if is_count and new[1] == old[1] + 1:
                self.counted.append(i)
            else:
                self._obstruct(f"writes to a CPU tensor of {tuple(host.shape)}")
        if _drew_otherwise(randoms, self.recording.draws):
            self._obstruct("draws random numbers that are no op's of the device")

    def difference_from(self, older):
        """Return what this call did otherwise than an older one, or None."""
        found = self.recording.difference_from(older.recording)
        if found:
            return found
        if not self.returned.is_like(older.returned):
            return ("returns another value than in the call before", "", 0, "")
        if (
            [id(t) for t in self.tensors] != [id(t) for t in older.tensors]
            or [id(t) for t in self.hosts] != [id(t) for t in older.hosts]
            or self.counted != older.counted
            or len(self.leaves.values) != len(older.leaves.values)
        ):
            return ("leads to other tensors than in the call before", "", 0, "")
        return None

    def freeze(self, older):
        """Return a guarded step, or what keeps it from being one."""
        counted = {id(self.hosts[i]) for i in self.counted}
        leaves = frozen_values.Leaves(self.arguments, self.before)
        rows = [*leaves.rows]
        for tensor in self.tensors:
            rows.append(("tensor", tensor, (), (), ()))
        for host in self.hosts:
            watched = () if id(host) in counted else (None,)
            rows.append(("host", host, (), watched, watched))
        return self.c.freeze(
            older.recording,
            self.recording,
            self.tensors,
            self.hosts,
            self.counted,
            leaves.tree,
            rows,
        )

    def forget(self):
        """Let go of what only one call needs, such as its batch."""
        self.args = self.kwargs = None
        self.arguments.forget()
        self.returned.forget()


def _versions(hosts):
    def value(host):
        return host.item() if host.numel() == 1 else None

    return [
        (0 if host.is_inference() else host._version, value(host)) for host in hosts
    ]


def _random_states():
    numpy = sys.modules.get("numpy")
    others = [random.getstate()]
    if numpy:
        kind, keys, *rest = numpy.random.get_state()
        others.append((kind, keys.tobytes(), *rest))
    return torch.get_rng_state(), others


def _drew_otherwise(before, draws):
    state, others = before
    now, others_now = _random_states()
    if others != others_now:
        return True
    generator = torch.Generator("cpu")
    generator.set_state(state)
    if draws:
        torch.empty(draws, dtype=torch.int64, device="cpu").random_(generator=generator)
    return not torch.equal(generator.get_state(), now)
