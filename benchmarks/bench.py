# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time lazy against eager: `make bench`.

Each contender runs a workload in a process of its own; timed rounds take turns,
so that whatever else the machine does meets all of them. A ratio is taken round
by round, against eager's round beside it. Outputs are compared first.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import chart
import report
from coordinator import measure

HERE = Path(__file__).resolve().parent


def git_revision():
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def describe_machine():
    """Return what a reader must know to judge the figures."""
    import torch

    with open("/proc/cpuinfo") as lines:
        model = next((x for x in lines if x.startswith("model name")), ": unknown")
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "revision": git_revision(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cpu": model.split(":", 1)[1].strip(),
        "threads": torch.get_num_threads(),
    }


def parse_options():
    # Names only: the contenders' and workloads' modules import torch.
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    out = HERE.parent / "build" / "bench"
    parser.add_argument("--only", nargs="+", metavar="WORKLOAD")
    parser.add_argument("--contenders", nargs="+", default=["lazy"], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="4 short rounds")
    parser.add_argument("--json", type=Path, default=out / "bench.json")
    parser.add_argument("--chart", type=Path, default=out / "bench.svg")
    parser.add_argument("--compare", type=Path, metavar="OLD.json")
    return parser.parse_args()


def main():
    options = parse_options()
    from workloads import WORKLOADS

    rounds, seconds = (4, 0.1) if options.quick else (options.rounds, 0.4)
    rows, differences = [], []
    for workload in options.only or WORKLOADS:
        print(f"{workload} ...", file=sys.stderr, flush=True)
        new_rows, new_differences = measure(
            workload, options.contenders, rounds=rounds, round_seconds=seconds
        )
        rows += new_rows
        differences += new_differences

    result = {"machine": describe_machine(), "rows": rows, "outputs": differences}
    print(report.table(result))
    if options.compare:
        old = json.loads(options.compare.read_text())
        print(report.comparison(old, result))
    for path, content in [
        (options.json, json.dumps(result, indent=1) + "\n"),
        (options.chart, chart.draw(rows)),
    ]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        print(f"wrote {path}")
    wrong = [d for d in differences if not d["difference"] < d["bound"]]
    if wrong:
        sys.exit(f"bench: {len(wrong)} outputs differ from eager's, see above")


if __name__ == "__main__":
    main()
