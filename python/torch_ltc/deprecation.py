# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines of a program that tie it to the lazy device, told as the setting says.

``LTC_LAZY_USE=notice``, ``warning`` or ``error`` tells of each line that makes a lazy
tensor or ends a step by hand: a team that moves to torch.compile turns it up in its
tests, stage by stage. At ``silent``, the setting's initial value, nothing is called.
"""

import os
import sys
import warnings

import torch

from torch_ltc import errors, startup

MAKES = "a lazy tensor is made"
ENDS = "a step is ended by hand"
_REMEDY = {
    MAKES: "name the inputs' device and compile the model: "
    "model.compile(backend='ltc')",
    ENDS: "delete the call: a compiled step ends itself",
}
_TOOL = "`python -m torch_ltc migrate rewrite {file}` does it"

_stage = "silent"
_told = set()  # (file, line, what)


def apply(stage, c=None):
    """Take over the setting's value; `c` is ``torch_ltc._C`` that may just start."""
    global _stage
    _stage = stage
    _told.clear()
    listener = None if stage == "silent" else _creation
    (c or startup.start()).set_creation_hook(listener)


def note_end():
    """Tell of a call of mark_step()."""
    if _stage != "silent":
        _tell(ENDS, program_frame())


def program_frame():
    """Return the innermost frame that is not PyTorch's or ours, or None.

    None, too, where torch.compile's backend works for the program.
    """
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        package, _, module = name.partition(".")
        if package == "torch_ltc" and module.startswith("dynamo."):
            return None
        if package not in ("torch", "torch_ltc", "contextlib"):
            return frame
        frame = frame.f_back
    return None


def _creation():
    # What backward() makes was not asked for by its line.
    if torch._C._current_autograd_node() is None:
        _tell(MAKES, program_frame())


def _tell(what, frame):
    if frame is None:
        return
    code, line = frame.f_code, frame.f_lineno
    file = code.co_filename
    hint = f"{_REMEDY[what]}; {_TOOL.format(file=_shortened(file))}"
    if _stage == "error":
        place = file, line, code.co_name
        raise errors.lazy_use(f"{what}, and LTC_LAZY_USE is error", place, hint)
    if (file, line, what) in _told:
        return
    _told.add((file, line, what))
    if _stage == "warning":
        warnings.warn_explicit(f"{what}: {hint}", errors.LazyUseWarning, file, line)
    else:
        print(f"{_shortened(file)}:{line}: {what}: {hint}", file=sys.stderr)


def _shortened(file):
    """Return a path without the working directory, as errors have it."""
    return file.removeprefix(os.path.join(os.getcwd(), ""))
