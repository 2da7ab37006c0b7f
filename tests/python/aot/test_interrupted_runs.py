# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C ends loops in bundles: in Python, and in ltc-run."""

import platform
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_ltc
from torch._higher_order_ops import while_loop
from torch.export import export

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)
LIBRARIES = Path(torch_ltc.__file__).parent / "lib"
RUN = LIBRARIES.resolve().parent / "bin/ltc-run"


class Spins(torch.nn.Module):
    def forward(self, count, x):
        def goes_on(i, x):
            return i < count

        def turn(i, x):
            return i + 1, torch.sin(x)

        start = torch.zeros((), dtype=torch.int64)
        return while_loop(goes_on, turn, (start, x))


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A folder with a loop, and with a count of turns that nobody waits for."""
    folder = tmp_path_factory.mktemp("endless")
    program = export(Spins(), (torch.tensor(3), torch.ones(4)))
    torch_ltc.aot.compile(program, folder / "m.ltcpkg", targets="baseline")
    np.save(folder / "count.npy", np.array(10**15))
    np.save(folder / "x.npy", np.ones(4, np.float32))
    return folder


INTERRUPTED = """
import os, signal, threading
import torch, torch_ltc

loaded = torch_ltc.aot.load({path!r})
x = torch.ones(4)


def interrupted(handler):
    signal.signal(signal.SIGINT, handler)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        loaded(torch.tensor(10**15), x)
    except (KeyboardInterrupt, torch_ltc.Error) as error:
        assert signal.getsignal(signal.SIGINT) is handler
        return error


assert type(interrupted(signal.default_int_handler)) is KeyboardInterrupt
told = []
error = interrupted(lambda *_: told.append(1))
assert told and error.code == "interrupted", error
torch.testing.assert_close(loaded(torch.tensor(2), x)[1], x.sin().sin())
"""


def test_ctrl_c_ends_a_loop_in_python(endless, run_python):
    run_python(INTERRUPTED.format(path=str(endless / "m.ltcpkg")), timeout=60)


def heed_interrupts():
    """What runs in the background may ignore them, and what it starts, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_ltc_run(endless):
    if not RUN.exists():
        pytest.skip("this build has no tools")
    files = ("m.ltcpkg", "count.npy", "x.npy")
    process = subprocess.Popen([RUN, *files], cwd=endless, preexec_fn=heed_interrupts)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
    finally:
        process.kill()
    assert not list(endless.glob("out*"))
