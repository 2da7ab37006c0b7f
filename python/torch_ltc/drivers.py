# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drivers that other packages bring: the entry points `torch_ltc.plugins`.

    [project.entry-points."torch_ltc.plugins"]
    mine = "my_package:driver"

`LTC_DEVICE=mine` then uses the library whose path ``driver`` is, or returns.
"""

import importlib
import os

from torch_ltc import libraries

GROUP = "torch_ltc.plugins"


def set_device(c, device, folders):
    """Have setting `device` name the paths of drivers that packages bring.

    It may name several, with commas between. Paths, and what a folder of setting
    `plugin_path` or the libraries' own has, come first, and need no look at the
    installed packages.
    """
    names = device.split(",")
    paths = [_path_of(name, folders) for name in names]
    if paths != names:
        c.set_setting("device", ",".join(paths))


def split_argument(device):
    """Return a driver's name or path, and ``:`` with what its devices are named by.

    Like splitDevice of the runtime: a path may have colons of its own.
    """
    at = device.find(":")
    while at >= 0 and "/" in device[:at] and not device[:at].endswith(".so"):
        at = device.find(":", at + 1)
    return (device, "") if at < 0 else (device[:at], device[at:])


def _path_of(device, folders):
    name, argument = split_argument(device)
    file = f"libltc_driver_{name}.so"
    places = [os.path.dirname(libraries.FOLDER), *folders.split(":")]
    if "/" in name or any(os.path.exists(f"{place}/{file}") for place in places):
        return device
    metadata = importlib.import_module("importlib.metadata")  # slow
    for entry in metadata.entry_points(group=GROUP):
        if entry.name == name:
            return path_from(entry) + argument
    return device


def path_from(entry):
    """Return the path of the library that an entry point names."""
    try:
        found = entry.load()
        path = os.fspath(found() if callable(found) else found)
    except Exception as error:
        raise RuntimeError(
            f"the plugin {entry.name} cannot be loaded: its entry point {entry.value} "
            f"raises {type(error).__name__}: {error}"
        ) from error
    return os.path.abspath(path)
