# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compile leaves resident, and what it takes away."""

# The products between lie in an arena, whose contents go before each compile.
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
x = torch.arange(2.0**20, dtype=torch.float64).view(1024, 1024).to("lazy") / 2**20
for activation in (torch.tanh, torch.relu):
    y = activation(x @ x).sum(dim=1) - (x @ x).amax(dim=0)
    torch.lazy.mark_step()
    z = activation(x + 1).sum(dim=0)
    torch.lazy.synchronize()
    c = x.cpu()
    wanted = activation(c @ c).sum(dim=1) - (c @ c).amax(dim=0)
    torch.testing.assert_close(y.cpu(), wanted)
    wanted = activation(c + 1).sum(dim=0)
    torch.testing.assert_close(z.cpu(), wanted)
print(torch.lazy.metrics()["codegen.graphs"] >= 4, kib_of_compiler_code() < 1024)
"""


def test_the_compilers_code_leaves_and_comes_again(run_python):
    done = run_python(PROGRAM, LTC_CACHE="off", OMP_NUM_THREADS="1")
    assert done.stdout == "True True\n"
