# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m torch_ltc cache ...`` and ``migrate ...``."""

import argparse
import sys

from torch_ltc import cache_command
from torch_ltc.migrate import command as migrate_command


def main():
    """Run the command that the first argument names."""
    parser = argparse.ArgumentParser(prog="python -m torch_ltc")
    commands = parser.add_subparsers(dest="command", required=True)
    cache_command.define(
        commands.add_parser("cache", help="the compiled graphs on disk")
    )
    migrate_command.define(
        commands.add_parser("migrate", help="from the lazy device to torch.compile")
    )
    arguments = parser.parse_args()
    run = {"cache": cache_command.run, "migrate": migrate_command.run}
    return run[arguments.command](arguments)


if __name__ == "__main__":
    sys.exit(main())
