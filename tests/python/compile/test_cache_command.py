# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ltc-cache and the module torch_ltc.cache."""

import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch_ltc import cache
from torch_ltc.commands import cache_command


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Keep three graphs in a directory, once: after that they are in memory."""
    path = tmp_path_factory.mktemp("kept")
    with torch_ltc.settings.scope(cache="rw", cache_dir=str(path), dynamic="off"):
        for size in (3, 4, 5):
            x = torch.arange(float(size))
            assert (x.to("lazy") * 2 + size).tolist() == (x * 2 + size).tolist()
    assert len(cache.entries(path)) == 3
    return path


@pytest.fixture
def folder(kept, tmp_path):
    """Return a copy of that directory."""
    return Path(shutil.copytree(kept, tmp_path / "cache"))


@pytest.fixture
def run(monkeypatch, capsys, folder):
    """Run ltc-cache on that directory; return its status and what it printed."""

    def run(*arguments):
        words = ["ltc-cache", "--dir", str(folder), *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        capsys.readouterr()
        status = cache_command.main()
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def spoil(folder, entry):
    path = folder / f"{entry.key}.ltc"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def test_list_and_show(run, folder):
    status, text = run("ls")
    entries = cache.entries(folder)
    assert status == 0
    lines = text.splitlines()
    assert [line[:32] for line in lines[1:-1]] == [entry.key for entry in entries]
    assert lines[-1].startswith("3 entries, ") and lines[-1].endswith(str(folder))
    status, text = run("show", entries[0].key[:12])
    assert status == 0
    assert f"key            {entries[0].key}\n" in text
    assert "target         cpu:" in text and "aten::mul.Tensor" in text
    status, text = run("show", "xyz")
    assert status == 2 and "0 keys begin with 'xyz'" in text


def test_verify_finds_and_removes_bad_entries(run, folder):
    status, text = run("verify")
    assert (status, text) == (0, "3 good, 0 bad\n")
    bad = cache.entries(folder)[1]
    spoil(folder, bad)
    status, text = run("verify")
    assert status == 1
    assert text.startswith(bad.key) and text.endswith("2 good, 1 bad\n")
    status, text = run("show", bad.key)
    assert status == 2 and "the checksum is wrong" in text
    status, text = run("verify", "--remove")
    assert status == 1 and "; removed\n" in text
    assert run("verify") == (0, "2 good, 0 bad\n")


def test_prune_and_clear(run, folder):
    entries = cache.entries(folder)
    for days, entry in zip((9, 5, 1), entries, strict=True):
        used = time.time() - days * 86400
        os.utime(folder / f"{entry.key}.ltc", (used, used))
    assert run("prune")[0] == 2
    status, text = run("prune", "--days", 7)
    assert status == 0 and text.startswith("1 entry removed, ")
    assert [e.key for e in cache.entries(folder)] == [e.key for e in entries[1:]]
    run("prune", "--max-bytes", f"{(entries[2].bytes + 100) / 1024}K")
    assert [entry.key for entry in cache.entries(folder)] == [entries[2].key]
    assert run("clear")[1].startswith("1 entry removed, ")
    assert cache.entries(folder) == []
    with pytest.raises(SystemExit):
        run("prune", "--max-bytes", "much")


def test_a_bundle_moves_a_cache(run, folder, tmp_path):
    spoil(folder, cache.entries(folder)[0])
    good = sorted(entry.key for entry, fault in cache.verify(folder) if not fault)
    for name in ("one.tar", "two.tar", "packed.tar.gz"):
        assert run("export", tmp_path / name)[1] == f"2 entries in {tmp_path / name}\n"
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    run("clear")
    for name in ("one.tar", "packed.tar.gz"):
        assert run("import", tmp_path / name) == (0, "2 entries added\n")
        assert sorted(entry.key for entry in cache.entries(folder)) == good
    run("export", tmp_path / "single.tar", good[0][:10])
    with tarfile.open(tmp_path / "single.tar") as bundle:
        assert bundle.getnames() == [f"{good[0]}.ltc"]


def test_a_bundle_of_other_things_adds_nothing(run, folder, tmp_path):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    outside = tmp_path / "outside"
    outside.write_text("no entry")
    with tarfile.open(tmp_path / "odd.tar", "w") as bundle:
        bundle.add(outside, "../outside.ltc")
        bundle.add(tmp_path / "cache", "folder", recursive=False)
    status, text = run("import", tmp_path / "odd.tar")
    assert status == 1
    assert "skipped ../outside.ltc: no entry has such a name" in text
    assert "skipped folder: it is no file" in text and "0 entries added" in text
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert run("import", outside)[0] == 2


def test_it_runs_as_a_module(folder):
    command = [sys.executable, "-m", "torch_ltc", "cache", "--dir", str(folder), "ls"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "3 entries" in done.stdout
