# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of torch_ltc.

Each says what was being done, what was found and wanted, where in the user's
program it was recorded, and what to try.
"""

import torch


class Error(RuntimeError):
    """Anything that torch_ltc reports.

    Attributes:
        code: the kind of failure in words, such as ``"out of range"``.
        stage: ``"record"``, ``"graph"``, ``"import"``, ``"lower"``,
            ``"optimize"``, ``"codegen"``, ``"cache"`` or ``"execute"``.
        op: name of the ATen op, or ``""``.
        file, line, function: the user's place that recorded the op; ``""`` and
            0 when it is not known.
        message: one sentence without place and hint.
        hint: what to try, or ``""``.

    """

    code = stage = op = file = function = message = hint = ""
    line = 0


class InvalidArgumentError(Error, ValueError):
    """The caller's values are wrong."""


class UnsupportedOpError(Error, NotImplementedError):
    """The program is right, but this device cannot do it."""


class IndexOutOfRangeError(Error, IndexError):
    """An index met while a graph ran was outside its tensor."""


class LinAlgError(Error, torch.linalg.LinAlgError):
    """A matrix that a graph met has no inverse, no such factors or no solution."""


class OutOfMemoryError(Error, torch.OutOfMemoryError):
    """The device has not enough memory left; it stays usable."""


class CompileError(Error):
    """A graph could not be compiled."""


class DeviceError(Error):
    """The driver or one of its kernels failed."""


class UnexpectedCompileError(Error):
    """A graph was compiled where `torch_ltc.compile_guard` allows no more.

    It was compiled and runs all the same: nothing that it computes is lost.
    """


class UnexpectedSyncError(Error):
    """A line would have synced where `torch_ltc.sync_budget` allows it no more.

    It has not: nothing is lost, and the line works outside of the block.
    """


class NotFiniteError(Error, FloatingPointError):
    """An op made a NaN or an Inf, which `torch_ltc.detect_nan` looks for."""


class MiscompiledError(Error):
    """A compiled graph has other values than ATen's kernels (`torch_ltc.verify`).

    What the graph was to update has its value from before. The message names the
    op or the ops at fault, and the directory of a reproducer.
    """


class FreezeError(Error):
    """A step cannot be repeated without its Python (`torch_ltc.freeze`)."""


class FreezeWarning(UserWarning):
    """The same of a step that goes on unfrozen."""


class LazyUseError(Error):
    """A line uses the lazy device, and the setting ``lazy_use`` is ``error``."""


class LazyUseWarning(FutureWarning):
    """The same where the setting is ``warning``."""


class InternalError(Error):
    """A mistake of torch_ltc itself; please report it."""


_CLASSES = {
    "invalid argument": InvalidArgumentError,
    "unsupported": UnsupportedOpError,
    "out of range": IndexOutOfRangeError,
    "out of memory": OutOfMemoryError,
    "compile failed": CompileError,
    "device failed": DeviceError,
    "interrupted": Error,
    "internal error": InternalError,
    "linear algebra": LinAlgError,
    "unexpected compile": UnexpectedCompileError,
    "unexpected sync": UnexpectedSyncError,
    "not finite": NotFiniteError,
    "miscompiled": MiscompiledError,
}


def lazy_use(message, place, hint):
    """Return the `LazyUseError` of a line: ``(file, line, function)``."""
    file, line, function = place
    text = f"{message}\n  at {file}:{line} in {function}\n  {hint}"
    return _fill(LazyUseError(text), "lazy use", "record", "", place, message, hint)


def not_frozen(message, place, hint):
    """Return the `FreezeError` of a line: ``(file, line, function)``."""
    file, line, function = place
    where = f"\n  at {file}:{line} in {function}" if file else ""
    text = f"{message}{where}\n  {hint}"
    return _fill(FreezeError(text), "not frozen", "record", "", place, message, hint)


def make(code, stage, op, source, message, hint, text):
    """Return the exception for an ``ltc::Error``; called by ``torch_ltc._C``."""
    return _fill(_CLASSES[code](text), code, stage, op, source, message, hint)


def _fill(error, code, stage, op, source, message, hint):
    error.code, error.stage, error.op = code, stage, op
    error.file, error.line, error.function = source
    error.message, error.hint = message, hint
    return error
