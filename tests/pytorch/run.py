# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run PyTorch's device-generic tests on 'lazy', and compare with the table.

    LTC_PYTORCH_TESTS=DIR python tests/pytorch/run.py                 # all files
    LTC_PYTORCH_TESTS=DIR python tests/pytorch/run.py test_view_ops   # one
    LTC_PYTORCH_TESTS=DIR python tests/pytorch/run.py --table         # what is in it

DIR is the folder `test` of PyTorch's sources. A test that fails and is not in
expected_failures.txt is run on the CPU too: if it fails there as well, it is
older than this PyTorch. docs/pytorch-tests.md has the counts.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import table

HERE = Path(__file__).resolve().parent
# Each with the dtypes that are run.
FOUR = "float32,int64,bool,complex64"
TWO = "float32,int64"
FILES = {
    "test_autograd": FOUR,
    "test_binary_ufuncs": TWO,
    "test_complex": FOUR,
    "test_dlpack": FOUR,
    "test_indexing": FOUR,
    "test_linalg": TWO,
    "test_masked": TWO,
    "test_modules": TWO,
    "test_nn": TWO,
    "test_numpy_interop": TWO,
    "test_ops": TWO,
    "test_reductions": TWO,
    "test_scatter_gather_ops": FOUR,
    "test_segment_reductions": TWO,
    "test_serialization": TWO,
    "test_shape_ops": FOUR,
    "test_sort_and_select": TWO,
    "test_spectral_ops": TWO,
    "test_tensor_creation_ops": TWO,
    "test_torch": FOUR,
    "test_type_promotion": TWO,
    "test_unary_ufuncs": TWO,
    "test_view_ops": FOUR,
    "nn/test_convolution": "float32",
    "nn/test_dropout": TWO,
    "nn/test_embedding": TWO,
    "nn/test_multihead_attention": TWO,
    "nn/test_pooling": FOUR,
}
# With backend="ltc" in the place of others; tests of no device.
COMPILED = (
    "dynamo/test_activation_checkpointing",
    "dynamo/test_aot_autograd",
    "dynamo/test_autograd_function",
    "dynamo/test_backends",
    "dynamo/test_compile",
    "dynamo/test_ctx_manager",
    "dynamo/test_functions",
    "dynamo/test_higher_order_ops",
    "dynamo/test_hooks",
    "dynamo/test_misc",
    "dynamo/test_modules",
    "dynamo/test_optimizers",
    "dynamo/test_repros",
    "dynamo/test_subclasses",
    "dynamo/test_subgraphs",
    "dynamo/test_unspec",
    "functorch/test_aotdispatch",
    "functorch/test_control_flow",
    "inductor/test_torchinductor",
    "inductor/test_torchinductor_dynamic_shapes",
)
# What a failed test is run with again, and what it is if it fails there as well.
WITHOUT_US = {
    "lazy": (("cpu", "old"),),
    "compiled": (("stock", "old"), ("aot_eager", "aot")),
}
# What takes hours as a whole: one test in so many. OpInfo's samples are run by
# tests/python/sweep_ops.py against eager.
SAMPLED = {
    "test_binary_ufuncs": 10,
    "test_modules": 7,
    "test_ops": 200,
    "test_unary_ufuncs": 10,
}


