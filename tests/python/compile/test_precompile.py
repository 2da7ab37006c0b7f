# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dry runs: everything is compiled and nothing computed."""

import json

import pytest
import torch
import torch_ltc

TRAIN = """
import json
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 9), nn.Tanh(), nn.Linear(9, 3)).to("lazy")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(7, 12).to("lazy"), torch.randint(3, (7,)).to("lazy")
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
torch.lazy.synchronize()
counts = torch.lazy.metrics()
{end}
print(json.dumps(counts))
"""
READ = """
try:
    print(loss.item())
except RuntimeError as error:
    counts["error"] = str(error)
"""


def program(x):
    return (x * 3 - 1).relu().cumsum(0).softmax(-1)


@pytest.fixture
def x():
    return torch.arange(21.0).reshape(3, 7) / 10


def test_what_was_compiled_dry_runs_without_compiling(x, counts):
    lazy = x.to("lazy")
    with torch_ltc.precompile():
        dry = program(lazy)
    assert counts["codegen.graphs"] == 1 and counts["execute.launches"] == 0
    with pytest.raises(torch_ltc.Error, match="was not computed: in a dry run"):
        dry.cpu()
    torch.testing.assert_close(program(lazy).cpu(), program(x))
    assert counts["codegen.graphs"] == 1 and counts["execute.launches"] == 1


def test_what_was_recorded_before_is_computed(x):
    before = program(x.to("lazy"))
    with torch_ltc.precompile():
        after = before + 1
    torch.testing.assert_close(before.cpu(), program(x))
    with pytest.raises(torch_ltc.Error, match="dry run"):
        after.sum().item()


def test_values_computed_from_a_dry_one_are_no_values(x):
    with torch_ltc.precompile():
        dry = program(x.to("lazy"))
    for found in (dry + 1, dry.sum(), dry[0]):
        with pytest.raises(torch_ltc.Error, match="dry run"):
            found.cpu()
    torch.testing.assert_close((x.to("lazy") + 1).cpu(), x + 1)


def test_graphs_compile_at_the_same_time_and_once(counts):
    with torch_ltc.settings.scope(dynamic="off"), torch_ltc.precompile():
        for size in (101, 102, 103, 104, 101, 102):
            kept = program(torch.ones(2, size, device="lazy"))
            torch.lazy.mark_step()
    assert counts["codegen.graphs"] == 4
    assert kept.shape == (2, 102)


def test_a_graph_is_compiled_with_the_settings_it_was_recorded_under(counts):
    with torch_ltc.precompile(), torch_ltc.settings.scope(dynamic="off"):
        for rows in range(3, 9):
            x = torch.ones(rows, 11, device="lazy").sin().cumsum(0).cos()
            torch.lazy.mark_step()
            del x
        # Most are compiled after the setting has changed back.
    assert counts["codegen.graphs"] == 6
    assert counts["cache.dynamic_versions"] == counts["cache.dynamic_hits"] == 0


def test_a_dry_program_warms_another_process(run_python, tmp_path):
    environment = {"LTC_CACHE": "rw", "LTC_CACHE_DIR": str(tmp_path / "cache")}
    code = TRAIN.replace("{end}", READ)
    dry = json.loads(run_python(code, **environment, LTC_DRY_RUN="1").stdout)
    assert dry["execute.launches"] == 0 and dry["codegen.graphs"] >= 1
    assert dry["error"].startswith("this value was not computed")
    assert dry["error"].endswith("run without LTC_DRY_RUN")
    warm = json.loads(run_python(TRAIN.replace("{end}", ""), **environment).stdout)
    assert warm["codegen.graphs"] == 0
    assert warm["execute.launches"] >= 3


def test_an_error_of_the_compiler_is_raised_at_the_end(run_python):
    told = run_python(
        """
import torch, torch_ltc

@torch.library.custom_op("ltc_dry::odd", mutates_args=())
def odd(x: torch.Tensor) -> torch.Tensor:
    return x + 1

@odd.register_fake
def _(x):
    return torch.empty_like(x)

torch_ltc.register_lowering("ltc_dry::odd", mlir="no function")
try:
    with torch_ltc.precompile():
        kept = odd(torch.ones(3).to("lazy"))
        print("recorded")
except torch_ltc.Error as error:
    print("raised", error.stage, error.message)
torch.lazy.synchronize()
"""
    ).stdout
    assert told.startswith("recorded\nraised lower ")
    assert "does not parse" in told
