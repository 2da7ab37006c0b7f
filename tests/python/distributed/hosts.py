# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hosts with addresses of their own, as network namespaces, and a switch.

The switch is a thread that moves the frames. A kernel need not have ``tc``'s
disciplines for it, and it can lose and delay what it likes.
"""

import contextlib
import heapq
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

SERVER = Path(__file__).resolve().parent / "host_server.py"
# Of packet(7). A frame comes with what is still to be done to it (checksums),
# which the sender leaves to a network card: it is passed on with the frame.
SOL_PACKET, PACKET_VNET_HDR, ETH_P_ALL, MOST = 263, 15, 3, 1 << 17


def run(command):
    subprocess.run(command.split(), check=True, capture_output=True)


def delay_of(pid):
    """Return for how long a process's threads were ready and had no core."""
    delay = 0
    for thread in Path("/proc", str(pid), "task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            delay += int(thread.read_text().split()[1])
    return delay / 1e9


class Switch:
    """Moves frames between network devices of this process's namespace."""

    def __init__(self, devices):
        self.cut, self.delay, self.loss = set(), 0.0, 0.0
        self.jitter = 1.0  # of the delay; with some, frames overtake others
        self._ports = [self._open(device) for device in devices]
        self._late = []  # (when, number, port, frame)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @staticmethod
    def _open(device):
        port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        port.bind((device, ETH_P_ALL))
        return port

    def _run(self):
        drawn, number = random.Random(0), 0
        with selectors.DefaultSelector() as selector:
            for i, port in enumerate(self._ports):
                selector.register(port, selectors.EVENT_READ, i)
            while not self._ends.is_set():
                now = time.monotonic()
                while self._late and self._late[0][0] <= now:
                    self._send(*heapq.heappop(self._late)[2:])
                pause = self._late[0][0] - now if self._late else 0.05
                for key, _ in selector.select(min(pause, 0.05)):
                    frame = key.fileobj.recv(MOST)
                    if drawn.random() < self.loss:
                        continue
                    number += 1
                    jitter = drawn.uniform(-self.jitter, self.jitter)
                    when = time.monotonic() + self.delay * (1 + jitter)
                    late = (when, number, key.data, frame)
                    heapq.heappush(self._late, late)

    def _send(self, source, frame):
        for i, port in enumerate(self._ports):
            if i != source and not self.cut & {i, source}:
                with contextlib.suppress(OSError):
                    port.send(frame)

    def end(self):
        self._ends.set()
        self._thread.join()
        for port in self._ports:
            port.close()


class Process:
    """A Python program on a host."""

    def __init__(self, server, log):
        self._server, self._log, self.code, self._delay = server, log, None, 0.0
        self._pid = self._read("started")

    def _read(self, what):
        word, number = self._server.stdout.readline().split()
        assert word == what
        return int(number)

    def output(self):
        return self._log.read_text()

    def delay(self):
        """Return for how long it was ready and had no core, as far as is known."""
        self._delay = max(self._delay, delay_of(self._pid))
        return self._delay

    def send(self, number):
        if self.wait(0) is None:
            os.kill(self._pid, number)

    def wait(self, timeout):
        """Return the exit code; None if it has not ended in that time."""
        if self.code is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._server.stdout, selectors.EVENT_READ)
                if not selector.select(timeout):
                    return None
            self.code = self._read("ended")
        return self.code

    def end(self):
        """End it if it has not; then its output tells where it was."""
        if self.wait(0) is None:
            self.send(signal.SIGCONT)
            self.send(signal.SIGUSR1)
            time.sleep(0.5)
            self.send(signal.SIGKILL)
            self.wait(None)


class Hosts:
    """So many hosts, each with a server that starts programs in milliseconds."""

    def __init__(self, count):
        self.names = [f"ltc{os.getpid()}-{i}" for i in range(count)]
        self._servers = []
        self.switch = None

    def __enter__(self):
        try:
            for i, name in enumerate(self.names):
                run(f"ip netns add {name}")
                run(f"ip link add {name} type veth peer name l0 netns {name}")
                run(f"ip -n {name} address add 10.99.0.{i + 1}/24 dev l0")
                for device in "lo", "l0":
                    run(f"ip -n {name} link set {device} up")
                run(f"ip link set {name} up")
            self.switch = Switch(self.names)
            self._servers = [self._serve(name) for name in self.names]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self._servers:
            server.stdin.close()
            server.wait()
            server.stdout.close()
        if self.switch:
            self.switch.end()
        for name in self.names:
            with contextlib.suppress(subprocess.CalledProcessError):
                run(f"ip netns delete {name}")

    @staticmethod
    def _serve(name):
        return subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, str(SERVER)],
            env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "l0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, arguments, ranks, port, folder):
        """Start a program on the first hosts, a rank each."""
        started = []
        for rank, server in enumerate(self._servers[:ranks]):
            log = Path(folder, f"{port}-{rank}.log")
            variables = {
                "WORLD_SIZE": str(ranks),
                "RANK": str(rank),
                "LOCAL_RANK": "0",
                "MASTER_ADDR": "10.99.0.1",
                "MASTER_PORT": str(port),
                "LTC_CACHE": "rw",
                "LTC_CACHE_DIR": str(Path(folder, "cache")),
            }
            order = {"arguments": arguments, "variables": variables, "log": log}
            server.stdin.write(json.dumps(order, default=str) + "\n")
            server.stdin.flush()
            started.append(Process(server, log))
        return started
