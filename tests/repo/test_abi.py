# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout of plugin.h changes with its version only, and grows at the ends.

abi/<major>.<minor>.txt keeps the layout of each version. A change to a struct needs a
new minor version: raise LTC_ABI_MINOR, write the file with LTC_UPDATE_ABI=1, and say in
docs/abi-changelog.md what was appended.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include/ltc/plugin.h"
LAYOUTS = Path(__file__).parent / "abi"


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def members(body):
    """Return the names of a struct's members, also of pointers to functions."""
    for declaration in body.split(";"):
        if function := re.search(r"\(\*(\w+)\)", declaration):
            yield function[1]
        elif declaration.strip():
            for one in declaration.split(","):
                yield re.findall(r"\w+", one)[-1]


def structs(text):
    pattern = r"typedef struct (\w+) \{(.*?)\n\} \1;"
    for name, body in re.findall(pattern, without_comments(text), re.DOTALL):
        yield name, list(members(body))


def constants(text):
    bodies = re.findall(r"enum \{(.*?)\}", without_comments(text), re.DOTALL)
    return re.findall(r"LTC_\w+", " ".join(bodies))


def layout(text, folder):
    """Return lines `struct.member offset` and `struct size`, by a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler")
    lines = []
    for name, its_members in structs(text):
        lines += [
            f'P("{name}.{member} %zu\\n", offsetof({name}, {member}));'
            for member in its_members
        ]
        lines.append(f'P("{name} %zu\\n", sizeof({name}));')
    lines += [f'P("{name} %d\\n", {name});' for name in constants(text)]
    (folder / "plugin.h").write_text(text)
    source = folder / "layout.c"
    body = "\n".join(lines).replace("P(", "printf(")
    source.write_text(
        f'#include "plugin.h"\n#include <stdio.h>\nint main(void) {{\n{body}\n}}\n'
    )
    program = folder / "layout"
    subprocess.run([compiler, "-std=c11", source, "-o", program], check=True)
    found = subprocess.run([program], capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def version(text):
    return tuple(
        int(re.search(rf"#define LTC_ABI_{part} (\d+)", text)[1])
        for part in ("MAJOR", "MINOR")
    )


def kept(major, minor):
    path = LAYOUTS / f"{major}.{minor}.txt"
    return path.read_text().splitlines() if path.exists() else None


def complaint(found, major, minor):
    """Return what is wrong with this layout of that version, or None."""
    if found != kept(major, minor):
        return f"the layout is not that of version {major}.{minor}"
    for before in range(minor):
        earlier = dict(line.split() for line in kept(major, before))
        now = dict(line.split() for line in found)
        for name, place in earlier.items():
            grows = "." not in name and name.startswith("ltc_")
            if now.get(name) != place and not (grows and int(now[name]) > int(place)):
                return f"{name} was at {place} in version {major}.{before}"
    return None


def test_the_layout_is_that_of_its_version(tmp_path):
    text = HEADER.read_text()
    found = layout(text, tmp_path)
    major, minor = version(text)
    if os.environ.get("LTC_UPDATE_ABI") and kept(major, minor) is None:
        (LAYOUTS / f"{major}.{minor}.txt").write_text("\n".join(found) + "\n")
    assert complaint(found, major, minor) is None
    changelog = (ROOT / "docs/abi-changelog.md").read_text()
    assert f"## {major}.{minor}" in changelog


CHANGES = {
    "a member in front": (
        "  const char *name; /* static storage",
        "  void *extra;\n  const char *name; /* static storage",
    ),
    "two members swapped": (
        "  const ltc_operand *operands; /* borrowed until program_run returns */\n"
        "  size_t operand_count;",
        "  size_t operand_count;\n  const ltc_operand *operands;",
    ),
    "a wider member": ("  uint8_t flags;", "  uint32_t flags;"),
    "a member at the end": (
        "\n} ltc_plugin;",
        "\n  void (*more)(ltc_device *device);\n} ltc_plugin;",
    ),
    "a code between": ("  LTC_OUT_OF_MEMORY,", "  LTC_BUSY,\n  LTC_OUT_OF_MEMORY,"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_without_a_version_is_found(name, tmp_path):
    text = HEADER.read_text()
    before, after = CHANGES[name]
    assert text.count(before) == 1
    found = layout(text.replace(before, after), tmp_path)
    assert complaint(found, *version(text))


def test_a_struct_may_grow_with_a_version(tmp_path, monkeypatch):
    text = HEADER.read_text()
    major, minor = version(text)
    monkeypatch.setitem(globals(), "LAYOUTS", tmp_path)
    for before in range(minor + 1):
        name = f"{major}.{before}.txt"
        (tmp_path / name).write_text((Path(__file__).parent / "abi" / name).read_text())
    grown = text.replace(*CHANGES["a member at the end"])
    found = layout(grown, tmp_path)
    (tmp_path / f"{major}.{minor + 1}.txt").write_text("\n".join(found) + "\n")
    assert complaint(found, major, minor + 1) is None
    moved = layout(text.replace(*CHANGES["two members swapped"]), tmp_path)
    (tmp_path / f"{major}.{minor + 1}.txt").write_text("\n".join(moved) + "\n")
    assert complaint(moved, major, minor + 1)
