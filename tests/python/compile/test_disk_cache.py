# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that run again, and find their graphs compiled."""

import json

import pytest
import torch
import torch_ltc

TRAIN = """
import json
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(8 * 16, 16), nn.LayerNorm(16), nn.Dropout(0.1),
    nn.GELU(), nn.Linear(16, 4),
).to("lazy")
# Whose first step is another graph, for its dampening.
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, dampening=0.1)
x, y = torch.randn(6, 3, 8, 8).to("lazy"), torch.randint(4, (6,)).to("lazy")
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
counts = torch.lazy.metrics()
counts["compiler"] = "libltc_compiler" in open("/proc/self/maps").read()
print(json.dumps({"losses": losses, "counts": counts}))
"""
GATHER = """
import json
import torch
table = torch.arange(6.0).reshape(3, 2).to("lazy")
index = torch.tensor([0, 7]).to("lazy")
{blank}
found = torch.nn.functional.embedding(index, table)
try:
    found.cpu()
except IndexError as error:
    print(json.dumps([error.line, torch.lazy.metrics()["codegen.graphs"]]))
"""


@pytest.fixture
def run_cached(run_python, tmp_path):
    """Run a program with a cache in a directory; return what it prints as JSON."""

    def run(code, directory="cache", **environment):
        folder = {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(tmp_path / directory)}
        done = run_python(code, **(folder | environment))
        assert not done.stderr
        return json.loads(done.stdout)

    return run


def content(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.ltc")}


def test_a_second_process_compiles_nothing(run_cached):
    cold, warm = run_cached(TRAIN), run_cached(TRAIN)
    assert warm["losses"] == cold["losses"]
    assert cold["counts"]["codegen.graphs"] == cold["counts"]["cache.disk.writes"] >= 2
    assert cold["counts"]["compiler"]
    assert warm["counts"]["codegen.graphs"] == 0
    assert warm["counts"]["cache.miss"] == 0
    assert warm["counts"]["cache.hit.disk"] == cold["counts"]["codegen.graphs"]
    assert not warm["counts"]["compiler"], "the compiler was loaded"


def test_equal_programs_give_equal_files(run_cached, tmp_path):
    run_cached(TRAIN, "a", OMP_NUM_THREADS="1")
    # Another place, other lines and more threads: none of that is in a file.
    run_cached(f"import os\n{TRAIN}", "b/c", OMP_NUM_THREADS="3")
    first, second = content(tmp_path / "a"), content(tmp_path / "b/c")
    assert first and first.keys() == second.keys()
    assert first == second
    assert not any(b"program.py" in data for data in first.values())


def test_errors_name_the_lines_of_the_program_that_runs(run_cached):
    assert run_cached(GATHER.format(blank="")) == [7, 1]
    assert run_cached(GATHER.format(blank="pass\npass")) == [8, 0]


def test_the_key_knows_values_of_attributes_and_types(tmp_path):
    scope = torch_ltc.settings.scope(cache="rw", cache_dir=str(tmp_path))
    with scope, torch_ltc.metrics.measure() as counts:
        for dtype in (torch.float32, torch.float64):
            for dim in (0, 1):
                x = torch.arange(15, dtype=dtype).reshape(3, 5)
                found = x.to("lazy").cumsum(dim).softmax(1 - dim)
                torch.testing.assert_close(found.cpu(), x.cumsum(dim).softmax(1 - dim))
    assert len(torch_ltc.cache.entries(tmp_path)) == counts["cache.disk.writes"]
    assert counts["cache.disk.writes"] == counts["cache.miss"] >= 4
