# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts programs, one after the other, by a fork that has torch already."""

import faulthandler
import json
import os
import runpy
import signal
import sys

import torch


def become(order):
    """Run the program in this process."""
    log = os.open(order["log"], os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    for stream in 0, 1, 2:
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stream == 0 else log, stream)
    faulthandler.register(signal.SIGUSR1)
    os.environ.update(order["variables"])
    sys.argv = order["arguments"]
    runpy.run_path(sys.argv[0], run_name="__main__")


def main():
    assert torch.__version__
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            return become(json.loads(line))
        print("started", child, flush=True)
        _, status = os.waitpid(child, 0)
        print("ended", os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
