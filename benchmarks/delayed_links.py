# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a program of torch.distributed on hosts whose links delay all they carry.

    python benchmarks/delayed_links.py --delay-ms 5 benchmarks/data_parallel.py

The hosts are network namespaces of this machine, a rank each, and the links a switch
in this process (tests/python/distributed/hosts.py). So it needs to be root, and takes
some processor time of its own. What rank 0 prints is printed.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python" / "distributed"))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--delay-ms", type=float, default=0, help="one way")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    from hosts import Hosts

    options = parse()
    folder = str(Path(options.program[0]).resolve().parent)
    path = [folder, os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    with Hosts(options.ranks) as hosts, tempfile.TemporaryDirectory() as logs:
        hosts.switch.jitter = 0.0
        hosts.switch.delay = options.delay_ms * 1e-3
        started = hosts.start(options.program, options.ranks, 29400, logs)
        codes = [process.wait(None) for process in started]
        print(started[0].output(), end="")
    sys.exit(max(codes, key=abs))


if __name__ == "__main__":
    main()
