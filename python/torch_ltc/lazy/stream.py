# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams and events of the lazy device, as ``torch.cuda`` has them.

A lazy device has one in-order queue, so every stream of a device is that queue:
there is nothing to order between streams, and waiting for another is free. An
event ends the step being recorded and marks its place in the queue.
"""

import torch

from torch_ltc import startup
from torch_ltc.lazy.ordinal import ordinal_of


class Stream:
    """The queue of a lazy device."""

    def __init__(self, device=None, priority=0, **kwargs):
        self.device_index = ordinal_of(device)
        self.priority = priority
        self.stream_id = 0

    @property
    def device(self):
        """The device whose queue this is."""
        return torch.device("lazy", self.device_index)

    def synchronize(self):
        """Wait until everything recorded has run; raise the first unseen error."""
        startup.start().synchronize(self.device_index)

    def query(self):
        """Return whether everything that was queued has run."""
        return startup.start().is_idle(self.device_index)

    def record_event(self, event=None):
        """Record `event`, a new one by default, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Wait for an event of another device; the own queue is in order."""
        if event._ordinal not in (None, self.device_index):
            event.synchronize()

    def wait_stream(self, stream):
        """Wait for another device's queue; the own one is in order."""
        if stream != self:
            self.wait_event(stream.record_event())

    def __eq__(self, other):
        return isinstance(other, Stream) and other.device_index == self.device_index

    def __hash__(self):
        return hash(("lazy", self.device_index))

    def __repr__(self):
        return f"torch.lazy.Stream(device={self.device})"


class Event:
    """A place in the queue, with the time at which it was reached."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise ValueError("lazy events cannot be shared between processes")
        self.enable_timing = enable_timing
        self._marker = None
        self._ordinal = None

    def record(self, stream=None):
        """End the step being recorded and mark this place behind it."""
        self._ordinal = ordinal_of(None) if stream is None else stream.device_index
        self._marker = startup.start().record_event(self._ordinal)

    def wait(self, stream=None):
        """Make what `stream` is given from now on run after this event."""
        (stream or current_stream()).wait_event(self)

    def query(self):
        """Return whether the event has been reached; True if never recorded."""
        return self._marker is None or self._marker.is_reached()

    def synchronize(self):
        """Wait until the event has been reached."""
        if self._marker is not None:
            self._marker.wait()

    def elapsed_time(self, end_event):
        """Return the milliseconds from this event to `end_event`.

        By the device's clock if it has one, and both events are of it.
        """
        events = (self, end_event)
        if not all(event.enable_timing for event in events):
            raise RuntimeError(
                "elapsed_time() needs events made with enable_timing=True"
            )
        if not all(event._marker for event in events):
            raise RuntimeError("elapsed_time() needs events that were recorded")
        if not all(event.query() for event in events):
            raise RuntimeError(
                "elapsed_time() needs events that were reached: synchronize() first"
            )
        return end_event._marker.seconds_since(self._marker) * 1e3

    def __repr__(self):
        return f"torch.lazy.Event(recorded={self._marker is not None})"


def current_stream(device=None):
    """Return the stream that ops on the device go to."""
    return Stream(device)


def of_accelerator(stock):
    """Wrap ``torch.accelerator.current_stream``, for a PyTorch without accelerator.

    FSDP and hooks of DistributedDataParallel have that wait for events of ours.
    """

    def current(device=None, /):
        choose = stock if torch.accelerator.is_available() else current_stream
        return choose(device)

    return current


def default_stream(device=None):
    """Return the device's only stream."""
    return Stream(device)


def set_stream(stream):
    """Make the stream's device the current one."""
    if stream is not None:
        startup.start().set_current_device(stream.device_index)


class stream:
    """Context manager that makes the stream's device the current one."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.before = startup.start().current_device()
        set_stream(self.stream)
        return self.stream

    def __exit__(self, *exception):
        startup.start().set_current_device(self.before)


StreamContext = stream


def is_current_stream_capturing():
    """Return False: graphs are recorded without being asked for."""
    return False
