# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of steps: torch_ltc.profile, LTC_PROFILE, python -m torch_ltc profile."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch import nn
from torch_ltc.profiling import profile_advice, profile_data, profile_files

LAZY = torch.device("lazy")


def line_after(marker):
    """Return the number of this file's line that ends with the comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = [n for n, text in enumerate(lines, 1) if text.endswith("# " + marker)]
    return found


def train(steps=3, read=None, width=16):
    """Train a little model, and return it; `read` is called with each loss."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 1)).to(LAZY)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.ones(4, 8, device=LAZY)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()  # the step ends
        if read:
            read(loss)
    return model


def profiled(work):
    with torch_ltc.profile() as found:
        work(torch.arange(4.0, device=LAZY) + 1)
    return found


def by_mark_step(x):
    kept = x * 2
    torch.lazy.mark_step()  # mark_step
    return kept


def by_item(x):
    return (x * 3).sum().item()  # item


def by_branch(x):
    if x.mul(5).exp().log().sum() > 0:  # branch
        pass


def by_cpu(x):
    return (x * 4).cpu()  # cpu


def by_tolist(x):
    return (x * 4).tolist()  # tolist


def by_numpy(x):
    return (x * 4).cpu().numpy()  # numpy


def by_print(x):
    return str(x * 5)  # print


def by_fallback(x):
    return torch.nonzero(x.exp() > 3)  # fallback


def by_linalg(x):
    return torch.linalg.inv(torch.diag(x))  # linalg


def by_factors(x):
    return torch.linalg.svd(torch.diag(x))  # factors


def by_cap(x):
    with torch_ltc.settings.scope(max_pending_ops=3):
        for _ in range(5):
            x = x + 1  # cap
    return x


def by_synchronize(x):
    kept = x * 6
    torch.lazy.synchronize()  # synchronize
    return kept


def by_event(x):
    kept = x * 7
    torch.lazy.Event().record()  # event
    return kept


def by_optimizer(x):
    train(1)


SYNCS = [
    (by_mark_step, "mark_step", "mark_step", ""),
    (by_item, "item", "item", ""),
    (by_branch, "branch", "item", ""),
    (by_cpu, "cpu", "read", ""),
    (by_tolist, "tolist", "read", ""),
    (by_numpy, "numpy", "read", ""),
    (by_print, "print", "print", ""),
    (by_fallback, "fallback", "fallback", "aten::nonzero"),
    (by_linalg, "linalg", "linalg", "linalg.inv"),
    (by_factors, "factors", "linalg", "aten::_linalg_svd"),
    (by_cap, "cap", "cap", ""),
    (by_synchronize, "synchronize", "synchronize", ""),
    (by_event, "event", "event", ""),
    (by_optimizer, "the step ends", "optimizer_step", ""),
]


@pytest.mark.parametrize(("work", "marker", "cause", "detail"), SYNCS)
def test_a_sync_has_its_cause_and_line(work, marker, cause, detail):
    found = profiled(work)
    of_cause = [sync for sync in found.syncs if sync.cause == cause]
    assert of_cause, found.syncs
    sync = of_cause[0]
    assert sync.detail == detail
    assert sync.place.file.endswith("test_profile.py")
    assert sync.place.line == line_after(marker)
    (row,) = [row for row in found.ledger if (row.cause, row.detail) == (cause, detail)]
    assert (row.count, row.place) == (len(of_cause), sync.place)
    others = {sync.cause for sync in found.syncs} - {cause, "parameters"}
    assert not others, found.syncs


