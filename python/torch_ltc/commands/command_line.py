# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the commands of a shell end."""

import os
import sys

_SIGPIPE_STATUS = 141  # 128 + SIGPIPE, what a shell reports of `ls` in `ls | head`


def ended(run, arguments):
    """Run a command; return its exit status, also if its reader has gone."""
    try:
        status = run(arguments) or 0
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # as in `ltc-cache ls | head`
        # What is left to print must not raise once more as Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _SIGPIPE_STATUS
