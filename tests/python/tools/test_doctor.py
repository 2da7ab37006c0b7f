# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m torch_ltc doctor: each problem with its remedy, and never a symbol."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch_ltc import libraries
from torch_ltc.commands import doctor, doctor_checks

PACKAGE = Path(torch_ltc.__file__).parent


def command(*arguments, path=None, status=0, **environment):
    """Run the package's command in a process of its own."""
    environment = os.environ | environment
    if path:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-m", "torch_ltc", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def probe(status=0, errors="", **said):
    settings = {
        "device": "cpu",
        "cache": "off",
        "cache_trust": "",
        "cache_max_bytes": 2**32,
    }
    whole = {"settings": settings, "result": 234.2, "counts": {}, "cache": ""}
    whole |= said
    return doctor_checks.Probe(whole, status, errors)


def problems(found):
    return {each.text: each.remedy for each in found if each.state == "problem"}


def only(check, **arguments):
    """Return the only problem that a check finds, as text and remedy."""
    (row,) = problems(getattr(doctor_checks, f"_{check}")(probe(**arguments))).items()
    return row


def test_where_all_is_well_it_says_so():
    said = command("doctor", LTC_CACHE="off", OMP_NUM_THREADS="1")
    assert said.endswith("no problem\n")
    for check in ("PyTorch", "libraries", "device", "processor", "compiler", "cache"):
        assert f" {check} " in said


@pytest.mark.slow
def test_json_and_the_exit_code_are_for_scripts():
    said = json.loads(command("doctor", "--json", status=1, LTC_CACHE_DRI="/x"))
    assert (said["format"], said["version"]) == ("torch_ltc.diagnosis", 1)
    found = [row for row in said["checks"] if row["state"] == "problem"]
    assert [row["check"] for row in found] == ["environment"]
    assert found[0]["text"] == "LTC_CACHE_DRI is no setting and is ignored"
    assert found[0]["remedy"].startswith("LTC_CACHE_DIR")


@pytest.mark.slow
def test_alone_the_package_lists_its_commands():
    said = command()
    for name in ("cache", "doctor", "fpcmp", "migrate", "profile"):
        assert name in said


