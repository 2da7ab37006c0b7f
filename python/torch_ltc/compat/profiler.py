# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The calls of ``torch_xla.debug.profiler``.

``import torch_ltc.compat.profiler as xp`` in place of torch_xla's module. A server
is one of this process: `trace` profiles it for a while, and writes the files of
`torch_ltc.profile`. From outside, ``LTC_PROFILE=dir`` and
``python -m torch_ltc profile`` do that.
"""

import contextlib
import threading
import time

import torch

from torch_ltc.compat import xla_model
from torch_ltc.profiling.profiler import profile
from torch_ltc.startup import start

_servers = {}  # by port
_HERE = ("localhost", "127.0.0.1", "::1", "[::1]")
# Other threads go on launching while a trace ends.
_LONGEST_WAIT_S = 1


class ProfilerServer:
    """What `trace` is asked for by its port; opens none."""

    def __init__(self, port):
        self.port = port

    def __del__(self):
        if _servers.get(self.port) == id(self):
            del _servers[self.port]


def start_server(port, only_on_master=True):
    """Return a server for `trace` that lives as long as it is kept."""
    if not 0 < port < 65536:
        raise RuntimeError(f"a port is a number from 1 to 65535, not {port}")
    if port in _servers:
        raise RuntimeError(f"port {port} has a profiler server already")
    server = ProfilerServer(port)
    _servers[port] = id(server)
    return server


def trace(
    service_addr,
    logdir,
    duration_ms=1000,
    num_tracing_attempts=3,
    host_tracer_level=2,
    device_tracer_level=1,
    delay_ms=0,
    timeout_s=120,
    interval_s=5,
):
    """Profile what other threads do for a while, and write it into `logdir`."""
    _check_address(service_addr)
    time.sleep(delay_ms / 1000)
    with profile(logdir, longest_wait_s=_LONGEST_WAIT_S):
        time.sleep(duration_ms / 1000)


def trace_detached(*args, **kwargs):
    """Do as `trace`, on a thread; return at once."""
    _check_address(args[0] if args else kwargs["service_addr"])
    threading.Thread(target=trace, args=args, kwargs=kwargs, daemon=True).start()


def _check_address(address):
    host, _, port = address.rpartition(":")
    if host not in _HERE or not port.isdigit() or int(port) not in _servers:
        raise RuntimeError(
            f"no profiler server of this process is at {address!r}: keep what "
            "start_server(port) returns, or profile another process with "
            "LTC_PROFILE=dir or python -m torch_ltc profile"
        )


class Trace(contextlib.ContextDecorator):
    """A span with a name, in profiles of torch_ltc and of torch.profiler."""

    def __init__(self, name, **kwargs):
        self.name = name
        numbers = ", ".join(f"{key}={value}" for key, value in kwargs.items())
        self._title = f"{name} ({numbers})" if numbers else name

    def _recreate_cm(self):
        again = type(self)(self.name)
        again._title = self._title
        return again

    def __enter__(self):
        self._open = torch.profiler.record_function(self._title)
        self._open.__enter__()
        self._start = start().profile_clock()

    def __exit__(self, *exception):
        start().profile_add_span(self._title, self._start)
        self._open.__exit__(*exception)


class StepTrace(Trace):
    """A span that ends with the step."""

    def __exit__(self, *exception):
        try:
            if exception == (None, None, None):
                xla_model.mark_step()
        finally:
            super().__exit__(*exception)
