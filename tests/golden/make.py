# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make the files of this folder anew: ``python tests/golden/make.py [TARGET ...]``.

Each holds what the programs of ``programs.py`` give on one target. What is made must
agree with eager PyTorch's first. Look at the differences, with ``ltc-fpcmp``, before
committing new files: they are what users' results change by.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent

# By target, the environment that selects it. A machine with AVX-512 runs them all.
TARGETS = {
    "cpu-avx512": {"LTC_CPU_TARGET": "x86-64-v4", "ATEN_CPU_CAPABILITY": "avx512"},
    "cpu-avx2": {"LTC_CPU_TARGET": "x86-64-v3", "ATEN_CPU_CAPABILITY": "avx2"},
    "cpu-baseline": {"LTC_CPU_TARGET": "x86-64", "ATEN_CPU_CAPABILITY": "default"},
    "emulator-nvptx": {
        "LTC_DEVICE": "emulator",
        "LTC_DEVICE_OPTIONS": "target=nvptx",
        "ATEN_CPU_CAPABILITY": "default",
    },
}

_RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from programs import outputs
from safetensors.torch import save_file
save_file(outputs(sys.argv[2]), sys.argv[3])
"""


def is_here(target):
    """Return whether this machine can run a target's code."""
    needed = {
        "cpu-avx512": torch.cpu._is_avx512_supported,
        "cpu-avx2": torch.cpu._is_avx2_supported,
    }
    return target not in needed or needed[target]()


def run(target, device, path):
    """Write the outputs of the programs on a target, or of eager PyTorch."""
    subprocess.run(
        [sys.executable, "-c", _RUN, str(HERE), device, str(path)],
        env=os.environ | TARGETS[target],
        check=True,
    )


def compare(found, wanted, target):
    """Compare two files within a target's tolerances; return the process."""
    command = [sys.executable, "-m", "torch_ltc", "fpcmp", str(found), str(wanted)]
    tolerances = HERE / f"{target}.json"
    return subprocess.run(
        [*command, "--tolerances", str(tolerances)],
        capture_output=True,
        text=True,
        check=False,
    )


def main():
    """Make the files of the targets named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], default=[])
    for target in parser.parse_args().targets or TARGETS:
        if not is_here(target):
            print(f"{target}: not on this processor; its file is as it was")
            continue
        made, eager = HERE / f"{target}.new", HERE / f"{target}.eager"
        made, eager = (p.with_suffix(p.suffix + ".safetensors") for p in (made, eager))
        try:
            run(target, "lazy", made)
            run(target, "cpu", eager)
            done = compare(made, eager, target)
            print(f"{target} beside eager: {done.stdout}{done.stderr}", end="")
            if done.returncode:
                return 1
            made.replace(HERE / f"{target}.safetensors")
        finally:
            made.unlink(missing_ok=True)
            eager.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
