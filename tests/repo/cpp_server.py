# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts the example's server, asks it from several threads, and ends it.

    python tests/repo/cpp_server.py SERVE_DIGITS WEIGHTS DIGITS [DEVICE ...]

prints how long its answers take.
"""

import contextlib
import http.client
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import torch

IMAGE = 64  # bytes
CLIENTS, ASKED = 4, 40  # questions of each
SIZES = (1, 2, 3, 5, 8, 16, 32)


class Server:
    """A process that serves at a port of its own; `ended` is what it said last."""

    def __init__(self, program, weights, device="lazy"):
        self._process = subprocess.Popen(
            [program, weights, "0", str(CLIENTS), device],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"LTC_CACHE": "off", "OMP_NUM_THREADS": "1"},
        )
        said = self._process.stdout.readline()
        found = re.search(r"listening at http://(.+):(\d+)", said)
        if not found:
            raise RuntimeError(said + self._process.communicate()[0])
        self.address = found[1], int(found[2])

    def connect(self):
        """Return a connection that says after a minute that nobody answers."""
        return contextlib.closing(http.client.HTTPConnection(*self.address, timeout=60))

    def begin_to_end(self):
        """Send SIGTERM."""
        self._process.send_signal(signal.SIGTERM)

    def end(self):
        """End it; return the exit status and the rest of what it said."""
        self.begin_to_end()
        said, _ = self._process.communicate(timeout=60)
        return self._process.returncode, said

    def kill(self):
        """End it if it has not."""
        self._process.kill()
        self._process.communicate()


def ask(connection, images, path="/digits"):
    """Return the status, and what came back."""
    connection.request("POST" if images is not None else "GET", path, images)
    response = connection.getresponse()
    return response.status, response.read().decode()


def scores(text):
    """Read an answer."""
    return torch.tensor([[float(x) for x in row.split()] for row in text.splitlines()])


def images_of(digits):
    """Return the images of the examples' file, a row of bytes each."""
    rows = np.fromfile(digits, np.uint8).reshape(-1, IMAGE + 1)
    return np.ascontiguousarray(rows[:, :IMAGE])


def eager(weights):
    """Return the network with those weights on the CPU, in Python."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(1024, 10),
    )  # fmt: skip
    model.load_state_dict(torch.jit.load(weights).state_dict())
    return model.eval()


def load(server, images, wanted):
    """Ask from several threads at once; return seconds, and what was wrong."""
    took, wrong = [], []

    def client(seed):
        random = np.random.default_rng(seed)
        with server.connect() as connection:
            for _ in range(ASKED):
                size = int(random.choice(SIZES))
                first = int(random.integers(len(images) - size))
                start = time.perf_counter()
                status, said = ask(connection, images[first : first + size].tobytes())
                took.append(time.perf_counter() - start)
                expected = wanted[first : first + size]
                if status != 200 or not torch.allclose(
                    scores(said), expected, rtol=1e-4, atol=1e-4
                ):
                    wrong.append((first, size, status, said[:200]))

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, wrong


def row(device, took):
    """Return a line of the table of latencies."""
    cuts = statistics.quantiles(took, n=100)
    shown = (f"{1e3 * cuts[at - 1]:8.2f}" for at in (50, 90, 99))
    return f"{device:8}{len(took):8}{''.join(shown)}{1e3 * max(took):8.2f}"


HEAD = "device   answers  p50 ms  p90 ms  p99 ms     max"


def main(program, weights, digits, *devices):
    images = images_of(digits)
    with torch.no_grad():
        wanted = eager(weights)(
            torch.from_numpy(images).float().div(16).view(-1, 1, 8, 8)
        )
    print(HEAD)
    for device in devices or ("cpu", "lazy"):
        server = Server(program, weights, device)
        took, wrong = load(server, images, wanted)
        print(row(device, took))
        status, said = server.end()
        if wrong or status:
            sys.exit(f"{len(wrong)} wrong answers; exit status {status}: {said}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *sys.argv[4:])
