# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training on hosts whose links fail, and whose ranks end or stop, at any time.

The ranks share a cache of programs, whose locks they may hold when they end. All
end, with right values or an error, and a start from the checkpoint has the losses
that one run would have had, but for rounding: the first step of a process may run by
eager's kernels. The variable ROUNDS sets how often.
"""

import os
import random
import signal
import subprocess
import time

import hosts as network
import pytest
import ranks
from test_failures import losses_of

ROUNDS = int(os.environ.get("ROUNDS", "200"))
FEW = 4
STEPS, TIMEOUT = 8, 4
# A collective waits for a timeout, and the store may be asked once more. Of the time
# that the ranks and the switch have a core for: what hangs uses none, and waits for
# none. At most so many times as long on the clock.
LONGEST, ON_THE_CLOCK = 40, 4
# An update that is lost or made twice changes a later loss by three quarters at least.
ROUNDING = 1e-5


@pytest.fixture(scope="module")
def hosts():
    try:
        made = network.Hosts(3).__enter__()
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"no network namespaces here: {error}")
    yield made
    made.__exit__()


def killed(hosts, process, drawn):
    process.send(signal.SIGKILL)


def stopped(hosts, process, drawn):
    process.send(signal.SIGSTOP)


def stopped_for_a_moment(hosts, process, drawn):
    process.send(signal.SIGSTOP)
    time.sleep(drawn.uniform(0, 1))
    process.send(signal.SIGCONT)


def cut(hosts, process, drawn):
    hosts.switch.cut = {drawn.randrange(3)}


def cut_for_a_moment(hosts, process, drawn):
    cut(hosts, process, drawn)
    time.sleep(drawn.uniform(0, 1))
    hosts.switch.cut = set()


def slow(hosts, process, drawn):
    hosts.switch.delay, hosts.switch.loss = drawn.uniform(0, 0.03), 0.02


EVENTS = (killed, cut, slow, stopped, cut_for_a_moment, stopped_for_a_moment)


class Training:
    """Starts of one program on the hosts."""

    def __init__(self, hosts, folder):
        self.hosts, self.folder, self.port = hosts, folder, 29500

    def run(self, name, count, happens=None, drawn=None, within=0.0):
        """Train until the end or an error; return the processes and the losses."""
        self.port += 1
        program = [ranks.HERE / "train_and_save.py", self.folder / name]
        options = ["--steps", STEPS, "--pause", 0.02, "--timeout", TIMEOUT]
        arguments = [str(part) for part in program + options]
        began = time.monotonic()
        started = self.hosts.start(arguments, count, self.port, self.folder)
        try:
            if happens:
                time.sleep(drawn.uniform(0, within))
                happens(self.hosts, drawn.choice(started), drawn)
            self._finish(started, began, happens)
        finally:
            for process in started:
                process.end()
        self.seconds = time.monotonic() - began
        return started, losses_of(started[0].output())

    @staticmethod
    def _finish(started, began, happens):
        """Wait for all but one that is stopped."""
        switch = network.delay_of(os.getpid())
        while time.monotonic() < began + ON_THE_CLOCK * LONGEST:
            starved = network.delay_of(os.getpid()) - switch
            starved += sum(process.delay() for process in started)
            if time.monotonic() > began + LONGEST + starved:
                break
            running = [p for p in started if p.wait(0) is None]
            if len(running) <= (happens is stopped):
                return
            time.sleep(0.02)
        for process in started:
            process.end()
        told = "\n".join(process.output() for process in started)
        raise AssertionError(
            f"ranks have not ended; they waited {starved:.0f} s for a core:\n{told}"
        )


@pytest.fixture(scope="module")
def training(hosts, tmp_path_factory):
    made = Training(hosts, tmp_path_factory.mktemp("training"))
    made.whole = {}
    for count in 2, 3:
        processes, made.whole[count] = made.run(f"whole-{count}.pt", count)
        assert all(p.code == 0 for p in processes), [p.output() for p in processes]
        assert len(made.whole[count]) == STEPS
    made.usual = made.seconds
    return made


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=pytest.mark.slow if seed < FEW else pytest.mark.long)
        for seed in range(max(ROUNDS, FEW))
    ],
)
def test_training_survives(seed, training):
    drawn = random.Random(seed)
    happens, count = EVENTS[seed % len(EVENTS)], drawn.choice([2, 3])
    name, whole, switch = f"cut-{seed}.pt", training.whole[count], training.hosts.switch
    ended, found = training.run(name, count, happens, drawn, training.usual)
    switch.cut, switch.delay, switch.loss = set(), 0.0, 0.0
    assert found.items() <= whole.items()
    for process in ended:
        output = process.output()
        # By the first signal if it had begun to end, and by the second if not.
        ended_by_test = process.code in (-signal.SIGUSR1, -signal.SIGKILL)
        assert not ended_by_test or happens in (killed, stopped)
        said = "finished" if process.code == 0 else "Error"
        assert said in output or ended_by_test, output
    if any(process.code != 0 for process in ended):
        again, more = training.run(name, count)
        assert all(p.code == 0 for p in again), [p.output() for p in again]
        found |= more
        for step, loss in more.items():
            assert float(loss) == pytest.approx(float(whole[step]), rel=ROUNDING), step
    assert found.keys() == whole.keys()
