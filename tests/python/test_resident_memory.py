# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compile leaves resident, and what it takes away."""

# The products lie in an arena of 18 MiB, whose contents go before each compile.
PROGRAM = """
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


def test_the_compilers_code_leaves_and_comes_again(run_python):
    done = run_python(PROGRAM, LTC_CACHE="off", OMP_NUM_THREADS="1")
    assert done.stdout == "True\nTrue\n"
