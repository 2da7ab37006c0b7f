# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs a program on lazy devices: the recorder, or torch.compile's Dynamo.

    torch_ltc.frontend("dynamo")              # or LTC_FRONTEND=dynamo

A module with lazy parameters is then compiled at its first call, as
``module.compile(backend="ltc")`` does; modules in it are part of it. What stands
between modules is recorded as before, and so is what Dynamo cannot take: that is
told with line and reason, once a line. ``mark_step()`` ends nothing, with a warning.
"""

import os
import threading
import warnings
import weakref

import torch

from torch_ltc import deprecation, startup

_TORCH = os.path.join(os.path.dirname(torch.__file__), "")

_is_on = False
# Dynamo's setting to run frames that it fails at as they are; before ours.
_suppressed = None
_compiled = weakref.WeakSet()  # modules that were compiled here
_told = set()  # places and reasons
_calling = threading.local()  # .depth: calls of compiled modules that this one is in


def frontend(name):
    """Choose ``"record"`` or ``"dynamo"``; as the setting ``frontend``."""
    startup.start().set_setting("frontend", name)
    apply(name)


def apply(name):
    """Take over the setting's value."""
    global _is_on, _suppressed
    if _is_on == (name == "dynamo"):
        return
    _is_on = name == "dynamo"
    if _suppressed is not None:
        torch._dynamo.config.suppress_errors, _suppressed = _suppressed, None
    torch.nn.Module._compiled_call_impl = _FirstCall() if _is_on else None
    for module in list(_compiled):
        module.__dict__.pop("_compiled_call_impl", None)
    _compiled.clear()
    _told.clear()


def ends_steps():
    """Return whether mark_step() does something; warn of its line if not."""
    if _is_on:
        _warn_at(
            deprecation.program_frame(),
            "mark_step() does nothing where LTC_FRONTEND is dynamo: delete the call",
        )
    return not _is_on


class _FirstCall:
    """What ``Module.__call__`` asks each module that is not compiled."""

    def __get__(self, module, owner):
        is_inner = getattr(_calling, "depth", 0) or torch.compiler.is_compiling()
        if module is None or is_inner or not _is_lazy(module):
            return None
        if _has_small_buckets(module):
            _warn_at(
                deprecation.program_frame(),
                "a module is recorded, not compiled: Dynamo wants a bucket_cap_mb of "
                "1 or more",
            )
            return None
        return _compile(module)


def _has_small_buckets(module):
    """Return whether it is data parallel with less than PyTorch's first bucket.

    Dynamo cuts graphs at the buckets, and asserts that it is not.
    """
    kind = torch.nn.parallel.DistributedDataParallel
    is_wrapper = isinstance(module, kind)
    parallel = module if is_wrapper else kind._get_active_ddp_module()
    return (
        parallel is not None
        and parallel.bucket_bytes_cap < torch.distributed._DEFAULT_FIRST_BUCKET_BYTES
    )


def _is_lazy(module):
    first = next(module.parameters(), None)
    return first is not None and first.device.type == "lazy"


def _compile(module):
    """Compile a module, and return what its calls call from now on."""
    global _suppressed
    if _suppressed is None:
        config = torch._dynamo.config
        _suppressed, config.suppress_errors = config.suppress_errors, True
    module.compile(backend=_backend)
    compiled = module._compiled_call_impl

    def call(*args, **kwargs):
        _calling.depth = getattr(_calling, "depth", 0) + 1
        dynamo = torch._dynamo.utils
        known = len(dynamo.graph_break_reasons), dynamo.counters["unimplemented"].copy()
        try:
            return compiled(*args, **kwargs)
        finally:
            _calling.depth -= 1
            _tell_breaks(dynamo, *known)

    module.__dict__["_compiled_call_impl"] = call
    _compiled.add(module)
    return call


def _backend(gm, inputs):
    """Compile a graph, or have its ops recorded."""
    try:
        return torch._dynamo.lookup_backend("ltc")(gm, inputs)
    except torch._dynamo.exc.TorchDynamoException:
        raise  # it tells Dynamo how to go on
    except Exception as error:
        first = startup.text_of(error).partition("\n")[0]
        frame = deprecation.program_frame()
        _warn_at(frame, f"a graph is recorded, not compiled: {first}")
        return gm.forward


def _tell_breaks(dynamo, known, unknown_before):
    """Tell of what Dynamo did not take in a call."""
    reasons = set()
    for found in dynamo.graph_break_reasons[known:]:
        reason = found.reason.partition("\n")[0]
        reasons.add(reason)
        places = [p for p in found.user_stack if not p.filename.startswith(_TORCH)]
        if places:
            text = f"recorded here, not compiled: {reason}"
            _warn(text, places[-1].filename, places[-1].lineno)
    # Where it takes nothing of a frame there is a reason, and no line.
    for text in dynamo.counters["unimplemented"] - unknown_before:
        reason = text.partition("\n")[0]
        if reason not in reasons:
            frame = deprecation.program_frame()
            _warn_at(frame, f"a function in this call is recorded: {reason}")


def _warn_at(frame, text):
    if frame is not None:
        _warn(text, frame.f_code.co_filename, frame.f_lineno)


def _warn(text, file, line):
    if (file, line, text) not in _told:
        _told.add((file, line, text))
        warnings.warn_explicit(f"torch_ltc: {text}", UserWarning, file, line)
