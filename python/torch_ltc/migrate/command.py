# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``python -m torch_ltc migrate``."""

import argparse
import difflib
import json
import os
import sys

from torch_ltc.migrate import files, lint, report

NO_LIBCST = (
    "migrate rewrite needs LibCST, which keeps formatting and comments: "
    "pip install 'libcst>=1.8'"
)


def define(parser):
    """Give an argparse parser the subcommands."""
    actions = parser.add_subparsers(dest="action", required=True)
    one = actions.add_parser(
        "lint", help="find what ties scripts to a lazy device; exit with 1 if any"
    )
    _define_paths(one)
    one.add_argument("--format", choices=report.FORMATS, default="text")
    one = actions.add_parser(
        "rewrite", help="take scripts to torch.compile; exit with 1 if something stays"
    )
    _define_paths(one)
    how = one.add_mutually_exclusive_group()
    how.add_argument("--diff", action="store_true", help="show changes (the default)")
    how.add_argument("--write", action="store_true", help="make them")
    one.add_argument(
        "--device", default="cpu", help="the device in place of lazy (default: cpu)"
    )

    one = actions.add_parser(
        "parity",
        help="run a script in eager, lazy and compiled, and compare; exit with 1 if "
        "they differ, with 2 if one fails",
    )
    one.add_argument("--after", metavar="SCRIPT", help="what runs as the compiled one")
    one.add_argument("--rtol", type=float, help="tolerance for all dtypes")
    one.add_argument("--timeout", type=float, help="seconds that a run may take")
    one.add_argument("--html", metavar="FILE", help="write a page")
    one.add_argument("--json", metavar="FILE", help="write everything")
    one.add_argument("script", help="a training script for a lazy device")
    one.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="what the script is given"
    )


def _define_paths(parser):
    parser.add_argument(
        "paths", nargs="+", help="files, or directories of Python files"
    )
    parser.add_argument(
        "--fail-on",
        choices=("any", "person", "never"),
        default="any",
        help="which findings make the exit code 1 (default: any)",
    )


def run(arguments):
    """Run a subcommand. Return 0, 1 for findings, or 2 for what went wrong."""
    actions = {"lint": _lint, "rewrite": _rewrite, "parity": _parity}
    return actions[arguments.action](arguments)


def _lint(arguments):
    findings, count, status = [], 0, 0
    for path, source, _ in _sources(arguments.paths):
        if source is None:
            status = 2
            continue
        findings += lint.lint(source, str(path))
        count += 1
    print(report.FORMATS[arguments.format](findings, count))
    return status or _status(findings, arguments)


def _rewrite(arguments):
    try:
        from torch_ltc.migrate import rewriting
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "libcst":
            raise
        print(NO_LIBCST, file=sys.stderr)
        return 2
    left, uncompiled, changed, count, status = [], [], 0, 0, 0
    has_model = False
    for path, source, encoding in _sources(arguments.paths):
        if source is None:
            status = 2
            continue
        count += 1
        result = rewriting.rewrite(source, str(path), arguments.device)
        if result.text != source:
            try:
                if arguments.write:
                    files.write(path, result.text, encoding)
                else:
                    _show(path, source, result.text)
            except OSError as error:
                print(f"{path}: cannot be written: {error}", file=sys.stderr)
                status = 2
                continue
            changed += 1
        left += result.left
        uncompiled += result.uncompiled
        has_model |= rewriting.COMPILES in result.text
    left += [] if has_model else uncompiled
    print(report.left(left, changed, count, arguments.write))
    return status or _status(left, arguments)


def _parity(arguments):
    from torch_ltc.migrate import parity, parity_report

    for script in filter(None, (arguments.script, arguments.after)):
        if not os.path.isfile(script):
            print(f"migrate parity: there is no file {script}", file=sys.stderr)
            return 2
    script = parity.Script(arguments.script, arguments.arguments, arguments.after)
    (found,) = parity.run([script], arguments.timeout)
    data = parity_report.as_dict(found, script, arguments.rtol)
    print(parity_report.text(data))
    made = {
        arguments.html: parity_report.page,
        arguments.json: lambda data: json.dumps(data, indent=1),
    }
    for path, make in made.items():
        if path:
            try:
                files.replace(path, make(data))
            except OSError as error:
                print(f"{path}: cannot be written: {error}", file=sys.stderr)
                return 2
    return {"parity": 0, "differs": 1, "failed": 2}[data["verdict"]]


def _sources(paths):
    """Yield each file with its text and encoding; None for what cannot be read."""
    for path in files.python_files(paths):
        try:
            source, encoding = files.read(path)
            lint.lint(source, str(path))
        except (OSError, SyntaxError, UnicodeDecodeError, ValueError) as error:
            print(f"{path}: cannot be read: {error}", file=sys.stderr)
            yield path, None, None
        else:
            yield path, source, encoding


def _show(path, before, after):
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    print("\n".join(lines))


def _status(findings, arguments):
    counted = {
        "any": bool(findings),
        "person": any(finding.rule.needs_person for finding in findings),
        "never": False,
    }
    return int(counted[arguments.fail_on])
