# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles that are damaged, or that others may write to, are refused."""

import os
import platform
import random
import struct
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch import nn
from torch.export import Dim, export
from torch_ltc import aot
from torch_ltc.aot.library import library

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bundles hold code for x86-64"
)
STORED = Path(__file__).parent / "stored"
HEADER = 64


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return self.linear(x).relu() + self.count


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "small.ltcpkg"
    program = export(Small(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("n")},))
    aot.compile(program, path, targets=["baseline"])
    return path


def refused(path, data):
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(torch_ltc.errors.InvalidArgumentError) as raised:
        aot.load(path)
    return str(raised.value)


def test_damage_is_told(bundle, tmp_path):
    good = bundle.read_bytes()
    path = tmp_path / "bad.ltcpkg"
    assert "no header" in refused(path, b"")
    assert "no header" in refused(path, good[:40])
    assert "does not begin" in refused(path, b"PK" + good[2:])
    assert "its header says" in refused(path, good[:-1])
    assert "its header says" in refused(path, good + b"\0")
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 64
    assert f"{path}: not a good bundle: its checksum" in refused(path, flipped)
    newer = struct.pack("<II", 99, 99)
    told = refused(path, good[:8] + newer + good[16:])
    assert "format version 99, and this library reads 1 to 3" in told
    assert "run it with the torch_ltc that made it, or a later one" in told


def test_a_later_version_that_this_one_knows_enough_of_is_read(bundle, tmp_path):
    good = bundle.read_bytes()
    path = tmp_path / "later.ltcpkg"
    path.write_bytes(good[:8] + struct.pack("<II", 99, 1) + good[16:])
    path.chmod(0o600)
    assert aot.load(path)(torch.zeros(2, 3)).shape == (2, 2)


def test_files_of_others_are_refused(bundle, tmp_path):
    path = tmp_path / "open.ltcpkg"
    path.write_bytes(bundle.read_bytes())
    path.chmod(0o666)
    with pytest.raises(torch_ltc.Error, match="written to by everybody: chmod o-w"):
        aot.load(path)
    with pytest.raises(torch_ltc.Error, match="no plain file"):
        aot.load(tmp_path)
    with pytest.raises(torch_ltc.Error, match="No such file"):
        aot.load(tmp_path / "absent")


def test_null_is_an_error_and_no_crash():
    assert not library().ltc_aot_open(None)
    assert library().ltc_aot_error_code() == 1
    assert b"null" in library().ltc_aot_error()
    assert not library().ltc_aot_has_target(None)


def resealed(data):
    """Give bytes the checksum that they should have."""
    return data[:32] + checksum(data[HEADER:]) + data[48:]


