# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``python -m torch_ltc migrate``."""

import pathlib
import sys
import tokenize

from torch_ltc.migrate import lint, report


def define(parser):
    """Give an argparse parser the subcommands."""
    actions = parser.add_subparsers(dest="action", required=True)
    one = actions.add_parser(
        "lint", help="find what ties scripts to a lazy device; exit with 1 if any"
    )
    one.add_argument("paths", nargs="+", help="files, or directories of Python files")
    one.add_argument("--format", choices=report.FORMATS, default="text")
    one.add_argument(
        "--fail-on",
        choices=("any", "person", "never"),
        default="any",
        help="which findings make the exit code 1 (default: any)",
    )


def run(arguments):
    """Run the linter. Return 0, 1 for findings, or 2 for what cannot be read."""
    findings, files, status = [], 0, 0
    for path in _python_files(arguments.paths):
        try:
            with tokenize.open(path) as file:
                findings += lint.lint(file.read(), str(path))
            files += 1
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            print(f"{path}: cannot be read: {error}", file=sys.stderr)
            status = 2
    print(report.FORMATS[arguments.format](findings, files))
    counted = {
        "any": bool(findings),
        "person": any(finding.rule.needs_person for finding in findings),
        "never": False,
    }
    return status or int(counted[arguments.fail_on])


def _python_files(paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from sorted(path.rglob("*.py"))
        else:
            yield path
