# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check every OpInfo of PyTorch on the lazy device, and print a table.

    python tests/python/sweep_ops.py                  # everything, takes a while
    python tests/python/sweep_ops.py add softmax      # the ops of these names
    python tests/python/sweep_ops.py --limit 3 --json sweep.json
    python tests/python/sweep_ops.py --door dynamo    # torch.compile of CPU tensors
    python tests/python/sweep_ops.py --door aot       # the same without Dynamo

Ops run in worker processes, so that a crash costs one op and is counted.
"""

import argparse
import collections
import concurrent.futures
import json
import queue
import subprocess
import sys

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
)
CHECKS = (
    ("backward", "float32"),
    *((kind, dtype) for dtype in DTYPES for kind in ("forward", "inplace", "out")),
)


def parsed(text):
    """Return the (kind, dtype) of `kind:dtype,kind:dtype`."""
    return [tuple(check.split(":")) for check in text.split(",")]


def run_op(name, checks, limit, door):
    """Return the outcomes of one op, as plain data."""
    import parity
    import torch

    op = parity.OPS[name]
    rows = []
    for kind, dtype_name in checks:
        dtype = getattr(torch, dtype_name)
        if not parity.supports(op, kind, dtype):
            continue
        outcomes = parity.check(op, [(kind, dtype)], limit, door)
        failed = [o for o in outcomes if o.problem]
        rows.append(
            {
                "op": name,
                "kind": kind,
                "dtype": dtype_name,
                "samples": len(outcomes),
                "failed": len(failed),
                "nearer": sum(o.nearer for o in outcomes),
                "fallbacks": sorted(set().union(*(o.fallbacks for o in outcomes))),
                "first": [failed[0].sample, failed[0].problem] if failed else [],
            }
        )
    return rows


def worker():
    """Answer one line of JSON for each line read."""
    import torch

    torch.set_num_threads(1)
    for line in sys.stdin:
        name, checks, limit, door = json.loads(line)
        try:
            rows = run_op(name, checks, limit, door)
        except Exception as error:
            rows = [crash_row(name, checks, f"{type(error).__name__}: {error}")]
        print("\n@" + json.dumps(rows), flush=True)


def crash_row(name, checks, why):
    return {
        "op": name,
        "kind": "/".join(sorted({k for k, _ in checks})),
        "dtype": "*",
        "samples": 1,
        "failed": 1,
        "nearer": 0,
        "fallbacks": [],
        "first": [name, why],
    }


class Worker:
    """A process that runs ops; started again when one kills it."""

    def __init__(self, door):
        self.door = door
        self.process = None

    def ask(self, name, checks, limit, seconds):
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__, "--worker"],
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self.process
        timer = concurrent.futures.ThreadPoolExecutor(1)
        answer = timer.submit(
            self.exchange, json.dumps([name, checks, limit, self.door])
        )
        try:
            return answer.result(seconds)
        except concurrent.futures.TimeoutError:
            process.kill()
            why = f"no answer in {seconds} s"
        except EOFError:
            why = f"the process died ({process.wait()})"
        finally:
            timer.shutdown(wait=False)
        self.process = None
        return why

    def exchange(self, line):
        print(line, file=self.process.stdin, flush=True)
        for answer in self.process.stdout:
            if answer.startswith("@"):
                return json.loads(answer[1:])
        raise EOFError


def check_op(worker, name, checks, limit, seconds):
    """Run all checks of an op; after a crash each on its own, to find which."""
    rows = worker.ask(name, checks, limit, seconds)
    if not isinstance(rows, str):
        return rows
    rows = []
    for check in checks:
        answer = worker.ask(name, [check], limit, seconds)
        if isinstance(answer, str):
            answer = [{**crash_row(name, [check], answer), "dtype": check[1]}]
        rows += answer
    return rows


def sweep(names, checks, limit, jobs, seconds, door):
    """Yield the rows of each op as they come."""
    idle = queue.SimpleQueue()
    for _ in range(jobs):
        idle.put(Worker(door))

    def one(name):
        worker = idle.get()
        try:
            return check_op(worker, name, checks, limit, seconds)
        finally:
            idle.put(worker)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed(
            [pool.submit(one, name) for name in names]
        ):
            yield done.result()
    while not idle.empty():
        process = idle.get().process
        if process:
            process.stdin.close()
            process.wait()


def print_summary(rows):
    by_check = collections.defaultdict(collections.Counter)
    for row in rows:
        total = by_check[row["kind"], row["dtype"]]
        total["ops"] += 1
        total["samples"] += row["samples"]
        total["failed ops"] += row["failed"] > 0
        total["failed samples"] += row["failed"]
        total["nearer"] += row["nearer"]
        total["split ops"] += bool(row["fallbacks"])
    columns = (
        "ops",
        "failed ops",
        "split ops",
        "samples",
        "failed samples",
        "nearer",
    )
    print(f"\n{'check':<22}" + "".join(f"{c:>16}" for c in columns))
    for (kind, dtype), total in by_check.items():
        print(f"{kind + ' ' + dtype:<22}" + "".join(f"{total[c]:>16}" for c in columns))
    split = collections.Counter(n for row in rows for n in row["fallbacks"])
    print("\ngraph splits by op:", dict(split.most_common()) or "none")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=int, default=0, help="samples a check")
    parser.add_argument("--checks", type=parsed, default=CHECKS, help="kind:dtype,…")
    parser.add_argument("--door", default="lazy", choices=("lazy", "dynamo", "aot"))
    parser.add_argument("--rows", action="store_true", help="the lowered ops alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=300, help="a check may take")
    parser.add_argument("--json", help="write all rows here")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker()

    import parity

    names = [op.full_name for op in parity.interesting(options.names)]
    names = names or (parity.lowered() if options.rows else list(parity.OPS))
    rows = []
    for found in sweep(
        names,
        options.checks,
        options.limit,
        options.jobs,
        options.seconds,
        options.door,
    ):
        rows += found
        for row in found:
            if row["failed"]:
                print(
                    f"{row['op']} {row['kind']} {row['dtype']}: "
                    f"{row['failed']} of {row['samples']} failed\n"
                    f"    {row['first'][0]}\n    {row['first'][1]}",
                    flush=True,
                )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    print_summary(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
