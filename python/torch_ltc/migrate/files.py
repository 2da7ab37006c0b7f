# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python files, read and written as they are: encoding, line ends, links, mode."""

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import tokenize


def python_files(paths):
    """Yield the files, and those in the directories."""
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from sorted(path.rglob("*.py"))
        else:
            yield path


def read(path):
    """Return a file's text with its line ends, and its encoding."""
    if pathlib.Path(path).suffix == ".ipynb":
        # Its JSON is an expression of Python, in which nothing would be found.
        raise ValueError("it is a notebook: jupyter nbconvert --to script makes Python")
    data = pathlib.Path(path).read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding), encoding


def write(path, text, encoding):
    """Replace a file as a whole; a link to it stays a link."""
    target = os.path.realpath(path)
    if not os.access(target, os.W_OK) or _is_read_only(target):
        raise PermissionError(f"{path} is read-only: chmod u+w, then again")
    replace(target, text, encoding)


def replace(target, text, encoding="utf-8"):
    """Write a file that is whole or as before; a new one's mode is the usual."""
    folder, name = os.path.split(os.path.abspath(target))
    handle, part = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode(encoding))
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, part)
        else:
            os.chmod(part, 0o666 & ~_umask())
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def _umask():
    now = os.umask(0)
    os.umask(now)
    return now


def _is_read_only(path):
    """Whether its mode says so, which does not stop root."""
    return not os.stat(path).st_mode & 0o222
