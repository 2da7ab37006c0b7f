# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of the package's libraries serve the PyTorch that runs.

A library that uses PyTorch's C++ interface serves one minor version of it: those
for PyTorch 2.13 are in ``lib/torch2.13``, ``torch_ltc._C`` with them. Libraries
that know no PyTorch are in ``lib``. A patch release keeps the interface; what the
backend uses of PyTorch's private parts it checks itself when it starts.
"""

import contextlib
import glob
import importlib.machinery
import os
import re
import struct

import torch

_LIB = os.path.join(os.path.dirname(__file__), "lib")
VERSION = ".".join(torch.__version__.split("+")[0].split(".")[:2])
FOLDER = os.path.join(_LIB, f"torch{VERSION}")
REINSTALL = "build it with `make build`, or pip install --force-reinstall torch_ltc"


def served():
    """Return the minor versions of PyTorch that this build serves, oldest first."""
    try:
        names = os.listdir(_LIB)
    except FileNotFoundError:
        return []
    found = [name.removeprefix("torch") for name in names if name.startswith("torch")]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def obstacle():
    """Return why the libraries cannot be loaded, with the remedy, or None."""
    versions = served()
    if versions and VERSION not in versions:
        return (
            f"this build serves PyTorch {', '.join(versions)} and this is "
            f"{torch.__version__}; {remedy_for_version()}"
        )
    modules = [f"_C{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    libraries = (
        "libltc_backend.so",
        "libltc_not_dense.so",
        "../libltc_runtime.so",
        "../libltc_kernels_cpu.so",
    )
    for names in modules, *([name] for name in libraries):
        paths = [os.path.normpath(os.path.join(FOLDER, name)) for name in names]
        if not any(os.path.exists(path) for path in paths):
            folder, name = os.path.split(paths[0])
            return f"{name} is missing in {folder}; {REINSTALL}"
    for path in [*glob.glob(f"{_LIB}/*.so"), *glob.glob(f"{FOLDER}/*.so")]:
        if _is_cut_short(path):
            folder, name = os.path.split(path)
            return f"{name} in {folder} is cut short; {REINSTALL}"
    return None


def remedy_for_version():
    """Return what to do where no library serves the PyTorch that runs."""
    newest = served()[-1] if served() else VERSION
    return (
        f"pip install 'torch=={newest}.*', or in the sources of torch_ltc build for "
        "this one: `pip install --no-build-isolation .`"
    )


def in_words(error):
    """Return what the loader says, and what it means."""
    text = str(error)
    if "undefined symbol" not in text and "version `" not in text:
        return text
    library = re.search(r"([^/\s:]+\.so[.\d]*): ", text)
    name = library[1] if library else "a library"
    symbol = re.search(r"undefined symbol: (\w+)", text)
    missing = f" ({symbol[1]} is missing)" if symbol else ""
    if symbol and re.match(r"(_Z[A-Z]*3)?ltc", symbol[1]):
        return f"parts of this installation are of different builds{missing}"
    return (
        f"{name} was built against other libraries than are here: PyTorch "
        f"{torch.__version__} of another build, or another C++ library{missing}"
    )


def _is_cut_short(path):
    """Return whether a library lacks what its header says: loading it may crash."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        bytes_there = os.fstat(file.fileno()).st_size
        header = file.read(64)
        if header[:4] != b"\x7fELF"[: len(header)]:
            return False  # of something else the loader says what it is
        if len(header) < 64:
            return True
        start, size, count = struct.unpack("=32xQ14xHH6x", header)
        if start + size * count > bytes_there:
            return True
        file.seek(start)
        table = file.read(size * count)
        # Where each segment begins in the file, and how long it is there.
        rows = (struct.unpack_from("=8xQ16xQ", table, size * i) for i in range(count))
        return max(map(sum, rows), default=0) > bytes_there
    return False
