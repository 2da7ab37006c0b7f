# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles that somebody has made to do more than add entries."""

import gzip
import io
import os
import stat
import tarfile

import pytest
import torch
import torch_ltc
from torch_ltc import cache


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """Return the name and the bytes of a good entry."""
    path = tmp_path_factory.mktemp("made")
    with torch_ltc.settings.scope(cache="rw", cache_dir=str(path), dynamic="off"):
        x = torch.arange(7.0)
        assert (x.to("lazy") * 3 - 7).tolist() == (x * 3 - 7).tolist()
    (made,) = path.glob("*.ltc")
    return made.name, made.read_bytes()


@pytest.fixture
def folder(tmp_path):
    """Return an empty directory, with a file beside it that is not its business."""
    (tmp_path / "precious").write_text("text")
    folder = tmp_path / "around" / "cache"
    folder.mkdir(parents=True)
    return folder


def tar(path, *members, mode="w"):
    """Write a tar file of ``(name, data, fields)``."""
    with tarfile.open(path, mode) as bundle:
        for name, data, fields in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for field, value in fields.items():
                setattr(member, field, value)
            bundle.addfile(member, io.BytesIO(data))
    return path


def everything_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


NAMES = [
    "../{name}",
    "../../precious",
    "/tmp/{name}",
    "{folder}/../{name}",
    "./{name}",
    "a/{name}",
    "{name}/",
    "..",
    "",
    "{name}.gz",
    "{NAME}",
    "lock",
    ".writing-0",
    "{name}\n",
    "x" * 300,
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere(folder, tmp_path, entry, name):
    good, data = entry
    name = name.format(name=good, NAME=good.upper(), folder=folder)
    file = tar(tmp_path / "odd.tar", (name, data, {}))
    before = everything_in(tmp_path)
    keys, skipped = cache.import_bundle(file, folder)
    assert keys == [] and len(skipped) == 1
    assert everything_in(tmp_path) == before
    assert (tmp_path / "precious").read_text() == "text"


KINDS = {
    "link": {"type": tarfile.SYMTYPE, "linkname": "../../precious"},
    "absolute link": {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
    "hard link": {"type": tarfile.LNKTYPE, "linkname": "../../precious"},
    "directory": {"type": tarfile.DIRTYPE},
    "pipe": {"type": tarfile.FIFOTYPE},
    "disk": {"type": tarfile.BLKTYPE, "devmajor": 8, "devminor": 0},
    "terminal": {"type": tarfile.CHRTYPE, "devmajor": 5, "devminor": 0},
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file(folder, tmp_path, entry, kind):
    name, data = entry
    other = "0" * 32 + ".ltc"
    file = tar(tmp_path / "odd.tar", (other, b"", KINDS[kind]), (name, data, {}))
    assert cache.import_bundle(file, folder) == (
        [name[:32]],
        [(other, "it is no file")],
    )
    assert everything_in(folder) == [name]


def test_a_link_and_then_a_file_through_it(folder, tmp_path, entry):
    name, data = entry
    link = {"type": tarfile.SYMTYPE, "linkname": str(tmp_path / "precious")}
    file = tar(tmp_path / "odd.tar", (name, b"", link), (name, data, {}))
    keys, skipped = cache.import_bundle(file, folder)
    assert keys == [name[:32]] and skipped == [(name, "it is no file")]
    assert not (folder / name).is_symlink() and (folder / name).read_bytes() == data
    assert (tmp_path / "precious").read_text() == "text"


def test_a_link_that_lies_in_the_directory(folder, tmp_path, entry):
    name, data = entry
    (folder / name).symlink_to(tmp_path / "precious")
    cache.import_bundle(tar(tmp_path / "good.tar", (name, data, {})), folder)
    assert not (folder / name).is_symlink() and (folder / name).read_bytes() == data
    assert (tmp_path / "precious").read_text() == "text"


def test_modes_and_owners_are_not_taken_over(folder, tmp_path, entry):
    name, data = entry
    fields = {"mode": 0o6777, "uid": 12345, "gid": 12345, "uname": "nobody"}
    cache.import_bundle(tar(tmp_path / "odd.tar", (name, data, fields)), folder)
    status = (folder / name).stat()
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_uid == os.geteuid()


def test_an_entry_under_the_name_of_another(folder, tmp_path, entry):
    name, data = entry
    other = "0" * 32 + ".ltc"
    keys, _ = cache.import_bundle(tar(tmp_path / "o.tar", (other, data, {})), folder)
    assert keys == [name[:32]] and everything_in(folder) == [name]


@pytest.mark.parametrize("change", ["cut", "longer", "flipped", "empty", "text"])
def test_content_that_is_no_entry(folder, tmp_path, entry, change):
    name, data = entry
    data = {
        "cut": data[:-1],
        "longer": data + b"more",
        "flipped": data[:99] + bytes([data[99] ^ 1]) + data[100:],
        "empty": b"",
        "text": b"#!/bin/sh\n" * 50,
    }[change]
    file = tar(tmp_path / "odd.tar", (name, data, {}))
    keys, skipped = cache.import_bundle(file, folder)
    assert keys == [] and [member for member, _ in skipped] == [name]
    assert everything_in(folder) == []


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_a_bundle_that_is_cut_short(folder, tmp_path, entry, kept):
    name, data = entry
    file = tar(tmp_path / "cut.tar", (name, data, {}))
    os.truncate(file, 512 + int(len(data) * kept))
    with pytest.raises(tarfile.ReadError):
        cache.import_bundle(file, folder)
    assert everything_in(folder) == []


def test_a_member_that_says_to_be_larger_than_it_is(folder, tmp_path, entry):
    name, data = entry
    file = tar(tmp_path / "odd.tar", (name, data, {}))
    header = tarfile.TarInfo(name)
    header.size = len(data) + 10**6
    file.write_bytes(header.tobuf() + file.read_bytes()[512:])
    with pytest.raises(tarfile.ReadError):
        cache.import_bundle(file, folder)
    assert everything_in(folder) == []


def test_zeros_without_end(folder, tmp_path):
    """A hundred kilobytes that stand for a hundred terabytes are not read."""
    header = tarfile.TarInfo("0" * 32 + ".ltc")
    header.size = 10**14
    file = tmp_path / "bomb.tar.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(header.tobuf())
        packed.write(bytes(2**24))
    keys, skipped = [], []
    with pytest.raises(tarfile.ReadError):  # it does end
        keys, skipped = cache.import_bundle(file, folder)
    assert keys == skipped == [] and everything_in(folder) == []


def test_what_is_there_and_good_stays(folder, tmp_path, entry):
    name, data = entry
    file = tar(tmp_path / "good.tar", (name, data, {}))
    cache.import_bundle(file, folder)
    before = (folder / name).stat()
    assert cache.import_bundle(file, folder) == ([name[:32]], [])
    after = (folder / name).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    (folder / name).write_bytes(b"bad")
    cache.import_bundle(file, folder)
    assert (folder / name).read_bytes() == data


def test_a_directory_of_others_takes_none(folder, tmp_path, entry):
    name, data = entry
    folder.chmod(0o777)
    file = tar(tmp_path / "good.tar", (name, data, {}))
    with pytest.raises(torch_ltc.Error, match=r"chmod o-w .*cache'"):
        cache.import_bundle(file, folder)
    assert everything_in(folder) == []
