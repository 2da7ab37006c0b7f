# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m torch_ltc``: ``cache``, ``migrate``, ``--cmake-prefix-path``."""

import argparse
import os
import sys

from torch_ltc import cache_command
from torch_ltc.migrate import command as migrate_command


def main():
    """Run the command that the first argument names."""
    parser = argparse.ArgumentParser(prog="python -m torch_ltc")
    parser.add_argument(
        "--cmake-prefix-path",
        action="store_true",
        help="print where CMake finds torch_ltc for C++ programs",
    )
    commands = parser.add_subparsers(dest="command")
    cache_command.define(
        commands.add_parser("cache", help="the compiled graphs on disk")
    )
    migrate_command.define(
        commands.add_parser("migrate", help="from the lazy device to torch.compile")
    )
    arguments = parser.parse_args()
    if arguments.cmake_prefix_path:
        print(os.path.dirname(os.path.abspath(__file__)))
        return 0
    run = {"cache": cache_command.run, "migrate": migrate_command.run}
    if arguments.command is None:
        parser.error(f"say what to do: {', '.join(run)}, or --cmake-prefix-path")
    return run[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
