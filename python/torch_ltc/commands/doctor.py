# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command ``python -m torch_ltc doctor``: what is wrong here, and what to do.

It works where the libraries cannot be loaded: they are loaded in another process.
"""

import json
import subprocess
import sys
from dataclasses import asdict

from torch_ltc.commands import doctor_checks

# What a working installation can do, and what only its libraries know.
_PROBE = """
import json, sys
import torch
from torch_ltc import cache, settings, startup
c = startup.start()
rows = {row.name: row.value for row in settings.table()}
print(json.dumps({"settings": rows, "cache": c.cache_directory()}), flush=True)
with settings.scope(cache="off", tiers="off", dump="", verify=False, sync=False):
    x = torch.arange(6.0).reshape(2, 3).to("lazy")
    right = (x.exp().sum(1) @ torch.ones(2).to("lazy")).item()
print(json.dumps({"result": right, "counts": torch.lazy.metrics()}), flush=True)
if rows["cache"] != "off" and c.cache_directory():
    faults = []
    for entry, fault in list(cache.verify())[-int(sys.argv[1]):]:
        faults += [(entry.key, fault)] if fault else []
    print(json.dumps({"faults": faults}), flush=True)
"""

# Entries of the cache that are read; the last used ones.
_MOST_ENTRIES = 2000
_LONGEST_S = 300


def define(parser):
    """Give an argparse parser its arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(arguments):
    """Look at everything; return 0, or 1 if there is a problem."""
    findings = doctor_checks.all_findings(_probe())
    problems = [each for each in findings if each.state == "problem"]
    if arguments.json:
        rows = [asdict(each) for each in findings]
        print(
            json.dumps({"format": "torch_ltc.diagnosis", "version": 1, "checks": rows})
        )
    else:
        for each in findings:
            print(each)
        count = len(problems)
        print(f"{count} problem{'s' * (count != 1)}" if count else "no problem")
    return 1 if problems else 0


def _probe():
    """Return what the child process said, and how it ended."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, str(_MOST_ENTRIES)],
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return doctor_checks.Probe({}, None, f"it took more than {_LONGEST_S} s")
    said = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            said |= json.loads(line)
    return doctor_checks.Probe(said, done.returncode, done.stderr)
