# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's tests of several processes on lazy tensors.

    python tests/pytorch/run_distributed.py --results DIR [--device cpu] [NAME...]

Those of process groups are in its wheel; with --file distributed/tensor/test_api, a
file of its sources, in the folder that LTC_PYTORCH_TESTS names.

They make tensors of the default device, which is lazy here. All tests run in the
same processes, each with process groups of its own; a test that ends or stops a
process is told, and the others go on in new ones. What fails and is not in
expected_distributed.txt is an error, as is a line there whose test does not fail.
"""

import argparse
import collections
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from datetime import timedelta
from pathlib import Path


def tests_of(options):
    """Return {name: class}, once this process's variables are set."""
    if options.file:
        import sharded

        return sharded.tests_of(options.file, options.device, options.ranks)
    from torch.testing._internal.distributed import distributed_test

    class Tests(
        distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase
    ):
        pass

    names = unittest.TestLoader().getTestCaseNames(Tests)
    return dict.fromkeys(names, Tests)


def place_of(test):
    """Return where the ranks meet if the test is not to begin a group: as a URL."""
    from torch.testing._internal.common_distributed import MultiProcContinuousTest

    if isinstance(test, MultiProcContinuousTest):
        return f"file://{test.file_name}"
    return getattr(test, "init_method", None)


