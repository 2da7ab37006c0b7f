# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m torch_ltc``: a command, or ``--cmake-prefix-path``."""

import argparse
import os
import sys

from torch_ltc.commands import cache_command, doctor, fpcmp, profile_command
from torch_ltc.commands.command_line import ended
from torch_ltc.migrate import command as migrate_command

_COMMANDS = {
    "cache": (cache_command, "the compiled graphs on disk"),
    "doctor": (doctor, "what is wrong with this installation, and what to do"),
    "fpcmp": (fpcmp, "how far the tensors of two files are apart"),
    "migrate": (migrate_command, "from the lazy device to torch.compile"),
    "profile": (profile_command, "run a script, and say where its time goes"),
}


def main():
    """Run the command that the first argument names."""
    parser = argparse.ArgumentParser(prog="python -m torch_ltc")
    parser.add_argument(
        "--cmake-prefix-path",
        action="store_true",
        help="print where CMake finds torch_ltc for C++ programs",
    )
    commands = parser.add_subparsers(dest="command")
    for name, (module, help) in _COMMANDS.items():
        module.define(commands.add_parser(name, help=help))
    arguments = parser.parse_args()
    if arguments.cmake_prefix_path:
        print(os.path.dirname(os.path.abspath(__file__)))
        return 0
    if arguments.command is None:
        parser.print_help()
        return 0
    return ended(_COMMANDS[arguments.command][0].run, arguments)


if __name__ == "__main__":
    sys.exit(main())
