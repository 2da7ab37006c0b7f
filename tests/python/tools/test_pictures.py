# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of a profile's page, which the documents show.

``LTC_UPDATE_DOCS=1 pytest -m slow tests/python/tools/test_pictures.py`` makes those
in docs/pictures anew, of a run of examples/profile_step.py on this machine.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 1000
MOST_BYTES = 60_000
# By the tab that each shows: its height.
TABS = {"Overview": 810, "Timeline": 520, "Syncs": 690, "Graphs": 720, "Kernels": 760}


def name_of(tab):
    return f"profile-{tab.lower()}.png"


def take_picture(page, tab, picture, width=WIDTH, *more):
    """Have a browser write what it shows of a tab; nothing may stand in its console."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", *more]
    words += ["--hide-scrollbars", f"--window-size={width},{TABS[tab]}"]
    words += ["--enable-logging=stderr", f"--user-data-dir={picture.parent}/user"]
    words += [f"--screenshot={picture}", f"{page.as_uri()}#{tab}"]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=True
    )
    assert "CONSOLE" not in done.stderr, done.stderr


def small(picture):
    """Return it with a palette; an octree's has the few rare colors of a legend."""
    whole = Image.open(picture).convert("RGB")
    octree = Image.Quantize.FASTOCTREE
    return whole.quantize(256, method=octree, dither=Image.Dither.NONE)


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("chromium"),
    reason="opens the page in a browser: apt-get install chromium",
)
def test_pictures_are_of_the_page(tmp_path):
    shutil.copy(ROOT / "examples" / "profile_step.py", tmp_path)
    # By its short name: the page shows the command.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    words = ["python", "profile_step.py", "--dir", "run"]
    environment = os.environ | {"PATH": path, "LTC_TIERS": "auto"}
    environment["OMP_NUM_THREADS"] = "1"  # nobody waits for another on a busy machine
    subprocess.run(words, cwd=tmp_path, env=environment, check=True)
    for tab, height in TABS.items():
        picture = tmp_path / name_of(tab)
        take_picture(tmp_path / "run" / "profile.html", tab, picture)
        made = small(picture)
        assert made.size == (WIDTH, height)
        assert len(made.convert("RGB").getcolors()) > 8  # not one color
        made.save(picture, optimize=True)
        assert picture.stat().st_size < MOST_BYTES
        if os.environ.get("LTC_UPDATE_DOCS"):
            PICTURES.mkdir(exist_ok=True)
            shutil.copyfile(picture, PICTURES / picture.name)


def test_each_picture_is_shown_and_small():
    shown = set()
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        shown |= set(re.findall(r"!\[[^]]+\]\(pictures/([^)]+)\)", text))
    assert shown == {name_of(tab) for tab in TABS}
    for name in shown:
        with Image.open(PICTURES / name) as picture:
            assert picture.width == WIDTH
        assert (PICTURES / name).stat().st_size < MOST_BYTES
