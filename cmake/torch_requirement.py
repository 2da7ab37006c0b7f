# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel's dependency: the versions of PyTorch that it is built for.

pyproject.toml names this file as the provider of ``dependencies``. CMake builds
for the same folders: those in LTC_TORCH_DIRS, or the installed PyTorch.
"""

import importlib.util
import os
import re
from pathlib import Path


def folders():
    """Return the folders named torch to build for."""
    named = os.environ.get("LTC_TORCH_DIRS")
    if named:
        return [Path(folder) for folder in named.split(";")]
    spec = importlib.util.find_spec("torch")
    if spec is None:
        raise ModuleNotFoundError("torch_ltc is built for the torch that is installed")
    return [Path(spec.origin).parent]


def version_in(folder):
    """Return a PyTorch's version, as 2.13.0+cpu, without importing it."""
    text = (folder / "version.py").read_text(encoding="utf-8")
    return re.search(r"^__version__ = '(.+)'", text, re.MULTILINE)[1]


def requirement(versions):
    """Return what pip shall install beside a wheel that serves these versions."""
    minors = sorted({tuple(map(int, v.split(".")[:2])) for v in versions})
    (major, first), (_, last) = minors[0], minors[-1]
    served = {minor for _, minor in minors}
    holes = [minor for minor in range(first, last) if minor not in served]
    parts = [f">={major}.{first}", f"<{major}.{last + 1}"]
    return "torch" + ",".join(parts + [f"!={major}.{minor}.*" for minor in holes])


def dynamic_metadata(settings, project):
    """Provide the field; called by scikit-build-core."""
    return {"dependencies": [requirement(version_in(f) for f in folders())]}


def dynamic_wheel(settings):
    """Say that the wheel's may be another than the source distribution's."""
    return {"dependencies": True}
