# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A size that is seen often gets a program of its own, in the background."""

import copy
import time

import pytest
import torch
import torch_ltc
from torch_ltc import no_compile, settings


def run_until(step, done, seconds=120):
    """Run the step again and again until `done()`."""
    end = time.monotonic() + seconds
    step()
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)  # for the compiler, which gives way to steps
        step()


def test_a_size_seen_often_gets_its_own_program(counts):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(13, 24), torch.nn.GELU(), torch.nn.LayerNorm(24)
    )
    lazy = copy.deepcopy(model).to("lazy")
    inputs = {rows: torch.randn(rows, 13) for rows in (5, 6, 17)}
    with torch.no_grad():
        wanted = {rows: model(x) for rows, x in inputs.items()}

        def step(rows):
            found = lazy(inputs[rows].to("lazy")).cpu()
            torch.testing.assert_close(found, wanted[rows])

        step(5)
        step(6)
        compiled = counts["codegen.graphs"]
        with settings.scope(static_after=4), no_compile() as counted:
            for rows in 17, 6:
                versions = counts["cache.own_versions"]
                run_until(
                    lambda rows=rows: step(rows),
                    lambda versions=versions: counts["cache.own_versions"] > versions,
                )
            for rows in 17, 6:
                step(rows)
            assert len(counted) == 0
    assert counts["codegen.graphs"] == compiled + 2
    assert counts["cache.cause.own_version"] == 2
    record = torch_ltc.explain()[-1]
    assert record.cause == "own_version" and not record.sizes_open
    assert record.needed_by.file.endswith("test_own_versions.py")
    assert "seen 4 times" in str(record)


def test_a_training_step_goes_on_as_before(counts):
    def losses(device, rounds):
        torch.manual_seed(0)
        model = torch.nn.Linear(11, 3).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        found = []
        for turn in range(rounds):
            x = torch.full((4 + turn % 3, 11), 0.1 * (turn % 7 + 1))
            loss = (model(x.to(device)) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    with settings.scope(static_after=5):
        found = losses("lazy", 600)
    assert found == pytest.approx(losses("cpu", 600), rel=1e-4, abs=1e-6)


def test_it_is_off_unless_it_is_wanted(counts):
    assert settings.static_after == 0
    for rows in [7, 8] + [9] * 50:
        assert torch.ones(rows, 3, device="lazy").sum().item() == 3 * rows
    assert counts["cache.own_versions"] == 0


@pytest.mark.parametrize("value", [-1, 0.5, "often", 2**70])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(torch_ltc.Error, match=f"'{value}' is .* setting static_after"):
        settings.static_after = value
    assert settings.static_after == 0


#: A step whose compile takes a while, run until that has begun in the background.
WORK = """
import os, time, torch, torch_ltc
torch_ltc.settings.static_after = 2

def step(rows):
    x = torch.full((rows, 8), 0.5, device="lazy")
    for _ in range(60):
        x = (x.softmax(1) + x.cumsum(0).tanh()).sin()
    return x.sum().item()

def begun():
    names = [open(f"/proc/self/task/{task}/comm").read().strip()
             for task in os.listdir("/proc/self/task")]
    return "ltc-background" in names

for rows in (5, 6, 6, 6):
    last = step(rows)
assert begun()
assert torch_ltc.metrics.snapshot().get("cache.own_versions", 0) == 0
"""


def test_a_process_ends_while_it_compiles(run_python):
    done = run_python(WORK + "print('end')\nraise SystemExit(7)\n", returncode=7)
    assert (done.stdout, done.stderr) == ("end\n", "")


def test_a_process_forks_while_it_compiles(run_python):
    done = run_python(
        WORK
        + """
child = os.fork()
if child == 0:
    print(torch.ones(3).sum().item(), flush=True)
    try:
        step(6)
    except RuntimeError as error:
        print("fork" in str(error), flush=True)
    raise SystemExit(0)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
end = time.monotonic() + 60
while not torch_ltc.metrics.snapshot().get("cache.own_versions"):
    assert time.monotonic() < end
    time.sleep(0.01)
print(abs(step(6) - last) < 1e-4)
"""
    )
    assert done.stdout == "3.0\nTrue\n0\nTrue\n", done.stderr
