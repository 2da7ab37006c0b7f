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
    "unexpected compile": UnexpectedCompileError,
}


def make(code, stage, op, source, message, hint, text):
    """Return the exception for an ``ltc::Error``; called by ``torch_ltc._C``."""
    error = _CLASSES[code](text)
    error.code, error.stage, error.op = code, stage, op
    error.file, error.line, error.function = source
    error.message, error.hint = message, hint
    return error
