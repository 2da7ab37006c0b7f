# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many processes on one cache directory, killed, on spoilt files and full disks.

The processes are tests/unit/cache_probe: the real compiler and CPU driver, and no
torch to import, so that a round takes a fraction of a second. Each checks every
value it computes.
"""

import contextlib
import os
import platform
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import torch_ltc

PROBE = Path(torch_ltc.__file__).parents[2] / "tests" / "cache_probe"
GRAPHS = 6
TARGETS = ("", "x86-64-v2") if platform.machine() == "x86_64" else ("",)

if not PROBE.exists():
    pytest.skip(f"{PROBE} is not built", allow_module_level=True)


def start(folder, target="", first=0, count=GRAPHS, **options):
    environment = os.environ | {
        "LTC_CACHE": "rw",
        "LTC_CACHE_DIR": str(folder),
        "LTC_CPU_TARGET": target,
        "LTC_DYNAMIC": "off",  # the probe's graphs differ in their sizes
        "LTC_LOG": "off",
    }
    return subprocess.Popen(
        [PROBE, str(first), str(count)],
        env=environment | options.pop("env", {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process):
    """Return which graphs a process compiled, after it has run to its end."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (process.returncode, out, err)
    *compiled, last = out.split()
    assert last == "done", out
    return [int(number) for number in compiled]


def spoil(path, chance):
    """Damage a file as disks, tools and people do; say how."""
    data = bytearray(path.read_bytes())
    kind = chance.choice(["flip", "cut", "grow", "empty", "other", "folder", "gone"])
    if not data:  # an earlier round's, which nobody has asked for since
        kind = "gone"
    if kind == "flip":
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[chance.randrange(len(data)) :]
    elif kind == "grow":
        data += chance.randbytes(chance.randint(1, 99))
    elif kind == "empty":
        data.clear()
    elif kind == "other":
        sibling = chance.choice(sorted(path.parent.glob("*.ltc")))
        if sibling.is_file():
            data = sibling.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "gone":
        path.write_bytes(data)
    return kind


def run_round(folder, chance, processes, dynamic=("off",)):
    """Damage some entries, run many processes, kill some; check the survivors.

    Return the graphs they compiled, with the target and the setting of each.
    """
    for path in sorted(folder.glob("*.ltc")):
        if path.is_file() and chance.random() < 0.4:
            spoil(path, chance)
    running = []
    for number in range(processes):
        target = TARGETS[number % len(TARGETS)]
        setting = chance.choice(dynamic)
        first = 0 if setting == "off" else chance.randrange(GRAPHS)
        process = start(folder, target, first, env={"LTC_DYNAMIC": setting})
        running.append(((target, setting), process))
    doomed = [each for each in running if chance.random() < 0.4]
    for _, process in doomed:
        time.sleep(chance.random() * 0.1)
        process.kill()
    compiled = []
    for how, process in running:
        if (how, process) in doomed:
            process.communicate()
        else:
            compiled += [(*how, graph) for graph in finish(process)]
    fixed = [graph for graph in compiled if graph[1] == "off"]
    if len(dynamic) == 1:
        assert len(fixed) == len(set(fixed)), "a graph was compiled twice"
    return compiled


@pytest.mark.skipif(len(TARGETS) < 2, reason="names x86 CPUs")
def test_cpus_have_entries_of_their_own(tmp_path):
    for target in TARGETS:
        assert finish(start(tmp_path, target)) == list(range(GRAPHS))
    for target in TARGETS:
        assert finish(start(tmp_path, target)) == []
    targets = [
        torch_ltc.cache.read(entry.key, tmp_path)["target"].split(":")
        for entry in torch_ltc.cache.entries(tmp_path)
    ]
    assert len(targets) == GRAPHS * len(TARGETS)
    assert [cpu for _, _, cpu, _ in targets].count("x86-64-v2") == GRAPHS
    features = {features for *_, features in targets}
    assert len(features) == 2 and "+sse4.2" in min(features, key=len)


def test_an_unknown_cpu_is_an_error(tmp_path):
    process = start(tmp_path, "pentium4711")
    told, _ = process.communicate()
    assert process.returncode == 1
    assert "LTC_CPU_TARGET=pentium4711 names no CPU" in told


@pytest.mark.parametrize(
    ("rounds", "processes"),
    [
        (4, 4),
        pytest.param(30, 8, marks=pytest.mark.slow),
        pytest.param(200, 8, marks=pytest.mark.long),
    ],
)
def test_killed_processes_and_spoilt_files(tmp_path, rounds, processes):
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    compiled = [run_round(tmp_path, chance, processes) for _ in range(rounds)]
    assert any(compiled)
    # One quiet process a target mends what is left, and leaves all of it good.
    for target in TARGETS:
        finish(start(tmp_path, target))
        assert finish(start(tmp_path, target)) == []
    good = [fault for _, fault in torch_ltc.cache.verify(tmp_path) if not fault]
    assert len(good) == GRAPHS * len(TARGETS)


