# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program gives the same bits each time, on however many threads it runs."""

import pytest

# The first runs of a program that calls no library are measured on one thread; it
# has all of them later, if it takes long. One that calls a library never changes.
PROGRAM = """
import os, torch
import torch.nn.functional as F

def loops(x, w):
    y = torch.tanh(x * w + 0.5).softmax(dim=1)
    z = F.layer_norm(x.exp() + y, x.shape[1:]).sin()
    return [z, z.sum(), y.sum(dim=0), z.var(dim=1), (z * y).mean(), z.cumsum(dim=1)]

def network(size):
    def step(x, w):
        images = x[:, :4 * size * size].reshape(-1, 4, size, size)
        kernel = w[0, :4 * 8 * 9].reshape(8, 4, 3, 3).detach().requires_grad_()
        y = F.max_pool2d(torch.relu(F.conv2d(images, kernel, padding=1)), 2)
        loss = F.cross_entropy(y.mean(dim=(2, 3)), torch.arange(len(x)).to("lazy") % 8)
        return [loss.detach(), *torch.autograd.grad(loss, kernel)]
    return step

def products(x, w):
    return [x @ w.t(), (x.t() @ w).sum(dim=0), torch.linalg.vector_norm(x @ x.t())]

torch.manual_seed(0)
x, w = (torch.randn({rows}, 1031).to("lazy") for _ in range(2))
seen = set()
for _ in range(6):
    results = ({step})(x, w)
    torch.lazy.mark_step()
    seen.add(tuple(result.cpu().numpy().tobytes() for result in results))
tasks = [f"/proc/self/task/{{task}}/comm" for task in os.listdir("/proc/self/task")]
names = [open(task).read() for task in tasks]
print(len(seen), names.count("ltc-queue\\n") > 1)
"""


@pytest.mark.parametrize(
    ("step", "rows", "uses_all_threads"),
    [
        ("loops", 1500, True),
        ("loops", 3, False),
        ("network(16)", 256, True),
        ("network(4)", 4, False),
        ("products", 700, True),
        ("products", 3, False),
    ],
)
def test_every_run_gives_the_same_bits(step, rows, uses_all_threads, run_python):
    done = run_python(PROGRAM.format(step=step, rows=rows), OMP_NUM_THREADS="3")
    assert done.stdout.split() == ["1", str(uses_all_threads)]
