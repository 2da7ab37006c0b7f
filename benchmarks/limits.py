# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What this machine can do at best: STREAM's triad, and a product by MKL or oneDNN.

    OMP_NUM_THREADS=1 python limits.py

Prints {"triad_gbs": GB/s, "gemm_gflops": GFLOP/s} as JSON: the best of several
rounds, because whatever else runs can only take away.
"""

import json
import os
import subprocess
import sys
import time

ELEMENTS = 1 << 25  # 128 MiB of floats each: four times a large cache
SIDE = 1536


def best_seconds(function, rounds=8):
    # One thread's own time does not count what others took from it.
    one = os.environ["OMP_NUM_THREADS"] == "1"
    clock = time.process_time if one else time.perf_counter
    times = []
    for _ in range(rounds):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def measure_here():
    import torch

    b, c = torch.rand(ELEMENTS), torch.rand(ELEMENTS)
    a = torch.empty_like(b)
    triad = best_seconds(lambda: torch.add(b, c, alpha=0.5, out=a))
    x, y = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    z = torch.empty_like(x)
    product = best_seconds(lambda: torch.mm(x, y, out=z))
    if torch.backends.mkldnn.is_available():
        # MKL gives a processor that is not Intel's half of its vectors.
        linear = torch.ops.mkldnn._linear_pointwise
        other = best_seconds(lambda: linear(x, y, None, "none", [], ""))
        product = min(product, other)
    return {
        "triad_gbs": 3 * 4 * ELEMENTS / triad / 1e9,
        "gemm_gflops": 2 * SIDE**3 / product / 1e9,
    }


def measure(threads):
    """Return the same, measured in a process with so many threads."""
    environment = {
        "OMP_NUM_THREADS": str(threads),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    done = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(measure_here()))
