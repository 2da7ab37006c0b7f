# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile's steps as scalars for TensorBoard."""

from collections import Counter


def write(data, to, prefix="torch_ltc"):
    """Write the whole steps of a `Data`; return how many there were.

    `to` is a ``torch.utils.tensorboard.SummaryWriter``, or the directory of a new
    one, which needs the package tensorboard.
    """
    if hasattr(to, "add_scalar"):
        return _write(data, to, prefix)
    with _writer(to) as writer:
        return _write(data, writer, prefix)


def _writer(directory):
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError(
            "scalars for TensorBoard need the package tensorboard, which is not "
            "installed: pip install tensorboard, or give a writer of your own"
        ) from error
    return SummaryWriter(directory)


def _write(data, writer, prefix):
    syncs = Counter()
    for sync in data.syncs:
        step = data.step_of(sync.thread, sync.end)
        if step is not None and sync.cause != step.cause:
            syncs[step.number] += 1
    whole = [step for step in data.steps if step.whole]
    for step in whole:
        values = {
            "step ms": step.time / 1e6,
            "device ms": step.running / 1e6,
            "syncs": syncs[step.number],
            "launches": step.launches,
            **{f"parts ms/{name}": time / 1e6 for name, time in step.parts.items()},
        }
        for name, value in values.items():
            writer.add_scalar(f"{prefix}/{name}", value, step.number)
    return len(whole)