def test_steps_are_counted_and_their_parts_add_up():
    with torch_ltc.profile() as found:
        train(5, read=lambda loss: loss.item(), width=23)
    whole = [step for step in found.steps if step.whole]
    assert len(whole) == 5
    assert [step.number for step in whole] == [1, 2, 3, 4, 5]
    assert not found.steps[-1].whole
    for before, step in zip(found.steps, found.steps[1:], strict=False):
        assert before.end == step.start
    for step in whole:
        assert sum(step.parts.values()) == step.time
        assert min(step.parts.values()) >= 0
        assert step.cause == "optimizer_step"
        assert step.place.line == line_after("the step ends")
        assert step.launches >= 1
        assert step.ops > 0
        assert step.running > 0
        assert step.parts["record"] > 0
        assert step.parts["graph"] > 0
    assert whole[0].parts["compile"] > 0
    assert sum(step.launches for step in found.steps) == len(found.runs)
    assert sum(sync.graphs for sync in found.syncs) == len(found.runs)


def test_an_empty_mark_step_is_no_step():
    with torch_ltc.profile() as found:
        for _ in range(3):
            kept = torch.ones(3, device=LAZY) + 1
            torch.lazy.mark_step()
            torch.lazy.mark_step()
            del kept
    assert sum(step.whole for step in found.steps) == 3


def test_optimizer_steps_end_no_step_without_auto_step():
    with torch_ltc.settings.scope(auto_step=False), torch_ltc.profile() as found:
        kept = train(2)
        torch.lazy.mark_step()
        del kept
    assert [step.cause for step in found.steps if step.whole] == ["mark_step"]


def test_graphs_know_their_launches_and_why_they_were_compiled():
    with torch_ltc.profile() as found:
        for size in (5, 5, 6):
            (torch.ones(size, device=LAZY).cos() * 1.25).cpu()
    assert sum(graph.launches for graph in found.graphs) == 3
    assert sum(graph.running for graph in found.graphs) == sum(
        run.time for run in found.runs
    )
    compiles = [each for graph in found.graphs for each in graph.compiles]
    assert {each.cause for each in compiles} <= set(torch_ltc.autopsy.CAUSES)
    assert len(compiles) == 2
    for graph in found.graphs:
        assert graph.ops >= 2
        assert graph.results == 1


def test_nothing_is_recorded_when_off():
    with torch_ltc.profile() as first:
        by_item(torch.ones(4, device=LAZY))
    by_item(torch.ones(4, device=LAZY))
    with torch_ltc.profile() as second:
        pass
    assert len(first.syncs) == 1
    assert not second.syncs
    assert not second.runs


def test_a_profile_inside_another_warns_and_is_empty():
    with torch_ltc.profile() as outer:
        with pytest.warns(UserWarning, match="is on already"), torch_ltc.profile() as p:
            by_item(torch.ones(4, device=LAZY))
        assert not p.syncs
        by_item(torch.ones(4, device=LAZY))
    assert len(outer.syncs) == 2


def test_an_exception_inside_keeps_what_was_profiled(tmp_path):
    found = torch_ltc.profile(tmp_path)
    with pytest.raises(KeyError), found:
        train(2)
        raise KeyError
    assert sum(step.whole for step in found.steps) == 2
    assert (tmp_path / "profile.json").exists()


def test_a_function_is_profiled(tmp_path):
    torch_ltc.profile(tmp_path)(train)(2)
    steps = json.loads((tmp_path / "profile.json").read_text())["steps"]
    assert sum(step["whole"] for step in steps) == 2


def test_rows_are_flat_and_a_callback_gets_the_profile():
    ended = []
    called = torch_ltc.profile(callback=ended.append)(train)
    called(3, read=lambda loss: loss.item())
    called(2)
    first, second = ended
    rows = first.rows("steps")
    assert [row["number"] for row in rows if row["whole"]] == [1, 2, 3]
    for row, step in zip(rows, first.steps, strict=True):
        assert row["parts.wait"] == step.parts["wait"]
        assert row["place.line"] == step.place.line
    for name in ("syncs", "ledger", "runs", "graphs", "kernels", "transfers", "memory"):
        rows = first.rows(name)
        assert len(rows) == len(getattr(first, name)) > 0
        assert not any(
            isinstance(value, dict) for row in rows for value in row.values()
        )
    assert sum(row["whole"] for row in second.rows("steps")) == 2
    with pytest.raises(ValueError, match="there are steps, syncs"):
        first.rows("step")


