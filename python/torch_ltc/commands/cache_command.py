# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``ltc-cache``: the compiled graphs on disk, from a shell."""

import argparse
import sys
import tarfile
import time

from torch_ltc import cache
from torch_ltc.commands.command_line import ended
from torch_ltc.errors import Error

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_DAY = 86400


def main():
    """Run as ``ltc-cache``."""
    parser = argparse.ArgumentParser(prog="ltc-cache", description=__doc__)
    define(parser)
    return ended(run, parser.parse_args())


def define(parser):
    """Give an argparse parser the subcommands."""
    parser.add_argument(
        "--dir", help="the directory; without it the one that LTC_CACHE_DIR names"
    )
    actions = parser.add_subparsers(dest="action", required=True)

    def action(function, help):
        made = actions.add_parser(function.__name__.strip("_"), help=help)
        made.set_defaults(function=function)
        return made

    action(ls, "list entries, the least recently used first")
    one = action(show, "print what an entry holds, with its graph")
    one.add_argument("key", help="a key, or its first digits")
    made = action(verify, "read every entry; exit with 1 if one is bad")
    made.add_argument("--remove", action="store_true", help="remove bad entries")
    made = action(prune, "remove what was not used for longest")
    made.add_argument("--max-bytes", type=_bytes, help="keep at most this: 500M, 2G")
    made.add_argument("--days", type=float, help="keep what was used in these days")
    action(clear, "remove every entry")
    made = action(export, "write entries to a tar file")
    made.add_argument("file", help="such as warm.tar or warm.tar.gz")
    made.add_argument("keys", nargs="*", help="only these; keys or first digits")
    made = action(import_, "add the entries of a tar file that you trust")
    made.add_argument("file")


def run(arguments):
    """Run what was parsed; return the exit status."""
    try:
        return arguments.function(arguments) or 0
    except BrokenPipeError:
        raise
    except (Error, OSError, tarfile.TarError) as error:
        print(f"ltc-cache: {error}", file=sys.stderr)
        return 2


def ls(arguments):
    """List entries."""
    entries = cache.entries(arguments.dir)
    now = time.time()
    if entries:
        print(f"{'key':32}  {'size':>9}  last used")
    for entry in entries:
        print(f"{entry.key}  {_size(entry.bytes):>9}  {_age(now - entry.last_use)}")
    total = _size(sum(entry.bytes for entry in entries))
    print(f"{_count(entries)}, {total}, in {arguments.dir or cache.directory()}")


def show(arguments):
    """Print one entry."""
    (key,) = _keys([arguments.key], arguments.dir)
    fields = cache.read(key, arguments.dir)
    graph = fields.pop("graph")
    for name, value in {"key": key, **fields}.items():
        print(f"{name.replace('_', ' '):14} {value}")
    print(graph, end="")


def verify(arguments):
    """Read every entry."""
    good = bad = 0
    for entry, fault in cache.verify(arguments.dir):
        _progress(f"{good} good, {bad} bad")
        if not fault:
            good += 1
            continue
        bad += 1
        _progress("")
        gone = arguments.remove and cache.remove(entry.key, arguments.dir)
        print(f"{entry.key}  {fault}{'; removed' if gone else ''}")
    _progress("")
    print(f"{good} good, {bad} bad")
    return 1 if bad else 0


def prune(arguments):
    """Remove what was not used for longest."""
    if arguments.max_bytes is None and arguments.days is None:
        print("ltc-cache: prune needs --max-bytes or --days", file=sys.stderr)
        return 2
    removed = []
    if arguments.days is not None:
        end = time.time() - arguments.days * _DAY
        for entry in cache.entries(arguments.dir):
            if entry.last_use < end and cache.remove(entry.key, arguments.dir):
                removed.append(entry)
    if arguments.max_bytes is not None:
        removed += cache.prune(arguments.max_bytes, arguments.dir)
    _tell_removed(removed)
    return 0


def clear(arguments):
    """Remove every entry."""
    _tell_removed(cache.prune(0, arguments.dir))


def export(arguments):
    """Write a bundle."""
    keys = _keys(arguments.keys, arguments.dir) if arguments.keys else None
    written = cache.export_bundle(arguments.file, keys, arguments.dir)
    print(f"{_count(written)} in {arguments.file}")


def import_(arguments):
    """Add a bundle."""
    keys, skipped = cache.import_bundle(arguments.file, arguments.dir)
    for name, why in skipped:
        print(f"skipped {name}: {why}", file=sys.stderr)
    print(f"{_count(keys)} added")
    return 1 if skipped else 0


def _keys(prefixes, directory):
    """Return the one key that begins with each prefix."""
    known = [entry.key for entry in cache.entries(directory)]
    found = []
    for prefix in prefixes:
        matching = [key for key in known if key.startswith(prefix)]
        if len(matching) != 1:
            raise FileNotFoundError(f"{len(matching)} keys begin with '{prefix}'")
        found += matching
    return found


def _tell_removed(entries):
    size = _size(sum(entry.bytes for entry in entries))
    print(f"{_count(entries)} removed, {size}")


def _progress(text):
    """Show text on the terminal's last line, if there is one."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _count(entries):
    return f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}"


def _size(size):
    for unit in _UNITS:
        if size < 1024 or unit == "T":
            return f"{size} B" if not unit else f"{size:.1f} {unit}iB"
        size /= 1024
    return None


def _age(seconds):
    for unit, length in (("days", _DAY), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:.0f} {unit} ago"
    return f"{max(seconds, 0):.0f} seconds ago"


def _bytes(text):
    number, unit = text.rstrip("iB"), ""
    if number and number[-1].upper() in _UNITS:
        number, unit = number[:-1], number[-1].upper()
    try:
        return int(float(number) * _UNITS[unit])
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no size like 500M") from None
