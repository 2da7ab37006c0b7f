# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Let a PyTorch that was built for CUDA be imported without CUDA's libraries.

    python tests/cuda_stubs.py SITE

SITE holds an unpacked wheel. Its libraries name those of CUDA, which are gigabytes
and do nothing for tests of the CPU. This makes libraries of the same names in
SITE/cuda_stubs, for LD_LIBRARY_PATH: each of their functions returns 100, which is
CUDA's "no device". A wheel for the CPU alone needs none, and gets an empty folder.
"""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|gomp)|ld-linux-x86-64)\.so")
# Symbols without a version do not say whose they are.
CUDA = re.compile(r"_*(cu|nccl|nvrtc|nvshmem|nvml)")


def output(*command):
    """Run a program and return what it prints."""
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def read(libraries):
    """Return the libraries that are wanted, and what of each version of them."""
    ours = {library.name for library in libraries}
    defined, wanted, symbols = set(), defaultdict(set), defaultdict(set)
    for library in libraries:
        for line in output("nm", "-D", "--defined-only", library).splitlines():
            defined.add(line.split()[-1].split("@")[0])
    for library in libraries:
        for name in re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-dW", library)):
            if name not in ours and not SYSTEM.match(name):
                wanted[name]  # even if nothing of it is versioned
        file = None
        for line in output("readelf", "-VW", library).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif file in wanted and (found := re.search(r" Name: (\S+) +Flags", line)):
                wanted[file].add(found[1])
        for line in output("nm", "-D", "--undefined-only", library).splitlines():
            kind, name = line.split()[-2:]
            name, _, version = name.partition("@")
            if name not in defined and kind == "U" and (version or CUDA.match(name)):
                symbols[version].add(name)
    return wanted, symbols


def make(path, versions, symbols, more):
    """Compile one library."""
    names = set(more).union(*(symbols[version] for version in versions))
    code = [".text", "no_device: movl $100, %eax", "ret"]
    for name in sorted(names):
        code += [f".globl {name}", f".type {name}, @function", f"{name}: jmp no_device"]
    script = [
        f"{version} {{ global: {'; '.join(sorted(symbols[version]))}; }};"
        for version in sorted(versions)
        if symbols[version]
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, versions_file = Path(folder, "stubs.s"), Path(folder, "stubs.map")
        source.write_text("\n".join([*code, ""]))
        versions_file.write_text("\n".join(script))
        command = ["g++", "-shared", "-nostdlib", f"-Wl,-soname,{path.name}", source]
        if script:
            command.append(f"-Wl,--version-script={versions_file}")
        output(*command, "-o", path)


def main():
    """Make the stubs for one PyTorch, unless they are there."""
    site = Path(sys.argv[1])
    folder = site / "cuda_stubs"
    if folder.exists():
        return
    with tempfile.TemporaryDirectory(dir=site) as half:
        wanted, symbols = read(sorted((site / "torch/lib").glob("*.so*")))
        for name, versions in wanted.items():
            unversioned = symbols[""] if name.startswith("libcudart") else ()
            make(Path(half, name), versions, symbols, unversioned)
        Path(half).rename(folder)
        Path(half).mkdir()  # for its removal


if __name__ == "__main__":
    main()