def test_threads_have_steps_of_their_own():
    from threading import Thread

    def work():
        for _ in range(4):
            kept = torch.ones(3, device=LAZY) + 1
            torch.lazy.mark_step()
            del kept

    with torch_ltc.profile() as found:
        threads = [Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for step in found.steps:
        assert sum(step.parts.values()) == step.time
    assert len({step.thread for step in found.steps if step.whole}) == 2


def test_the_files_have_their_form(tmp_path):
    with torch_ltc.profile(tmp_path / "new" / "run") as found:
        train(3, read=lambda loss: loss.item())
    folder = tmp_path / "new" / "run"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["profile.html", "profile.json", "trace.json"]
    read = json.loads((folder / "profile.json").read_text())
    assert (read["format"], read["version"]) == (profile_files.FORMAT, 1)
    assert len(read["steps"]) == len(found.steps)
    assert read["steps"][0]["parts"] == found.steps[0].parts
    assert read["syncs"][0]["place"].keys() == {"file", "line", "function"}
    assert len(read["graphs"]) == len(found.graphs)
    check_page((folder / "profile.html").read_text(), read)


def check_page(page, read):
    """Check that the page needs no network, and holds the profile."""
    assert "http://" not in page
    assert "https://" not in page
    start = page.index('id="profile">') + len('id="profile">')
    held = json.loads(page[start : page.index("</script>", start)])
    assert held["steps"] == read["steps"]
    assert held["ledger"] == read["ledger"]


SCRIPT = inspect.cleandoc("""
    import sys
    import torch
    model = torch.nn.Linear(4, 1).to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(int(sys.argv[1])):
        loss = model(torch.ones(2, 4, device="lazy")).mean()
        loss.backward()
        optimizer.step()
        print("loss", loss.item())
    sys.exit(3)
""")


def test_the_command_profiles_a_script(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    words = [sys.executable, "-m", "torch_ltc", "profile", "--dir", "run"]
    done = subprocess.run(
        [*words, script, "6"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout.count("loss") >= 6
    assert "6 steps" in done.stdout
    assert "train.py:9" in done.stdout
    read = json.loads((tmp_path / "run" / "profile.json").read_text())
    items = [row for row in read["ledger"] if row["cause"] == "item"]
    assert [(row["count"], row["place"]["line"]) for row in items] == [(6, 9)]


def test_the_setting_profiles_a_program(run_python, tmp_path):
    code = SCRIPT.replace("int(sys.argv[1])", "4")
    run_python(code, returncode=3, LTC_PROFILE=str(tmp_path / "run"))
    read = json.loads((tmp_path / "run" / "profile.json").read_text())
    assert sum(step["whole"] for step in read["steps"]) == 4


def test_a_folder_that_cannot_be_written_is_told_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), torch_ltc.profile(tmp_path / "file"):
        pytest.fail("it began")
    by_item(torch.ones(4, device=LAZY))


def test_stages_that_cannot_be_written_leave_no_profile_on(tmp_path):
    (tmp_path / "stages").write_text("")
    with pytest.raises(OSError), torch_ltc.profile(tmp_path, stages=True):
        pytest.fail("it began")
    with torch_ltc.profile() as found:
        by_item(torch.ones(4, device=LAZY))
    assert len(found.syncs) == 1
    with pytest.raises(ValueError, match="name a directory"):
        torch_ltc.profile(stages=True)


def test_a_failed_write_costs_no_training(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(profile_files, "_write", full)
    with (
        pytest.warns(UserWarning, match="cannot be written.*No space"),
        torch_ltc.profile(tmp_path) as found,
    ):
        train(1)
    assert found.steps
    assert not os.listdir(tmp_path)


def test_the_summary_names_the_read_of_each_step():
    with torch_ltc.profile() as found:
        train(4, read=lambda loss: loss.item())
    text = str(found)
    assert "4 steps" in text
    assert "optimizer_step" in text
    assert f"test_profile.py:{line_after('the step ends')}" in text


def made_up(*, item=0, compiles=0, running=0, outside=0):
    """Return a profile of ten steps of 10 ms; times are ms a step."""
    ms = 1_000_000
    place = torch_ltc.autopsy.Place("train.py", 88, "main")
    rest = 10 - item - compiles - outside
    parts = {"record": 0, "compile": compiles * ms, "wait": (item + rest) * ms}
    parts["outside"] = outside * ms
    sync_parts = {"compile": 0, "wait": item * ms}
    steps, syncs = [], []
    for number in range(1, 11):
        start, end = (number - 1) * 10 * ms, number * 10 * ms
        step = profile_data.Step(
            number, start, end, 1, True, "mark_step", place, parts, running=running * ms
        )
        steps.append(step)
        if item:
            sync = (start, start + item * ms, 1, "item", "", place, sync_parts, 0)
            syncs.append(profile_data.Sync(*sync))
    return profile_data.Data(100 * ms, 0, steps, syncs, [], [], [])


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"item": 4}, ["item at train.py:88 in main takes 4 ms a step: read it"]),
        ({"compiles": 3}, ["10 of 10 steps compiled a graph, 30 ms in all"]),
        (
            {"outside": 8, "running": 2},
            ["80 % of a step that ends at train.py:88"],
        ),
        ({"outside": 8, "running": 9}, []),
        (
            {"outside": 6, "item": 2, "compiles": 1},
            [
                "60 % of a step",
                "item at train.py:88",
                "10 of 10 steps compiled",
            ],
        ),
        ({}, []),
    ],
)
def test_the_advice_names_what_costs_most_first(times, said):
    found = [row.text for row in profile_advice.advice(made_up(**times))]
    assert len(found) == len(said), found
    for text, start in zip(found, said, strict=True):
        assert text.startswith(start)