@pytest.fixture
def broken(tmp_path):
    """A package whose runtime library has none of the symbols that others want."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-22")
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "torch_ltc", ignore=shutil.ignore_patterns("lib"))
    shutil.copytree(PACKAGE / "lib", site / "torch_ltc" / "lib", symlinks=False)
    runtime = site / "torch_ltc" / "lib" / "libltc_runtime.so"
    runtime.unlink()
    source = tmp_path / "empty.c"
    source.write_text("int nothing;\n")
    name = "-Wl,-soname,libltc_runtime.so"
    subprocess.run([compiler, "-shared", name, source, "-o", runtime], check=True)
    info = site / "torch_ltc-0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch_ltc\nVersion: 0\n"
    )
    (info / "entry_points.txt").write_text(
        "[torch.backends]\ntorch_ltc = torch_ltc:_autoload\n"
    )
    return site


@pytest.mark.slow
def test_libraries_that_cannot_be_loaded_are_a_problem_in_words(broken):
    said = command("doctor", path=broken, status=1, LTC_CACHE_DRI="/x")
    assert "undefined symbol" not in said
    assert "parts of this installation are of different builds" in said
    assert libraries.REINSTALL in said
    assert "LTC_CACHE_DRI is no setting" in said  # the rest is looked at too
    rows = json.loads(command("doctor", "--json", path=broken, status=1))["checks"]
    (row,) = [row for row in rows if row["check"] == "libraries"]
    assert "undefined symbol" in row["detail"]  # for who can read it


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/a/b/libx.so: undefined symbol: _ZN3c10", "libx.so was built against other"),
        ("/a/libx.so: undefined symbol: _ZN3c103Foo", "(_ZN3c103Foo is missing)"),
        (
            "/a/libx.so: undefined symbol: _ZNK3ltc5Graph4hashEv",
            "parts of this installation are of different builds (_ZNK3ltc5Graph4hash",
        ),
        ("/a/liby.so.1: version `GLIBCXX_3.4.99' not found", "liby.so.1 was built"),
        ("libz.so: cannot open shared object file", "libz.so: cannot open"),
    ],
)
def test_the_loaders_words(text, words):
    assert words in libraries.in_words(text)


def test_a_process_that_ends_by_a_signal():
    text, remedy = only("libraries", status=-4, settings={})
    assert text == "loading them ends the process with SIGILL"
    assert libraries.REINSTALL in remedy


def test_a_device_that_fails_computes_wrong_or_hangs():
    failing = probe(status=1, errors="RuntimeError: no board")
    del failing.said["result"]
    assert "cpu does not work: RuntimeError: no board" in problems(
        doctor_checks._device(failing)
    )
    assert "where 234.2 is right" in only("device", result=1.0)[0]


def test_a_compiler_that_fails():
    text, _ = only("compiler", counts={"codegen.fallback": 1})
    assert "ran as library calls" in text


def cached(place, **more):
    settings = probe().settings | {"cache": "rw"} | more
    return {"settings": settings, "cache": str(place)}


def test_a_cache_of_others(tmp_path):
    tmp_path.chmod(0o777)
    text, remedy = only("cache", **cached(tmp_path))
    assert "others may write to" in text and "chmod go-w" in remedy
    assert not problems(
        doctor_checks._cache(probe(**cached(tmp_path, cache_trust="@x")))
    )


def test_a_cache_with_bad_entries(tmp_path):
    tmp_path.chmod(0o700)
    text, remedy = only("cache", faults=[("ab" * 16, "it is cut")], **cached(tmp_path))
    assert text == f"1 bad entries, such as {'ab' * 16}: it is cut"
    assert remedy == "ltc-cache verify --remove"


def test_a_cache_that_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("")
    assert "is no directory" in only("cache", **cached(tmp_path / "file"))[0]


@pytest.mark.slow
def test_a_real_cache_is_counted_and_read(tmp_path):
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    (place / ("0" * 32 + ".ltc")).write_bytes(b"LTCARTI\n" + bytes([1]) + bytes(31))
    said = command("doctor", LTC_CACHE="rw", LTC_CACHE_DIR=str(place))
    assert "1 entries of other versions, which nobody here reads" in said
    (place / ("1" * 32 + ".ltc")).write_bytes(b"no entry")
    said = command("doctor", status=1, LTC_CACHE="rw", LTC_CACHE_DIR=str(place))
    assert f"2 entries, 0 of 4295 MB in {place}" in said
    assert "1 bad entries" in said and "the header is missing" in said


def test_plugins(monkeypatch):
    monkeypatch.setenv("LTC_DEVICE", "emulater")
    text, remedy = only("plugins")
    known = "there are cpu, cuda, emulator"
    assert text.startswith(f"LTC_DEVICE=emulater is no driver; {known}")
    assert remedy.startswith("LTC_DEVICE=emulator")
    monkeypatch.setenv("LTC_DEVICE", "cpu,emulater")
    assert only("plugins")[0].startswith("LTC_DEVICE=emulater is no driver")
    monkeypatch.setenv("LTC_DEVICE", "cpu,emulator,pjrt:/no/matter,/a:b/board.so:1")
    assert not problems(doctor_checks._plugins(probe()))
    monkeypatch.setenv("LTC_DEVICE", "cpu")
    monkeypatch.setenv("LTC_PLUGIN_PATH", "/nowhere/at/all")
    assert only("plugins")[0] == "/nowhere/at/all is no directory"


def test_more_threads_than_cores(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 999)
    text, remedy = only("threads")
    assert text.startswith("999 threads on ") and remedy.startswith("OMP_NUM_THREADS=")


@pytest.mark.slow
def test_a_value_that_is_refused_is_a_problem():
    said = command("doctor", status=1, LTC_RNG="fats")
    assert "LTC_RNG: 'fats' is no value of setting rng" in said


def test_a_version_that_is_not_served(monkeypatch):
    monkeypatch.setattr(libraries, "VERSION", "1.0")
    text, remedy = only("PyTorch".lower())
    assert "this build serves" in text and "pip install 'torch==" in remedy


def test_the_variables_are_those_of_the_settings():
    rows = torch_ltc.settings.table()
    assert doctor_checks.setting_variables() == [f"LTC_{r.name.upper()}" for r in rows]


def test_a_probe_that_hangs_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor, "_LONGEST_S", 0.01)
    found = doctor._probe()
    assert "took more than" in next(iter(problems(doctor_checks._libraries(found))))


def test_run_prints_and_returns_what_a_shell_wants(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "_probe", probe)
    monkeypatch.setattr(doctor_checks, "all_findings", lambda _: [])
    assert doctor.run(argparse.Namespace(json=False)) == 0
    assert capsys.readouterr().out == "no problem\n"