def checksum(data):
    """Compute include/ltc/hash.h over blocks of 4096 bytes, as bundle.cpp does."""
    mask = 2**64 - 1
    a, c = 0xA0761D6478BD642F, 0x8EBC6AF09C88C6E3
    b, d = 0xE7037ED1A0B428DB, 0x589965CC75374CC3
    first, second = a, b

    def mum(x, y):
        product = x * y
        return ((product ^ (product >> 64)) ^ x) & mask

    lane, other = first, second
    for at in range(0, len(data), 4096):
        block = data[at : at + 4096]
        tail = block[len(block) // 8 * 8 :]
        whole = len(block) // 8
        words = [len(block), *struct.unpack(f"<{whole}Q", block[: whole * 8])]
        words.append(int.from_bytes(tail, "little"))
        for word in words:
            lane = mum(lane ^ word, c)
            other = mum(other ^ word ^ d, first ^ lane)
    low = mum(lane ^ second, other ^ c)
    high = mum(other ^ d, lane ^ second ^ c)
    return struct.pack("<QQ", low, high)


def test_the_checksum_here_is_the_librarys(bundle):
    good = bundle.read_bytes()
    assert resealed(good) == good


def mutate(draw, data):
    """Change some bytes behind the header."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        place = draw.randrange(HEADER, len(data))
        kind = draw.randrange(3)
        if kind == 0:
            changed[place] ^= 1 << draw.randrange(8)
        elif kind == 1:
            place -= place % 8
            word = draw.choice((0, 1, 2**31, 2**32, 2**63, 2**64 - 1, len(data)))
            changed[place : place + 8] = struct.pack("<Q", word)
        else:
            other = draw.randrange(HEADER, len(data))
            size = min(draw.randrange(1, 64), len(data) - max(place, other))
            changed[place : place + size] = data[other : other + size]
    return bytes(changed[: len(data)])


def test_types_that_do_not_agree_are_told(bundle, tmp_path):
    good = bundle.read_bytes()
    path = tmp_path / "bad.ltcpkg"
    name = struct.pack("<Q", 3) + b"add"  # of the output, behind which is its dtype
    assert good.count(name) == 1
    dtype = good.index(name) + len(name)
    assert struct.unpack_from("<Q", good, dtype) == (8,)  # f32
    narrow = good[:dtype] + struct.pack("<Q", 2) + good[dtype + 8 :]
    assert "another type for an output" in refused(path, resealed(narrow))
    columns = good.index(b"\1\0\0\0\0\0\0\x002", dtype) + 8
    path.write_bytes(resealed(good[:columns] + b"1" + good[columns + 1 :]))
    with pytest.raises(torch_ltc.Error, match="other sizes than its program gives"):
        aot.load(path)(torch.zeros(4, 3))


FUZZ = """
import sys
sys.path.insert(0, {folder!r})
import test_damage
test_damage.fuzz({path!r}, {seed}, {rounds})
"""


def fuzz(path, seed, rounds):
    """Open bundles with wrong content and a right checksum; run none of them."""
    path = Path(path)
    good = path.read_bytes()
    draw = random.Random(seed)
    bad = path.with_suffix(".fuzzed")
    opened = 0
    for _ in range(rounds):
        bad.write_bytes(resealed(mutate(draw, good)))
        bad.chmod(0o600)
        handle = library().ltc_aot_open(os.fsencode(bad))
        if handle:
            opened += 1
            library().ltc_aot_close(handle)
        else:
            assert library().ltc_aot_error()
    assert 0 < opened < rounds


def run_fuzz(bundle, run_python, seed, rounds, timeout):
    here = os.path.dirname(__file__)
    code = FUZZ.format(folder=here, path=str(bundle), seed=seed, rounds=rounds)
    run_python(code, timeout=timeout)


def test_wrong_numbers_under_a_right_checksum_are_no_crash(bundle, run_python):
    run_fuzz(bundle, run_python, seed=1, rounds=60, timeout=120)


def test_wrong_steps_of_sizes_are_no_crash(tmp_path, run_python):
    path = tmp_path / "steps.ltcpkg"
    path.write_bytes((STORED / "format3_program9.ltcpkg").read_bytes())
    run_fuzz(path, run_python, seed=2, rounds=60, timeout=120)


@pytest.mark.long
def test_an_hour_of_wrong_numbers(bundle, run_python):
    for seed in range(60):
        run_fuzz(bundle, run_python, seed=100 + seed, rounds=3000, timeout=600)


WEIGHT = torch.tensor([[1.0, 0.5, 0.25], [-1.0, 2.0, 0.0]])


def of_format_1(loaded, x, count):
    return loaded(x), (x @ WEIGHT.T).relu() + count


def of_format_2(loaded, x, count):
    """Give an integer, which is how many rows are added."""
    rows = torch.zeros(2 + count, 2)
    return loaded(x, 2 + count), torch.cat([(x @ WEIGHT.T).relu() + count, rows])


def of_format_3(loaded, x, count):
    """Give the half of a size, which is added."""
    x = x.repeat(5, 1)
    return loaded(x), (x @ WEIGHT.T).relu() + count + 2


def test_a_bundle_of_each_format_is_stored():
    readers = {f"of_format_{path.stem[6]}" for path in STORED.glob("*.ltcpkg")}
    assert readers == {name for name in globals() if name.startswith("of_format_")}


@pytest.mark.parametrize("path", sorted(STORED.glob("*.ltcpkg")), ids=lambda p: p.stem)
def test_bundles_of_earlier_versions_run(path, tmp_path):
    """The window: what was written by format 1 is read by every later library.

    A change of the program format (LTC_PROGRAM_VERSION) that fails here needs a
    reader for the version before, or a new stored bundle and a line in docs/aot.md
    that says since when bundles are read.
    """
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o600)
    oldest_reader = struct.unpack_from("<II", path.read_bytes(), 8)[1]
    assert path.stem.startswith(f"format{oldest_reader}_")
    loaded = aot.load(copy)
    x = torch.tensor([[1.0, -2.0, 3.0]])
    for count in (1, 2):
        found, wanted = globals()[f"of_format_{oldest_reader}"](loaded, x, count)
        torch.testing.assert_close(found, wanted)
