# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every setting of torch_ltc, as an attribute of this module.

    torch_ltc.settings.rng = "eager"           # as LTC_RNG=eager
    with torch_ltc.settings.scope(rng="eager"):
        ...

``torch_ltc.settings.table()`` lists them with what they do. An unknown name or a
value that does not fit raises `torch_ltc.Error` and names the nearest.
"""

import contextlib
import sys
import types
from typing import NamedTuple

from torch_ltc import deprecation, drivers, frontends, status_line
from torch_ltc.startup import start

_READ = {"bool": "true".__eq__, "int": int, "str": str}


class Setting(NamedTuple):
    """One row of the table."""

    name: str
    value: object
    initial: object
    doc: str


def table():
    """Return all settings with their current values, in order."""
    return [
        Setting(name, _READ[kind](value), _READ[kind](initial), doc)
        for name, kind, value, initial, doc in start().settings()
    ]


@contextlib.contextmanager
def scope(**values):
    """Change settings inside the block, for the whole process."""
    before = {row.name: row.value for row in table() if row.name in values}
    try:
        for name, value in values.items():
            _set(name, value)
        yield
    finally:
        for name, value in before.items():
            _set(name, value)


def _set(name, value):
    start().set_setting(name, str(value))
    if name == "device":
        folders = next(row.value for row in table() if row.name == "plugin_path")
        drivers.set_device(start(), str(value), folders)
    elif name == "status":
        status_line.apply(next(row.value for row in table() if row.name == name))
    elif name == "frontend":
        frontends.apply(value)
    elif name == "lazy_use":
        deprecation.apply(value)


class _Settings(types.ModuleType):
    def __getattr__(self, name):
        if not name.startswith("_"):
            for row in table():
                if row.name == name:
                    return row.value
        raise AttributeError(f"torch_ltc has no setting '{name}'")

    def __setattr__(self, name, value):
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            _set(name, value)

    def __dir__(self):
        return [*super().__dir__(), *(row.name for row in table())]


sys.modules[__name__].__class__ = _Settings
