# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op that has a lowering has a lit test that shows it."""

import re
import subprocess


def test_every_row_is_shown_by_a_lit_test(root, build):
    listed = subprocess.run(
        [build / "bin" / "ltc-opt", "--list-rows"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = set(listed.stdout.split())
    assert len(rows) > 100, "ltc-opt lists no table"
    shown = set()
    for test in (root / "tests/lit").rglob("*.mlir"):
        shown.update(re.findall(r'ltc\.op "(\w+::[\w.]+)"', test.read_text()))
    untested = sorted(rows - shown)
    assert not untested, f"add them to tests/lit/ops: {untested}"
