# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of several ranks on this machine: starting them, and cases in them.

A case is a function of a device that returns tensors. Each rank runs it on cpu and
on lazy in one process group, and says how they differ; one start serves all cases.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent


def _free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(arguments, ranks, **environment):
    """Start a Python program on each rank; return the processes."""
    shared = {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "OMP_NUM_THREADS": "1",
    }
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env=os.environ
            | shared
            | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]


def finish(processes, timeout=120):
    """Wait for all; return the exit code and the output of each."""
    ended = []
    try:
        for process in processes:
            output, _ = process.communicate(timeout=timeout)
            ended.append((process.returncode, output))
    finally:
        for process in processes:
            process.kill()
    return ended


def outcomes(module, ranks, folder, timeout=240, script="ranks.py", **environment):
    """Run all cases of a module; return {case: what is wrong, by rank}."""
    ended = finish(
        start([HERE / script, module, folder], ranks, **environment), timeout
    )
    found = {}
    for rank, (code, output) in enumerate(ended):
        path = Path(folder) / f"{rank}.json"
        assert code == 0 and path.exists(), f"rank {rank} ended with {code}:\n{output}"
        for name, wrong in json.loads(path.read_text()).items():
            found.setdefault(name, []).append(wrong)
    return found


def run(module, folder):
    """Run the cases as one rank, whose environment names the others."""
    import importlib
    import traceback

    import torch
    import torch.distributed as dist

    cases = importlib.import_module(module)
    dist.init_process_group(
        os.environ.get("BACKEND") or None, timeout=timedelta(seconds=60)
    )
    wrong = {}
    for name, case in cases.CASES.items():
        try:
            wanted, found = case("cpu"), case("lazy")
            torch.testing.assert_close(
                [t.cpu() for t in found],
                [t.cpu() for t in wanted],
                **cases.tolerance(name),
                equal_nan=True,
            )
            wrong[name] = None
        except Exception:
            wrong[name] = traceback.format_exc()[-2000:]
    Path(folder, f"{dist.get_rank()}.json").write_text(json.dumps(wrong))
    dist.destroy_process_group()


if __name__ == "__main__":
    run(*sys.argv[1:])
