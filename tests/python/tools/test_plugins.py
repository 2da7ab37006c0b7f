# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drivers are found by path, name and package; a bad one is named, and left out."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch_ltc

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = Path(torch_ltc.__file__).parent / "lib"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

ADD = "import torch; print((torch.ones(2).to('lazy') + 1).tolist())"


def copy_of(driver, folder, name):
    folder.mkdir(exist_ok=True)
    path = folder / f"libltc_driver_{name}.so"
    shutil.copy(LIBRARIES / f"libltc_driver_{driver}.so", path)
    return path


def test_a_driver_is_found_in_the_folders_of_plugin_path(run_python, tmp_path):
    copy_of("null", tmp_path / "second", "mine")
    folders = f"{tmp_path / 'first'}:{tmp_path / 'second'}"
    done = run_python(ADD, LTC_DEVICE="mine", LTC_PLUGIN_PATH=folders)
    assert done.stdout == "[0.0, 0.0]\n"


ENTRY = """
def driver():
    return {path!r}

def broken():
    raise ValueError("no such board")

place = {path!r}
"""


def package(folder, path):
    """Make a package that names a driver, as an installed one does."""
    folder.mkdir()
    (folder / "board_maker.py").write_text(ENTRY.format(path=str(path)))
    info = folder / "board_maker-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: board\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[torch_ltc.plugins]\nboard = board_maker:driver\n"
        "same = board_maker:place\nbroken = board_maker:broken\n"
        "lost = board_maker:nothing\n"
    )
    earlier = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{folder}:{earlier}" if earlier else str(folder)}


@pytest.mark.parametrize("name", ["board", "same"])
def test_a_driver_is_found_by_a_packages_entry_point(run_python, tmp_path, name):
    path = copy_of("null", tmp_path / "lib", "of_the_package")
    environment = package(tmp_path / "site", path) | {"LTC_DEVICE": name}
    assert run_python(ADD, **environment).stdout == "[0.0, 0.0]\n"


def test_a_setting_finds_packages_too(run_python, tmp_path):
    path = copy_of("null", tmp_path / "lib", "of_the_package")
    environment = package(tmp_path / "site", path)
    code = "import torch_ltc; torch_ltc.settings.device = 'board'\n" + ADD
    assert run_python(code, **environment).stdout == "[0.0, 0.0]\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "entry point board_maker:broken raises ValueError: no such board"),
        ("lost", "entry point board_maker:nothing raises AttributeError"),
    ],
)
def test_a_broken_entry_point_is_named(run_python, tmp_path, name, message):
    environment = package(tmp_path / "site", tmp_path) | {"LTC_DEVICE": name}
    done = run_python(ADD, returncode=1, **environment)
    assert f"the plugin {name} cannot be loaded" in done.stderr
    assert message in done.stderr


def test_a_packages_driver_may_have_an_argument(run_python, tmp_path):
    path = copy_of("pjrt", tmp_path / "lib", "of_the_package")
    lost = tmp_path / "is:not.so"
    environment = package(tmp_path / "site", path) | {"LTC_DEVICE": f"board:{lost}"}
    done = run_python(ADD, returncode=1, **environment)
    assert f"cannot use the PJRT plugin {lost}: " in done.stderr


def test_an_argument_that_a_driver_does_not_take_is_an_error(run_python):
    done = run_python(ADD, returncode=1, LTC_DEVICE="null:/dev/board")
    assert "the driver null takes nothing behind a colon" in done.stderr
    assert "LTC_DEVICE has null:/dev/board" in done.stderr


