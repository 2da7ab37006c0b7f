# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of ``migrate parity``: each runs a script and writes what it saw.

``python -m torch_ltc.migrate.parity_worker JOBS`` imports torch once, and forks a
process for each job in the file JOBS: see `run`.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import random
import resource
import runpy
import sys
import time
import traceback

import numpy
import torch

from torch_ltc import metrics
from torch_ltc.migrate import stand_ins
from torch_ltc.migrate.redirect import Redirect
from torch_ltc.migrate.watching import Watch

# What optimizers and torch.compile import when they are first called, for seconds.
_PRELOADED = ("torch._dynamo", "torch._inductor.compiler_bisector", "torch._lazy")


def run(jobs):
    """Run each job in a process of its own; write how it ended beside its result."""
    for name in _PRELOADED:
        importlib.import_module(name)
    fork = multiprocessing.get_context("fork")
    for job in jobs:
        process = fork.Process(target=_work, kwargs=job["work"])
        with open(os.path.join(job["work"]["directory"], "end"), "w") as end:
            process.start()
            process.join(job["timeout"])
            if process.is_alive():
                end.write(f"no end after {job['timeout']} s")
                process.kill()
                process.join()
            elif process.exitcode:
                end.write(f"the process ended with {process.exitcode}")


def _work(mode, directory, script, arguments, environment):
    """Run the script; write ``result.json``, ``parameters.pt`` and ``said``."""
    os.environ.update(environment)
    said = os.open(os.path.join(directory, "said"), os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(said, stream)
    # As in every other process that runs the script, should it set none.
    random.seed(0)
    numpy.random.seed(0)
    with open(script, "rb") as file:
        is_foreign = stand_ins.are_needed(file.read().decode(errors="replace"))
    stand_ins.install()
    watch = Watch()
    watch.begin()
    start = time.perf_counter()
    with _devices(mode, is_foreign):
        failed = _run(script, arguments)
        seen, parameters = {}, []
        try:
            seen, parameters = watch.result()
        except Exception as error:  # of a graph that fails when it is read
            failed = failed or _failure(error, script)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    torch.save(parameters, os.path.join(directory, "parameters.pt"))
    found = {
        "failed": failed,
        "seconds": seconds,
        "peak_bytes": usage.ru_maxrss * 1024,
        "graphs": _graphs(),
        **seen,
    }
    with open(os.path.join(directory, "result.json"), "w", encoding="utf-8") as file:
        json.dump(found, file)
    sys.stdout.flush()
    sys.stderr.flush()


def _devices(mode, is_foreign):
    if mode == "eager":
        return Redirect("cpu")
    return Redirect("lazy", ("xla", "hpu")) if is_foreign else contextlib.nullcontext()


def _run(script, arguments):
    """Run a script as the main program; return how it failed, or None."""
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            return {"error": f"sys.exit({end.code!r})", "line": None}
    except BaseException as error:
        traceback.print_exc()
        return _failure(error, script)
    return None


def _failure(error, script):
    """Return the last line of a traceback, and the last of the user's lines in it."""
    folder = os.path.dirname(os.path.abspath(script))
    places = [
        f"{frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.abspath(frame.filename).startswith(os.path.join(folder, ""))
        and "site-packages" not in frame.filename
    ]
    last = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        places.append(f"{error.filename}:{error.lineno}")
    return {"error": last, "line": places[-1] if places else None}


def _graphs():
    counters = metrics.snapshot()
    names = ("codegen.graphs", "codegen.fallback", "cache.hits")
    found = {name: counters.get(name, 0) for name in names}
    fallbacks = {n: v for n, v in counters.items() if n.startswith("record.fallback")}
    found["fallbacks"] = sum(fallbacks.values())
    if "torch._dynamo.utils" in sys.modules:
        dynamo = sys.modules["torch._dynamo.utils"].counters
        found["dynamo.graphs"] = dynamo["stats"]["unique_graphs"]
        found["dynamo.breaks"] = sum(dynamo["graph_break"].values())
    return found


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        run(json.load(file))
