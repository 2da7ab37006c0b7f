# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fetch versions of PyTorch to build for, beside the one that is installed.

    python cmake/fetch_torch.py 2.12.1 2.14.1   (or the version that is installed)

Each wheel is downloaded once, without what it depends on (0.2 GB, or 0.55 GB with
CUDA's kernels), and unpacked in LTC_TORCH_CACHE (~/.cache/torch_ltc/torch), where
it takes 0.6 to 1.2 GB. Prints the folders, as LTC_TORCH_DIRS takes them; exits with
status 3 and the reason where there is no room or no download in LIMIT seconds.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

NEEDED = 2 << 30  # bytes: the wheel and what is in it
LIMIT = 900
UNAVAILABLE = 3


def cache():
    """Return the folder that keeps what was fetched, for all checkouts."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("LTC_TORCH_CACHE") or default / "torch_ltc/torch")


def give_up(version, why):
    """Exit with the reason."""
    print(f"PyTorch {version} cannot be had: {why}", file=sys.stderr)
    sys.exit(UNAVAILABLE)


def download(version, folder):
    """Return the wheel for this interpreter."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--no-cache-dir", f"torch=={version}"]
    print(f"fetching PyTorch {version} ...", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        give_up(version, f"pip is not done after {LIMIT} s")
    wheels = list(Path(folder).glob("*.whl"))
    if done.returncode or not wheels:
        give_up(version, done.stderr.strip()[-500:])
    return wheels[0]


def usual():
    """Return the version that is installed, or the one that a build installs."""
    try:
        return metadata.version("torch").split("+")[0]
    except metadata.PackageNotFoundError:
        pinned = Path(__file__).with_name("requirements.txt").read_text()
        return re.search(r"^torch==(\S+)", pinned, re.MULTILINE)[1]


def fetch(version):
    """Return the folder with a PyTorch of this version."""
    try:
        installed = metadata.distribution("torch")
        if installed.version.split("+")[0] == version:
            return Path(installed.locate_file("torch"))
    except metadata.PackageNotFoundError:
        pass
    kept = cache() / f"{version}-{sys.implementation.cache_tag}"
    try:
        if not kept.exists():
            unpack(version, kept)
    except (OSError, zipfile.BadZipFile) as error:
        give_up(version, error)
    return kept / "torch"


def unpack(version, kept):
    """Download a version into this folder."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(kept.parent).free
    if free < NEEDED:
        give_up(version, f"{kept.parent} has {free >> 20} MiB, and needs 2 GiB")
    # Renamed when it is whole: two fetches, or one that ends early, do no harm.
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        with zipfile.ZipFile(download(version, folder)) as archive:
            archive.extractall(Path(folder, "site"))
        if not kept.exists():
            Path(folder, "site").rename(kept)


def main():
    """Fetch what the command line names."""
    print(";".join(str(fetch(version)) for version in sys.argv[1:] or [usual()]))


if __name__ == "__main__":
    main()