def outcome_of(test, name, seconds):
    """Run a test in this rank; return what came of it, and why."""
    import torch
    import torch.distributed as dist

    try:
        if not hasattr(test, "init_pg") and (place := place_of(test)):
            dist.init_process_group(
                "gloo",
                init_method=place,
                rank=test.rank,
                world_size=int(test.world_size),
                timeout=timedelta(seconds=seconds // 2),
            )
        torch.manual_seed(0)
        type(test).pg = dist.group.WORLD  # where a test has none of its own
        getattr(test, name)()
    except unittest.SkipTest as skipped:
        return "skipped", str(skipped)
    except SystemExit as ended:  # how a rank says that it skips
        from torch.testing._internal.common_distributed import TEST_SKIPS

        reasons = {skip.exit_code: skip.message for skip in TEST_SKIPS.values()}
        return "skipped", reasons.get(ended.code, str(ended.code))
    except Exception:
        why = traceback.format_exc()[-1500:]
        print(why, file=sys.stderr)  # the others may wait for this rank
        return "failed", why
    return "passed", ""


def meet(store, place, ranks):
    """Wait until all ranks are here: one that skips would end a group too early."""
    store.add(place, 1)
    while store.add(place, 0) < ranks:
        time.sleep(0.01)


def part_in(case, name, options):
    """Take this rank's part in a test; return what came of it, and why."""
    method = name.rpartition(".")[2]
    if options.file:
        import sharded

        if not sharded.has_ranks(case):
            if options.rank:
                return "skipped", "is for one process"
            return sharded.outcome_in_one(case(method))
        sharded.prepare(case, options.ranks)
    test = case(method)
    test.rank, test.file_name = options.rank, f"{options.results}/store-{name}"
    test.skip_return_code_checks = []
    if options.rank < int(test.world_size) <= options.ranks:
        return outcome_of(test, method, options.seconds)
    return "skipped", f"is for {test.world_size} ranks"


def run_rank(options):
    """Run the tests of this process; a line for each in the rank's file."""
    os.environ["WORLD_SIZE"] = str(options.ranks)
    os.environ["TEMP_DIR"] = options.results
    os.environ.setdefault("BACKEND", "gloo")
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed import distributed_test

    tests = tests_of(options)
    if not options.file:  # those name their device
        torch.set_default_device(options.device)
    path = Path(options.results, f"{options.rank}.jsonl")
    meeting = dist.FileStore(f"{options.results}/meeting", options.ranks)
    for number, name in enumerate(options.names):
        distributed_test.Barrier.barrier_id = 1000 * number  # of before, files are left
        meet(meeting, f"start {number}", options.ranks)
        faulthandler.dump_traceback_later(options.seconds, exit=True)
        began = time.monotonic()
        found, why = part_in(tests[name], name, options)
        meet(meeting, f"end {number}", options.ranks)
        if dist.is_initialized():
            dist.destroy_process_group()
        faulthandler.cancel_dump_traceback_later()
        line = [name, found, why, time.monotonic() - began]
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
    os._exit(0)  # threads of a test may be left


def lines_of(folder, rank):
    path = Path(folder, f"{rank}.jsonl")
    return (
        [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []
    )


def start_ranks(names, folder, options):
    """Start a process a rank, each with its log in the folder."""
    command = [sys.executable, __file__, "--results", folder]
    command += ["--device", options.device, "--ranks", str(options.ranks)]
    command += ["--seconds", str(options.seconds)]
    command += ["--file", options.file] if options.file else []
    started = []
    for rank in range(options.ranks):
        with Path(folder, f"{rank}.log").open("w") as log:
            started.append(
                subprocess.Popen(
                    [*command, "--rank", str(rank), *names],
                    stdout=log,
                    stderr=log,
                    env=os.environ
                    | {"OMP_NUM_THREADS": "1", "PYTORCH_PRINT_REPRO_ON_FAILURE": "0"},
                )
            )
    return started


def run_some(names, options, until):
    """Run tests until a process ends or time is over; return {name: outcome, why}."""
    with tempfile.TemporaryDirectory() as folder:
        for part in "barrier", "test_dir":
            Path(folder, part).mkdir()
        started = start_ranks(names, folder, options)
        while any(p.poll() is None for p in started):
            if any(p.poll() not in (None, 0) for p in started):
                time.sleep(2)  # the others may have something to say
                break
            if time.monotonic() > until:
                break
            time.sleep(0.1)
        for process in started:
            process.kill()
            process.wait()
        found = merge([lines_of(folder, rank) for rank in range(options.ranks)])
        if len(found) < len(names) and time.monotonic() < until:
            logs = sorted(Path(folder).glob("*.log"))
            last = "\n".join(log.read_text()[-1500:] for log in logs)
            found[names[len(found)]] = ("ended", last)
        return found


def merge(told):
    """Return the outcome of each test that all ranks have done: the worst."""
    found = {}
    for lines in zip(*told, strict=False):
        worst = next((x for x in lines if x[1] == "failed"), None)
        worst = worst or next((x for x in lines if x[1] == "passed"), lines[0])
        found[worst[0]] = (worst[1], worst[2])
    return found


def expected():
    """Return {test: why it fails} of the table: a reason, and its tests indented."""
    table, why = {}, None
    text = Path(__file__).with_name("expected_distributed.txt").read_text()
    for line in text.splitlines():
        if line.startswith("  "):
            table[line.strip()] = why
        elif not line.startswith("#"):
            why = line
    return table


def tell(found, table):
    """Print what the table does not say, and the counts; return whether it is right."""
    right = True
    for name, (outcome, why) in found.items():
        fails = outcome in ("failed", "ended")
        if outcome == "skipped" or fails == (name in table):
            continue
        right = False
        lines = [line for line in why.splitlines() if line.strip()]
        print(f"{outcome} {name}: {lines[-1] if lines else table.get(name)}")
    counts = collections.Counter(outcome for outcome, _ in found.values())
    print(json.dumps(counts))
    for why, count in collections.Counter(
        why for outcome, why in found.values() if outcome == "skipped"
    ).most_common():
        print(f"  skipped {count}: {why}")
    return right


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="or a part of some; all without")
    parser.add_argument("--results", required=True, help="a folder for results.json")
    parser.add_argument("--device", default="lazy")
    parser.add_argument("--file", help="of PyTorch's sources, without .py")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument(
        "--seconds", type=int, default=30, help="for a test; its collectives have half"
    )
    parser.add_argument(
        "--limit", type=float, default=float("inf"), help="seconds for all tests"
    )
    parser.add_argument("--rank", type=int, help="of one process, as this starts it")
    return parser.parse_args()


def main():
    options = parse()
    if options.rank is not None:
        return run_rank(options)
    os.environ["WORLD_SIZE"] = str(options.ranks)
    os.environ.setdefault("TEMP_DIR", tempfile.gettempdir())
    os.environ.setdefault("BACKEND", "gloo")
    names = [
        name
        for name in tests_of(options)
        if not options.names or any(part in name for part in options.names)
    ]
    found, until = {}, time.monotonic() + options.limit
    while left := [name for name in names if name not in found]:
        if time.monotonic() > until:
            print(f"{len(left)} were not run in {options.limit:g} seconds")
            break
        found |= run_some(left, options, until)
    Path(options.results).mkdir(parents=True, exist_ok=True)
    Path(options.results, "results.json").write_text(json.dumps(found, indent=1))
    return 0 if tell(found, expected() if options.device == "lazy" else {}) else 1


if __name__ == "__main__":
    sys.exit(main())
