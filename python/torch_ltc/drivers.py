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
    """Make setting `device` the path of a package's driver if one has that name.

    A path, and what a folder of setting `plugin_path` or the libraries' own has, comes
    first, and needs no look at the installed packages.
    """
    file = f"libltc_driver_{device}.so"
    places = [os.path.dirname(libraries.FOLDER), *folders.split(":")]
    if "/" in device or any(os.path.exists(f"{place}/{file}") for place in places):
        return
    metadata = importlib.import_module("importlib.metadata")  # slow
    for entry in metadata.entry_points(group=GROUP):
        if entry.name == device:
            c.set_setting("device", path_from(entry))
            return


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