def test_a_program_that_ends_no_step_is_told_how():
    with torch_ltc.profile() as found:
        by_item(torch.ones(4, device=LAZY))
    assert str(found).startswith("no step ended")


class Scalars:
    """What a SummaryWriter is given."""

    def __init__(self):
        self.rows = {}

    def add_scalar(self, name, value, step):
        self.rows[name, step] = value


def test_steps_are_scalars_for_tensorboard():
    with torch_ltc.profile() as found:
        train(3, read=lambda loss: loss.item())
    writer = Scalars()
    assert found.write_scalars(writer) == 3
    for step in found.steps[:3]:
        assert writer.rows["torch_ltc/step ms", step.number] == step.time / 1e6
        wait = writer.rows["torch_ltc/parts ms/wait", step.number]
        assert wait == step.parts["wait"] / 1e6
    # A loss is read behind the end of its step.
    assert [writer.rows["torch_ltc/syncs", n] for n in (2, 3)] == [1, 1]


def test_a_directory_of_scalars_needs_tensorboard(tmp_path, monkeypatch):
    with torch_ltc.profile() as found:
        train(2)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match="pip install tensorboard"):
        found.write_scalars(tmp_path)
    monkeypatch.undo()
    pytest.importorskip("tensorboard")
    assert found.write_scalars(tmp_path) == 2
    assert list(tmp_path.glob("events.*"))


def test_processes_that_a_profiled_one_starts_write_nothing(run_python, tmp_path):
    code = inspect.cleandoc("""
        import os, subprocess, sys, torch
        torch.ones(2, device="lazy").sum().item()
        child = "import torch; torch.ones(3, device='lazy').sum().item()"
        subprocess.run([sys.executable, "-c", child], check=True)
        assert not os.path.exists("run/profile.json")
    """)
    run_python(
        code.replace("run/", f"{tmp_path}/run/"),
        LTC_PROFILE=f"{tmp_path}/run",
        timeout=300,
    )
    assert (tmp_path / "run" / "profile.json").exists()
