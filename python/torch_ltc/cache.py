# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled graphs on disk: list, look into, check, prune, ship.

    for entry in torch_ltc.cache.entries():
        print(entry.key, entry.bytes)
    torch_ltc.cache.export_bundle("warm.tar")

``python -m torch_ltc cache`` and ``ltc-cache`` do the same from a shell. Every
function takes the directory as `directory` and means the one of the settings
when that is left out. Programs may use the directory at the same time: entries
appear and vanish whole.
"""

import contextlib
import io
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from torch_ltc.startup import start

_SUFFIX = ".ltc"
_NAME = re.compile(r"[0-9a-f]{32}\.ltc")
_LARGEST = 2**28  # the code of a training step of 10,000 ops is 20 MB


class Entry(NamedTuple):
    """One file of the directory."""

    key: str
    bytes: int
    last_use: float  # seconds since 1970


def directory():
    """Return where compiled graphs are kept; "" if the user has no home."""
    return start().cache_directory()


def entries(directory=None):
    """Return all entries, the least recently used first, without reading them."""
    return [Entry(*row) for row in start().cache_list(_folder(directory))]


def read(key, directory=None):
    """Return what an entry holds as a dict, or raise if it is missing or bad.

    Its graph stands under ``"graph"``, as text; the other fields say for what
    and by what it was compiled, and how large its parts are.
    """
    return start().cache_read(_folder(directory), key)


def verify(directory=None):
    """Yield ``(entry, fault)`` for each entry; the fault of a good one is None."""
    from torch_ltc.errors import Error

    for entry in entries(directory):
        try:
            read(entry.key, directory)
        except Error as error:
            yield entry, error.message
        else:
            yield entry, None


def remove(key, directory=None):
    """Remove an entry, or whatever stands in its place; say whether it is gone."""
    return start().cache_remove(_folder(directory), key)


def prune(max_bytes, directory=None):
    """Remove the least recently used until `max_bytes` are left; return them."""
    rows = start().cache_prune(_folder(directory), max_bytes)
    return [Entry(*row) for row in rows]


def export_bundle(file, keys=None, directory=None):
    """Write good entries, or those of `keys`, to a tar file; return their keys.

    Equal entries give equal files. The name decides: ``.tar.gz`` is compressed.
    """
    compression = "gz" if str(file).endswith(("gz", "tgz")) else ""
    wanted = None if keys is None else set(keys)
    written = []
    with tarfile.open(file, f"w:{compression}") as bundle:
        for entry, fault in sorted(verify(directory)):
            if fault or (wanted is not None and entry.key not in wanted):
                continue
            # It may have been pruned since.
            with contextlib.suppress(FileNotFoundError):
                data = (Path(_folder(directory)) / (entry.key + _SUFFIX)).read_bytes()
                member = tarfile.TarInfo(entry.key + _SUFFIX)
                member.size = len(data)
                bundle.addfile(member, io.BytesIO(data))
                written.append(entry.key)
    return written


def import_bundle(file, directory=None):
    """Add the entries of a tar file; return ``(keys, skipped)``.

    `skipped` has a ``(name, why)`` for each member that is no entry. Nothing is
    unpacked by name: the key of an entry follows from its content, and a good one
    that is there stays. An entry is code that programs will run, so import what you
    trust alone.
    """
    from torch_ltc.errors import InvalidArgumentError

    c, folder = start(), _folder(directory)
    keys, skipped = [], []
    with tarfile.open(file) as bundle:
        for member in bundle:
            why = _why_no_entry(member)
            try:
                if not why:
                    data = bundle.extractfile(member).read()
                    keys.append(c.cache_add(folder, data))
            except InvalidArgumentError as error:
                why = error.message
            if why:
                skipped.append((member.name, why))
    return keys, skipped


def _why_no_entry(member):
    """Return why a member of a tar file is not even read, or None."""
    if not member.isreg() or member.issparse():
        return "it is no file"
    if not _NAME.fullmatch(member.name):
        return "no entry has such a name"
    # A few bytes of a compressed bundle may stand for any number of zeros.
    if member.size > _LARGEST:
        return f"{member.size} bytes are more than an entry has"
    return None


@contextlib.contextmanager
def precompile():
    """Compile what the block would run, and run nothing.

        with torch_ltc.precompile():
            train_one_step()

    Graphs go to one thread a core, so that they compile while the block records
    on; its end waits for them and raises the first error. What the block
    computes never has a value, parameters that it updates included: reading one
    raises. ``LTC_DRY_RUN=1`` does that to a whole program.
    """
    import torch

    from torch_ltc import settings

    devices = range(torch.lazy.device_count())
    for device in devices:
        torch.lazy.mark_step(device=device)
    with settings.scope(dry_run=True):
        yield
        for device in devices:
            torch.lazy.mark_step(wait=True, device=device)


def _folder(given):
    folder = str(given) if given else directory()
    if not folder:
        raise FileNotFoundError("there is no cache directory: set LTC_CACHE_DIR")
    return folder
