# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time lazy against eager and other compilers: `make bench`.

Each contender runs a workload in a process of its own; timed rounds take turns,
so that whatever else the machine does meets all of them. A ratio is taken round
by round, against eager's round beside it. Outputs are compared first.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import chart
import growth
import limits
import page
import profile_cost
import report
import tracing
import vectors

HERE = Path(__file__).resolve().parent


def git_revision():
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def describe_machine(threads):
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
        "vectors": vectors.known(),
        "threads": threads,
        "load": f"{os.getloadavg()[1]:.1f}",
        "limits": {str(n): limits.measure(n) for n in sorted({1, threads})},
    }


def parse_options():
    # Names only: the contenders' and workloads' modules import torch.
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    out = HERE.parent / "build" / "bench"
    parser.add_argument(
        "workloads", nargs="*", help="default: the examples and chains of small ops"
    )
    parser.add_argument(
        "--all", action="store_true", help="all workloads and contenders"
    )
    parser.add_argument("--contenders", nargs="+", metavar="NAME")
    parser.add_argument(
        "--ablate", action="store_true", help="lazy without each optimization in turn"
    )
    parser.add_argument(
        "--tracing", action="store_true", help="instead: the host's time for one call"
    )
    parser.add_argument(
        "--profiling", action="store_true", help="instead: what a profile costs"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument(
        "--vectors", choices=vectors.ENVIRONMENT, help="do without longer ones"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--round-seconds", type=float, default=0.3)
    parser.add_argument("--small", action="store_true", help="sizes of a smoke test")
    parser.add_argument("--json", type=Path, default=out / "bench.json")
    parser.add_argument("--chart", type=Path, default=out / "bench.svg")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep the workloads that --json has of this revision",
    )
    parser.add_argument("--compare", type=Path, metavar="OLD.json")
    parser.add_argument(
        "--docs", action="store_true", help="also renew docs/performance.md"
    )
    return parser.parse_args()


def choose(options):
    """Return the names of workloads and contenders, or end with what exists."""
    from contenders import ABLATIONS, CONTENDERS, EVERY_CONTENDER
    from workloads import GROUPS, LIMITS, WORKLOADS

    groups = {**GROUPS, **{name: [name] for name in WORKLOADS}}
    named = [one for name in options.workloads for one in groups.get(name, [name])]
    workloads = named or (WORKLOADS if options.all else LIMITS)
    contenders = options.contenders or (CONTENDERS if options.all else ["lazy"])
    if options.ablate:
        contenders = ["lazy", *ABLATIONS]
    for names, known in ((workloads, WORKLOADS), (contenders, EVERY_CONTENDER)):
        if unknown := set(names) - set(known):
            sys.exit(f"bench: no {', '.join(unknown)}; there are {', '.join(known)}")
    missing = [name for name in contenders if EVERY_CONTENDER[name].python is None]
    if options.contenders and missing:
        sys.exit(f"bench: no Python was given for {', '.join(missing)}, see README.md")
    contenders = [name for name in contenders if name not in missing]
    return list(workloads), ["eager", *(n for n in contenders if n != "eager")]


def begin(options):
    """Return the run that is to be continued, or one without rows."""
    machine, same = describe_machine(options.threads), ("revision", "vectors", "cpu")
    if options.resume and options.json.exists():
        earlier = json.loads(options.json.read_text())
        if all(earlier["machine"].get(name) == machine[name] for name in same):
            return earlier
        print(
            "bench: --resume: another revision or machine, begins anew", file=sys.stderr
        )
    return {"machine": machine, "rows": [], "outputs": [], "failures": []}


def measure_all(options):
    from coordinator import Plan, measure

    workloads, contenders = choose(options)
    size = "small" if options.small else "full"
    plan = Plan(
        contenders, options.threads, options.rounds, options.round_seconds, size
    )
    result = begin(options)
    done = {row["workload"] for row in result["rows"]}
    for workload in workloads:
        if workload in done:
            continue
        print(f"{workload} ...", file=sys.stderr, flush=True)
        rows, differences, failures = measure(workload, plan)
        result["rows"] += rows
        result["outputs"] += differences
        result["failures"] += failures
        write(options.json, json.dumps(result, indent=1) + "\n")
    return result


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(content, encoding="utf-8")
    new.replace(path)  # whole or not at all: --resume reads it


def trace(options):
    """Measure single calls, and nothing else."""
    result = {"machine": describe_machine(1)}
    rounds = tracing.SMALL_ROUNDS if options.small else tracing.ROUNDS
    result["tracing"] = tracing.measure(rounds)
    print(tracing.table(result["tracing"]))
    write(options.json, json.dumps(result, indent=1) + "\n")
    print(f"wrote {options.json}")
    if options.docs:
        page.renew(HERE.parent / "docs", result)


def profile(options):
    """Measure what a profile costs, and nothing else."""
    result = {"machine": describe_machine(options.threads)}
    rounds, size = profile_cost.ROUNDS, "full"
    if options.small:
        rounds, size = profile_cost.SMALL_ROUNDS, "small"
    found = profile_cost.measure(options.threads, rounds, options.round_seconds, size)
    result["profiling"] = found
    print(profile_cost.table(found))
    write(options.json, json.dumps(result, indent=1) + "\n")
    print(f"wrote {options.json}")
    if options.docs:
        page.renew(HERE.parent / "docs", result)


def main():
    options = parse_options()
    if options.vectors:
        vectors.choose(options.vectors)
    if options.tracing:
        return trace(options)
    if options.profiling:
        return profile(options)
    result = measure_all(options)
    print(report.table(result))
    if not options.workloads:
        sizes = growth.SMALL_SIZES if options.small else growth.SIZES
        result["growth"] = growth.measure(sizes)
        print(growth.table(result["growth"]))
        write(options.json, json.dumps(result, indent=1) + "\n")
        write(options.chart.with_name("growth.svg"), growth.draw(result["growth"]))
    if options.compare:
        print(report.comparison(json.loads(options.compare.read_text()), result))
    write(options.chart, chart.draw(result))
    print(f"wrote {options.json} and {options.chart}")
    if options.docs:
        page.renew(HERE.parent / "docs", result)
        if "growth" in result:
            write(HERE.parent / "docs" / "growth.svg", growth.draw(result["growth"]))
    wrong = [
        entry
        for entry in result["outputs"]
        if entry["comparable"] and not entry["difference"] < entry["bound"]
    ]
    if wrong:
        names = ", ".join(f"{e['contender']} on {e['workload']}" for e in wrong)
        sys.exit(f"bench: outputs differ from eager's: {names}")
    return None


if __name__ == "__main__":
    main()
