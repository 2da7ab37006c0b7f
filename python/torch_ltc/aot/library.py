# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libltc_aot.so, as include/ltc/aot.h declares it, by ctypes."""

import ctypes
import functools
import os

import torch

from torch_ltc import errors

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.complex32,
)
NO_LIMIT = 2**63 - 1
_CODES = (
    "",
    "invalid argument",
    "unsupported",
    "out of range",
    "out of memory",
    "device failed",
    "interrupted",
)


class Dim(ctypes.Structure):
    """ltc_aot_dim."""

    _fields_ = (("least", ctypes.c_int64), ("most", ctypes.c_int64))


class Value(ctypes.Structure):
    """ltc_aot_value."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_uint32),
        ("rank", ctypes.c_uint32),
        ("dims", ctypes.POINTER(Dim)),
        ("is_written", ctypes.c_int32),
        ("is_integer", ctypes.c_int32),
    )


class Tensor(ctypes.Structure):
    """ltc_aot_tensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
    )


_HANDLE = ctypes.c_void_p
_TENSORS = ctypes.POINTER(Tensor)
_SIGNATURES = {
    "ltc_aot_error": (ctypes.c_char_p,),
    "ltc_aot_error_code": (ctypes.c_int,),
    "ltc_aot_heed_interrupts": (None, ctypes.c_int),
    "ltc_aot_use_threads": (None, ctypes.c_uint32),
    "ltc_aot_has_target": (ctypes.c_int, ctypes.c_char_p),
    "ltc_aot_open": (_HANDLE, ctypes.c_char_p),
    "ltc_aot_close": (None, _HANDLE),
    "ltc_aot_target": (ctypes.c_char_p, _HANDLE),
    "ltc_aot_entry_at": (_HANDLE, _HANDLE, ctypes.c_uint32),
    "ltc_aot_entry_name": (ctypes.c_char_p, _HANDLE),
    "ltc_aot_entry_notes": (ctypes.c_char_p, _HANDLE),
    "ltc_aot_input": (ctypes.POINTER(Value), _HANDLE, ctypes.c_uint32),
    "ltc_aot_output": (ctypes.POINTER(Value), _HANDLE, ctypes.c_uint32),
    "ltc_aot_output_sizes": (
        ctypes.c_int,
        _HANDLE,
        _TENSORS,
        ctypes.c_uint32,
        ctypes.POINTER(ctypes.c_int64),
    ),
    "ltc_aot_run": (ctypes.c_int, _HANDLE, _TENSORS, _TENSORS),
    "ltc_aot_reset": (None, _HANDLE),
    "ltc_aot_seed": (None, _HANDLE, ctypes.c_uint64),
}


@functools.cache
def library():
    """Return the library; its calls let other Python threads run."""
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "lib")
    loaded = ctypes.CDLL(os.path.join(folder, "libltc_aot.so"))
    for name, (result, *arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    loaded.ltc_aot_heed_interrupts(True)
    return loaded


def failed():
    """Return the exception for what the calling thread's last call failed with."""
    code = library().ltc_aot_error_code()
    return error(_CODES[code], library().ltc_aot_error().decode())


def has_target(level):
    """Return whether this processor runs the code of a target."""
    return bool(library().ltc_aot_has_target(level.encode()))


def error(code, message):
    """Return one of torch_ltc's exceptions, by the words of its code."""
    return errors.make(code, "execute", "", ("", 0, ""), message, "", message)