# A plugin that serves as many functions as it must, with a fault by its macro.
SOURCE = r"""
#include <ltc/plugin.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void error_read(const ltc_error *error, ltc_error_info *info) {}
static void error_free(ltc_error *error) {}
static ltc_error *device_count(uint32_t *count) { *count = 1; return 0; }
static int device;
static ltc_error *device_open(uint32_t ordinal, const ltc_property *options,
                              size_t count, ltc_device **opened) {
  *opened = (ltc_device *)&device;
  return 0;
}
static void device_close(ltc_device *device) {}
static const ltc_property *properties(ltc_device *device, size_t *count) {
  *count = 0;
  return 0;
}
static ltc_error *buffer_alloc(ltc_device *d, size_t n, ltc_buffer **b) { return 0; }
static void buffer_free(ltc_device *d, ltc_buffer *b) {}
static ltc_error *buffer_write(ltc_device *d, ltc_queue *q, ltc_buffer *b, size_t n,
                               ltc_bytes data) { return 0; }
static ltc_error *buffer_read(ltc_device *d, ltc_queue *q, ltc_buffer *b, size_t n,
                              void *data, size_t bytes) { return 0; }
static void memory(ltc_device *d, ltc_memory *out, int32_t reset) {}
static ltc_error *program_load(ltc_device *d, ltc_bytes bytes, ltc_program **p) {
  return 0;
}
static void program_free(ltc_device *d, ltc_program *p) {}
static ltc_error *program_run(ltc_device *d, ltc_queue *q, ltc_program *p,
                              const ltc_launch *l) { return 0; }

static ltc_plugin table = {
    .struct_size = LTC_PLUGIN_REQUIRED_SIZE, .name = "bad", .error_read = error_read,
    .error_free = error_free, .device_count = device_count, .device_open = device_open,
    .device_close = device_close, .properties = properties,
    .buffer_alloc = buffer_alloc, .buffer_free = buffer_free,
    .buffer_write = buffer_write, .buffer_read = buffer_read, .memory = memory,
    .program_load = program_load, .program_free = program_free,
    .program_run = program_run};

#ifdef CRASHES_AT_LOAD
__attribute__((constructor)) static void load(void) { raise(SIGSEGV); }
#endif
#ifdef NEEDS_WHAT_IS_NOT_THERE
void not_there(void);
#endif

#ifdef NO_SYMBOL
int other;
#else
const ltc_plugin *ltc_plugin_query(uint32_t abi_major, const ltc_host *host) {
  FAULT;
  return &table;
}
#endif
"""

BAD = {
    "no symbol": (["-DNO_SYMBOL"], "it has no symbol ltc_plugin_query"),
    "another ABI": (["-DFAULT=return 0"], "it does not serve ABI major 1"),
    "a short table": (
        ["-DFAULT=table.struct_size -= sizeof(void *)"],
        "its table says that it has 120 bytes, and 128 are the least",
    ),
    "no size": (
        ["-DFAULT=table.struct_size = 0"],
        "its table says that it has 0 bytes",
    ),
    "a NULL": (["-DFAULT=table.buffer_read = 0"], "its table has no buffer_read"),
    "a strange name": (['-DFAULT=table.name = "Bad"'], "its name is not of the form"),
    "half a queue": (
        [
            "-DFAULT=table.struct_size = sizeof(table);"
            "table.queue_create = (void *)raise"
        ],
        "one of queue_create and queue_free, and needs both or none",
    ),
    "a crash in query": (
        ["-DFAULT=raise(SIGSEGV)"],
        "it crashes when it is loaded and asked for its table: Segmentation fault",
    ),
    "a crash at load": (
        ["-DCRASHES_AT_LOAD", "-DFAULT="],
        "it crashes when it is loaded",
    ),
    "an abort": (["-DFAULT=abort()"], "asked for its table: Aborted"),
    "an end of the process": (["-DFAULT=_exit(3)"], "with exit status 3"),
    "a missing symbol": (
        ["-DNEEDS_WHAT_IS_NOT_THERE", "-DFAULT=not_there()"],
        "undefined symbol: not_there",
    ),
    "no target": (["-DFAULT="], "its device has no property target"),
}

TRY = """
import sys
import torch
import torch_ltc

for path in sys.stdin.read().split():
    torch_ltc.settings.device = path
    try:
        torch.ones(2).to("lazy").tolist()
        print("works")
    except RuntimeError as error:
        print(str(error).splitlines()[0])
torch_ltc.settings.device = "cpu"
print((torch.ones(2).to("lazy") + 1).tolist())
"""


def build(folder, name, flags):
    path = folder / f"{name.replace(' ', '_')}.so"
    source = folder / "plugin.c"
    source.write_text(SOURCE)
    include = f"-I{ROOT / 'include'}"
    command = [COMPILER, "-shared", "-fPIC", include, *flags, source, "-o", path]
    subprocess.run(command, check=True)
    return path


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_bad_plugins_are_named_and_the_process_goes_on(run_python, tmp_path):
    paths = [build(tmp_path, name, flags) for name, (flags, _) in BAD.items()]
    code = TRY.replace("sys.stdin.read()", repr(" ".join(map(str, paths))))
    lines = run_python(code).stdout.splitlines()
    assert lines[-1] == "[2.0, 2.0]"
    for (name, (_, message)), path, line in zip(
        BAD.items(), paths, lines[:-1], strict=True
    ):
        assert f"cannot use the driver {path}" in line, name
        assert message in line, name


@pytest.mark.slow
@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_a_plugin_that_hangs_is_named(run_python, tmp_path):
    path = build(tmp_path, "hangs", ["-DFAULT=pause()"])
    code = TRY.replace("sys.stdin.read()", repr(str(path)))
    lines = run_python(code).stdout.splitlines()
    assert "it does not answer" in lines[0]
    assert lines[1] == "[2.0, 2.0]"
