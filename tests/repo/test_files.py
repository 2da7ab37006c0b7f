# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes, names and contents that every file of the repository keeps to."""

import ast
import re
import subprocess

SOURCES = {".h", ".cpp", ".c", ".td", ".py", ".sh", ".cmake"}
WITH_LICENSE_LINE = {".h", ".cpp", ".c", ".td", ".py", ".sh"}
BINARY = {".ltcpkg", ".npz", ".png", ".pt", ".safetensors"}
HARD_LINE_LIMIT = 500
FUNCTION_LINE_LIMIT = 60
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "misc", "common", "manager"}

# Places of one machine, and hosts that pip or apt may be pointed at: a project
# that names them works here and nowhere else.
NOT_OURS = re.compile(
    r"(?<![\w.<>-])/(?:root|home|work|opt|mnt|tmp/w)/\w"
    r"|--(?:extra-)?index-url|--find-links"
    r"|pypi\.org|pythonhosted|deb\.debian\.org|apt\.llvm\.org|download\.pytorch\.org"
)


def texts(root, files, suffixes=None):
    for path in files:
        if suffixes is None or path.suffix in suffixes:
            try:
                yield path, (root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                assert path.suffix in BINARY, f"{path} is no text"


def test_no_file_is_too_long(root, files):
    long = {
        str(path): text.count("\n")
        for path, text in texts(root, files, SOURCES)
        if text.count("\n") > HARD_LINE_LIMIT
    }
    assert not long


def test_no_python_function_is_too_long(root, files):
    long = []
    for path, text in texts(root, files, {".py"}):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINE_LIMIT:
                    long.append(f"{path}:{node.lineno} {node.name}: {lines} lines")
    assert not long, "\n".join(long)


def test_names_say_what_is_inside(files):
    empty = [
        str(path)
        for path in files
        for part in path.with_suffix("").parts
        if EMPTY_NAMES & set(re.split(r"[^a-z]+", part.lower()))
    ]
    assert not empty


def test_sources_carry_the_license_line(root, files):
    line = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
    bare = [
        str(path)
        for path, text in texts(root, files, WITH_LICENSE_LINE)
        if text.strip() and line not in text[:600]
    ]
    assert not bare


def test_banners_name_their_file_on_one_line(root, files):
    banner = r"(?://|/\*)===- ([\w./-]+) .*===(?://|\*\\)\n"
    wrong = []
    for path, text in texts(root, files, {".h", ".cpp", ".c", ".td"}):
        match = re.match(banner, text)
        if not match or not f"/{path}".endswith(f"/{match[1]}"):
            wrong.append(str(path))
    assert not wrong


def test_nothing_of_this_machine_is_named(root, files):
    found = []
    for path, text in texts(root, files):
        if path.name != "test_files.py":
            for match in NOT_OURS.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path}:{line}: {match.group()}")
    assert not found, "\n".join(found)


def test_text_files_end_with_one_newline(root, files):
    wrong = [
        str(path)
        for path, text in texts(root, files)
        if text and (not text.endswith("\n") or text.endswith("\n\n"))
    ]
    assert not wrong


def test_everything_is_formatted(root):
    done = subprocess.run(
        [root / "cmake/format.sh", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, "run `make format`\n" + done.stdout + done.stderr
