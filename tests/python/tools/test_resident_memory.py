# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compile leaves resident, and what it takes away."""

CODE = """
import torch

def kib_of_compiler_code():
    found, inside = 0, False
    for line in open("/proc/self/smaps"):
        words = line.split()
        if not words[0].endswith(":"):
            inside = line.rstrip().endswith("libltc_compiler.so") and "x" in words[1]
        elif inside and words[0] == "Rss:":
            found += int(words[1])
    return found
"""

# The products lie in an arena of 18 MiB, whose contents go before each compile.
LARGE = (
    CODE
    + """
assert kib_of_compiler_code() == 0
x = torch.arange(1536.0**2, dtype=torch.float64).view(1536, 1536).to("lazy") / 2**20
c = x.cpu()
for activation in (torch.tanh, torch.relu):
    small = activation(x[0] + 1)
    torch.lazy.mark_step()
    large = activation(x @ x).sum(dim=1)
    torch.lazy.synchronize()
    print(kib_of_compiler_code() < 1024)
    torch.testing.assert_close(small.cpu(), activation(c[0] + 1))
    torch.testing.assert_close(large.cpu(), activation(c @ c).sum(dim=1))
"""
)

# A compile reads some 22 MiB of the compiler's file, since the functions that it
# calls lie side by side there: called-functions.cpp. It would be 37.
SMALL = (
    CODE
    + """
def mib(what):
    words = next(line for line in open("/proc/self/status") if line.startswith(what))
    return int(words.split()[1]) / 1024

def compile_small():
    x = torch.randn(8, 40 + len(kept), device="lazy")
    kept.append(torch.softmax(x * 2, dim=-1).sum())
    torch.lazy.synchronize()

kept = []
x = torch.zeros(3, device="lazy")
before = mib("VmHWM:")
compile_small()
print(mib("VmHWM:") - before < 34, kib_of_compiler_code() < 1024)

torch.ones(2**26)  # 256 MiB for a moment
compile_small()
print(kib_of_compiler_code() > 8192)
"""
)


def test_the_compilers_code_leaves_and_comes_again(run_python):
    done = run_python(LARGE, LTC_CACHE="off", OMP_NUM_THREADS="1")
    assert done.stdout == "True\nTrue\n"


def test_a_compile_needs_no_more_than_a_part_of_the_code_at_once(run_python):
    """Unless the process has had more resident than it takes."""
    done = run_python(SMALL, LTC_CACHE="off", LTC_DYNAMIC="off", OMP_NUM_THREADS="1")
    assert done.stdout == "True True\nTrue\n"


# Kernels of PyTorch's ops, above all: a third is tables of PyTorch's own.
FIRST_OP = """
import torch

def mib_of_own_memory():
    rollup = open("/proc/self/smaps_rollup").read().split()
    return int(rollup[rollup.index("Anonymous:") + 1]) / 1024

before = mib_of_own_memory()
torch.zeros(3, device="lazy")
print(mib_of_own_memory() - before < 6)
"""


def test_the_first_op_takes_little_memory(run_python):
    done = run_python(FIRST_OP, LTC_CACHE="off", OMP_NUM_THREADS="1")
    assert done.stdout == "True\n"


FAULTS = """
import resource, torch

x = (torch.randn(16, 256, 256) * 0.1).to("lazy")

def faults(steps):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        torch.linalg.matrix_exp(x)
        torch.lazy.mark_step()
        torch.lazy.synchronize()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / steps

faults(10)
print(faults(10))
"""


def test_temporaries_of_library_kernels_stay_in_the_heap(run_python):
    # Several of 4 MiB a step: 5600 faults when the heap gives them back.
    assert float(run_python(FAULTS, OMP_NUM_THREADS="1").stdout) < 300