def pytest(folder, name, device, record, *options):
    """Run one file's tests of a device; return the rows that they recorded."""
    environment = os.environ | {
        "TORCH_TEST_DEVICES": str(HERE / "device.py"),
        "PYTORCH_TESTING_DEVICE_ONLY_FOR": device,
        "PYTHONPATH": os.pathsep.join((str(HERE), str(folder), *sys.path[1:])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-c", os.devnull]
    command += ["--rootdir", str(folder), "-p", "no:cacheprovider", "-p", "plugin"]
    command += ["-W", "ignore", "--tb=short", "--device", device]
    command += ["--record", str(record), *options, f"{name}.py"]
    with open(record.with_suffix(".log"), "w") as log:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=log, stderr=log, check=False
        )
    rows = []
    if record.exists():
        rows = [json.loads(line) for line in record.read_text().splitlines()]
    if not rows and done.returncode not in (0, 5):
        print(f"{name}: no test of {device} ran; see {record.with_suffix('.log')}")
    return rows


def on_cpu(test):
    """Return the id of the CPU's test that is like one of 'lazy'."""
    file, case, name = test.split("::")
    start, end = name.rsplit("_lazy", 1)
    return f"{file}::{case.removesuffix('LAZY')}CPU::{start}_cpu{end}"


def fail_without_us(folder, name, rows, results, device):
    """Return the ids among failed rows whose tests fail without us as well.

    On the CPU, with the backends that they name, or with aot_eager.
    """
    of_device = {row["id"] for row in rows if "::" in row["id"]}
    if not of_device:
        return set()
    ids = {on_cpu(i) if device == "cpu" else i: i for i in of_device}
    listed = results / f"{name.replace('/', '_')}.ids"
    listed.write_text("\n".join(ids))
    record = listed.with_suffix(f".{device}.jsonl")
    record.unlink(missing_ok=True)
    ran = pytest(folder, name, device, record, "--only", str(listed))
    return {ids[row["id"]] for row in ran if row["outcome"] == "failed"}


def run(folder, name, dtypes, results, jobs=2, only="*", every=1):
    """Run a file with us; return its rows, those older than PyTorch marked."""
    entries = table.read()
    left_out, listed = results / "left_out.txt", results / "only.txt"
    left_out.write_text("\n".join(e.pattern for e in entries if e.left_out))
    listed.write_text(only)
    record = results / f"{name.replace('/', '_')}.jsonl"
    record.unlink(missing_ok=True)
    options = ["--dtypes", dtypes, "--only", str(listed), "--without", str(left_out)]
    options += ["-n", str(jobs), "--every", str(every)]
    device = "compiled" if name in COMPILED else "lazy"
    rows = pytest(folder, name, device, record, *options)
    for other, outcome in WITHOUT_US[device]:
        unknown = table.judge(rows, entries).unexpected
        failed = fail_without_us(folder, name, unknown, results, other)
        for row in rows:
            if row["id"] in failed:
                row["outcome"] = outcome
    return rows


def report(name, rows):
    """Print the counts of a file, and what the table does not say."""
    counts = collections.Counter(row["outcome"] for row in rows)
    verdict = table.judge(rows, table.read())
    print(
        name,
        *(f"{counts[k]} {k}" for k in ("passed", "failed", "old", "aot", "skipped")),
    )
    for row in verdict.unexpected:
        print(f"  failed: {row['id']}: {row['message'][:300]}")
    for entry in verdict.passing:
        print(f"  passes now: {entry.pattern} ({entry.reason})")
    return not verdict.unexpected and not verdict.passing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="such as test_nn")
    parser.add_argument("--dtypes", help="instead of those that a file is run with")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, help="one test in so many")
    parser.add_argument("--table", action="store_true", help="what is in it alone")
    parser.add_argument("--results", type=Path, help="keep records and logs here")
    options = parser.parse_args()
    if "LTC_PYTORCH_TESTS" not in os.environ:
        parser.error("set LTC_PYTORCH_TESTS to the folder test of PyTorch's sources")
    folder = Path(os.environ["LTC_PYTORCH_TESTS"]).resolve()
    results = options.results or Path(tempfile.mkdtemp(prefix="pytorch-tests-"))
    results.mkdir(parents=True, exist_ok=True)
    patterns = [e.pattern for e in table.read()] if options.table else ["*"]
    listed = {pattern.split(".py::")[0] for pattern in patterns}
    good, only = True, "\n".join(patterns)
    files = [f for f in FILES if listed & {f, "*"}]
    files += [f for f in COMPILED if f in listed]
    for name in options.files or files:
        name = name.removesuffix(".py")
        dtypes = options.dtypes or FILES.get(name, TWO)
        every = options.every or (1 if options.table else SAMPLED.get(name, 1))
        rows = run(folder, name, dtypes, results, options.jobs, only, every)
        good &= report(name, rows)
    print("results in", results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