@pytest.mark.parametrize(
    ("rounds", "processes"),
    [
        (3, 4),
        pytest.param(30, 8, marks=pytest.mark.slow),
        pytest.param(200, 8, marks=pytest.mark.long),
    ],
)
def test_programs_for_all_sizes_among_killed_processes(tmp_path, rounds, processes):
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(rounds):
        run_round(tmp_path, chance, processes, dynamic=("auto", "auto", "off"))
    # What is left, or mended, serves sizes that no process has had.
    auto = {"LTC_DYNAMIC": "auto"}
    for target in TARGETS:
        finish(start(tmp_path, target, count=12, env=auto))
        assert finish(start(tmp_path, target, first=50, env=auto)) == []
        assert len(finish(start(tmp_path, target, first=50))) == GRAPHS


@pytest.mark.parametrize(
    "rounds",
    [
        2,
        pytest.param(15, marks=pytest.mark.slow),
        pytest.param(100, marks=pytest.mark.long),
    ],
)
def test_files_that_are_spoilt_while_they_are_read(tmp_path, rounds):
    chance = random.Random()
    for _ in range(rounds):
        running = [start(tmp_path) for _ in range(4)]
        while any(process.poll() is None for process in running):
            for path in sorted(tmp_path.glob("*.ltc")):
                with contextlib.suppress(OSError):
                    if path.is_dir():
                        path.rmdir()
                    elif chance.random() < 0.3:
                        with path.open("r+b") as file:
                            file.seek(chance.randrange(path.stat().st_size + 1))
                            file.write(chance.randbytes(2))
                    elif chance.random() < 0.1:
                        os.truncate(path, chance.randrange(path.stat().st_size + 1))
            time.sleep(0.005)
        for process in running:
            finish(process)


def resources(process):
    """Return the memory maps, open files and resident KiB of a process."""
    proc = Path("/proc") / str(process.pid)
    maps = (proc / "maps").read_text().count("\n")
    resident = re.search(r"VmRSS:\s+(\d+)", (proc / "status").read_text())
    files = len(list((proc / "fd").iterdir()))
    return maps, files, int(resident[1]) if resident else 0


# Room for some 13 % of them: what a process holds is flat from there on.
@pytest.mark.parametrize(
    ("count", "room"),
    [
        pytest.param(1_000, 2 << 20, marks=pytest.mark.slow),
        pytest.param(20_000, 32 << 20, marks=pytest.mark.long),
    ],
)
def test_thousands_of_graphs_in_one_process(tmp_path, count, room):
    environment = {"LTC_CACHE_MEMORY_BYTES": str(room)}
    process = start(tmp_path, count=count, env=environment)
    held = []
    compiled = 0
    for compiled, _ in enumerate(process.stdout, 1):
        # After the last one the process may be ending, which takes memory too.
        if compiled % (count // 20) == 0 and compiled < count:
            held.append(resources(process))
            print(compiled, held[-1])
    assert process.wait() == 0 and compiled == count + 1  # and "done"
    maps, files, resident = map(max, zip(*held, strict=True))
    # Linux gives a process 65,530 maps.
    assert maps < 4096 and files < 20 and resident < 400 * 1024
    half = [row[2] for row in held[len(held) // 2 :]]
    assert max(half) < 1.15 * half[0]
    # From disk again, the same is over soon and holds as little.
    assert finish(start(tmp_path, count=count)) == []


@contextlib.contextmanager
def tiny_disk(tmp_path, size):
    """Mount a file system of a few pages, or skip."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    if not mount or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk(tmp_path):
    with tiny_disk(tmp_path, "16k") as folder:
        running = [start(folder, count=12) for _ in range(3)]
        compiled = [finish(process) for process in running]
        # Some found room, the others are compiled by whoever needs them.
        kept = torch_ltc.cache.entries(folder)
        assert 0 < len(kept) < 12
        assert all(fault is None for _, fault in torch_ltc.cache.verify(folder))
        assert not list(folder.glob(".writing-*"))
        assert max(len(graphs) for graphs in compiled) >= 12 - len(kept)
        told = start(folder, first=20, count=3, env={"LTC_LOG": "warn"})
        _, errors = told.communicate(timeout=60)
        assert errors.count("\n") == 1 and "No space left on device" in errors


def test_a_directory_that_cannot_be_written(tmp_path):
    finish(start(tmp_path, count=2))
    before = {path.name for path in tmp_path.iterdir()}
    with tiny_disk(tmp_path, "64k") as folder:
        for path in tmp_path.glob("*.ltc"):
            shutil.copy(path, folder)
        remount = ["mount", "-o", "remount,ro", folder]
        if subprocess.run(remount, capture_output=True).returncode:
            pytest.skip("the tmpfs cannot be made read-only")
        # What is there is used; the rest is compiled, and told once.
        process = start(folder, count=4, env={"LTC_LOG": "warn"})
        out, errors = process.communicate(timeout=60)
        assert out.split() == ["2", "3", "done"]
        assert errors.count("\n") == 1 and "Read-only file system" in errors
        assert {path.name for path in folder.iterdir()} == before - {"lock", "tiny"}
