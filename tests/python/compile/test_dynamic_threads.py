# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for all sizes in threads, in processes with one cache, and for days."""

import copy
import os
import random
import subprocess
import sys
import threading
import time

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn


def score(model, x):
    hidden = F.layer_norm(model(x), (24,)).unflatten(-1, (2, 12))
    weights = (hidden @ hidden.transpose(-1, -2) / x.shape[0]).softmax(-1)
    return (weights @ hidden).mean(0), hidden[1:].cumsum(0).flatten(1)


def test_threads_with_sizes_of_their_own():
    torch.manual_seed(0)
    model = nn.Linear(6, 24)
    on_lazy = copy.deepcopy(model).to("lazy")
    wrong, finished, start = [], [], threading.Barrier(8)

    def work(number):
        draw = random.Random(number)
        start.wait()
        for _ in range(12):
            x = torch.randn(draw.choice([1, *range(2, 40)]), 6)
            lazy = x.to("lazy")
            if number % 3 == 0:
                torch_ltc.mark_dynamic(lazy, 0)
            with torch.no_grad():
                found, wanted = score(on_lazy, lazy), score(model, x)
            for a, b in zip(found, wanted, strict=True):
                if not torch.allclose(a.cpu(), b, rtol=1e-4, atol=1e-5):
                    wrong.append((number, x.shape))
        finished.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(finished) == list(range(8))
    assert not wrong


PROCESS = """
import copy, random, sys
import torch, torch_ltc
import torch.nn.functional as F
from torch import nn

draw = random.Random(int(sys.argv[1]))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3))
on_lazy = copy.deepcopy(model).to("lazy")
for _ in range(8):
    rows, length = draw.randint(1, 9), draw.randint(1, 30)
    x = torch.randn(rows, length, 6)
    results = []
    for module, value in (model, x), (on_lazy, x.to("lazy")):
        module.zero_grad()
        labels = (value[..., 0] > 0).long().flatten()
        loss = F.cross_entropy(module(value).flatten(0, 1), labels)
        loss.backward()
        grads = [p.grad.cpu() for p in module.parameters()]
        results.append([loss.detach().cpu(), *grads])
    torch.testing.assert_close(*results, rtol=2e-4, atol=2e-5)
print("compiled", torch_ltc.metrics.snapshot().get("codegen.graphs", 0))
"""


def started(folder, number, dynamic):
    environment = {
        "LTC_CACHE": "rw",
        "LTC_CACHE_DIR": str(folder),
        "LTC_DYNAMIC": dynamic,
        "LTC_LOG": "off",
    }
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(number)],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("rounds", "processes"),
    [(1, 2), pytest.param(8, 6, marks=pytest.mark.long)],
)
def test_processes_with_sizes_of_their_own_share_one_cache(tmp_path, rounds, processes):
    draw = random.Random(0)
    folder = tmp_path / "cache"
    for turn in range(rounds):
        running = [
            started(folder, 100 * turn + n, "off" if n % 3 == 1 else "auto")
            for n in range(processes)
        ]
        doomed = set() if rounds == 1 else {draw.randrange(processes)}
        for number in doomed:
            time.sleep(draw.uniform(1, 8))
            running[number].kill()
        for number, process in enumerate(running):
            out, err = process.communicate(timeout=600)
            if number not in doomed:
                assert process.returncode == 0 and "compiled" in out, err
    assert all(fault is None for _, fault in torch_ltc.cache.verify(folder))


SIZES = """
import resource
import torch, torch_ltc

torch_ltc.settings.cache_memory_bytes = 64 << 20


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20


weight = torch.arange(5.0, dtype=torch.float64).to("lazy")
for n in range(2, 10_002):
    x = torch.ones(n, 5, dtype=torch.float64).to("lazy")
    assert (x * weight + n).sum().item() == n * (10 + 5 * n), n
    if n == 2000:
        early = resident()
print(torch_ltc.metrics.snapshot()["codegen.graphs"], resident() - early)
"""


@pytest.mark.slow
def test_ten_thousand_sizes_in_one_process(run_python):
    compiled, grown = run_python(SIZES, timeout=900).stdout.split()
    assert int(compiled) <= 4
    # MiB; each size's own entry is small, and the last used 64 MiB of them stay.
    assert int(grown) < 96
