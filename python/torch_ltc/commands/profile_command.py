# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``python -m torch_ltc profile``: a profile of a whole script."""

import argparse
import os
import runpy
import sys

from torch_ltc.profiling.profiler import profile


def define(parser):
    """Give an argparse parser its arguments."""
    parser.add_argument(
        "--dir", default="ltc_profile", help="where files go (default: ltc_profile)"
    )
    parser.add_argument(
        "--stages",
        action="store_true",
        help="show each graph at every stage of the compiler; nothing comes from disk",
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="the script is a module"
    )
    parser.add_argument("script", help="the script, or the module's name")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="what the script is given"
    )


def run(arguments):
    """Run the script; return its exit status."""
    try:
        whole = profile(arguments.dir, stages=arguments.stages).__enter__()
    except OSError as error:
        print(f"torch_ltc profile: {error}", file=sys.stderr)
        return 2
    try:
        _run_script(arguments)
    finally:
        whole.__exit__(None, None, None)
        sys.stdout.flush()
        print(f"{whole}\n\nin {os.path.join(arguments.dir, 'profile.html')}")
    return 0


def _run_script(arguments):
    sys.argv = [arguments.script, *arguments.arguments]
    if arguments.is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(arguments.script))
        runpy.run_path(arguments.script, run_name="__main__")
