# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m torch_ltc migrate parity``: eager, lazy and compiled, side by side."""

import argparse
import json
import math
import re
from pathlib import Path

import pytest
import torch
from torch_ltc.migrate import command, parity, parity_report, rewriting
from torch_ltc.migrate.redirect import Redirect

SCRIPTS = {path.stem: path for path in (Path(__file__).parent / "scripts").glob("*.py")}

# Two that differ, one that fails on lazy alone, one that never steps: run together.
DIFFERS = """
import sys
import torch
model = torch.nn.Linear(2, 1).to("lazy")
optimizer = torch.optim.SGD(model.parameters(), float(sys.argv[1]))
for step in range(3):
    scale = 1 + (step == 2) * (next(model.parameters()).device.type == "lazy")
    loss = scale * model(torch.ones(4, 2, device="lazy")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if scale > 1:
        torch.rand(1)
"""
FAILS = """
import torch
def check(x):
    if x.device.type == "lazy":
        raise ValueError("not here")
model = torch.nn.Linear(2, 1).to("lazy")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(2, device="lazy")).sum().backward()
optimizer.step()
check(model.weight)
"""
NO_STEP = "import torch\nprint(torch.ones(2, device='lazy').sum().item())\n"
ENDS = "import os\nos._exit(7)\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What `parity` says of each of them, by name."""
    folder = tmp_path_factory.mktemp("scripts")
    sources = {"differs": DIFFERS, "fails": FAILS, "no_step": NO_STEP, "ends": ENDS}
    scripts = {}
    for name, source in sources.items():
        path = folder / f"{name}.py"
        path.write_text(source)
        scripts[name] = parity.Script(str(path), ("0.1",))
    for name in ("trainer", "xla"):
        scripts[name] = parity.Script(str(SCRIPTS[name]))
    runs = parity.run(scripts.values(), timeout=100)
    pairs = zip(scripts.items(), runs, strict=True)
    return {name: parity_report.as_dict(run, script) for (name, script), run in pairs}


@pytest.mark.parametrize(("name", "steps"), [("trainer", 8), ("xla", 8)])
def test_scripts_that_agree(found, name, steps):
    data = found[name]
    assert data["verdict"] == "parity", parity_report.text(data)
    modes = data["modes"]
    assert [len(modes[mode]["losses"]) for mode in parity.MODES] == [steps] * 3
    assert modes["compiled"]["graphs"]["dynamo.graphs"] >= 1
    assert modes["lazy"]["graphs"].get("dynamo.graphs", 0) == 0
    assert all(row["peak_bytes"] > 2**26 for row in modes.values())
    text = parity_report.text(data)
    assert re.search(rf"^steps +{steps} +{steps} +{steps}$", text, re.MULTILINE)
    assert text.endswith("\nparity: ok")


def test_a_difference_is_told_with_its_first_step(found):
    data = found["differs"]
    assert data["verdict"] == "differs"
    for mode in ("lazy", "compiled"):
        compared = data["modes"][mode]["compared"]
        assert compared["first_step"] == 2
        assert compared["losses"] == pytest.approx(1.0, rel=1e-3)
        assert compared["streams"] is None
        losses, *parameters = compared["problems"]
        assert losses.startswith("losses differ from step 2 on, by 1.0e+00 at most")
        assert parameters[0].startswith("parameter 0 (1, 2) differs by ")
    assert parity_report.text(data).endswith("\nparity: the runs differ")


def test_a_failure_is_told_with_the_scripts_line(found):
    data = found["fails"]
    assert data["verdict"] == "failed"
    said = list(parity_report.sentences(data))
    assert said == [
        f"{mode} failed at {data['script']}:5: ValueError: not here"
        for mode in ("lazy", "compiled")
    ]
    text = parity_report.text(data)
    assert "lazy said last:\n" in text
    assert text.endswith("\nparity: not all of it ran")


def test_scripts_that_cannot_be_compared(found):
    (said,) = parity_report.sentences(found["no_step"])
    assert said == "no optimizer took a step: there is nothing to compare"
    said = list(parity_report.sentences(found["ends"]))
    assert said[0].startswith("eager failed at no line of the script: ")
    assert said[0].endswith("ended with 7")


def test_the_page_and_json_hold_everything(found):
    page = parity_report.page(found["differs"])
    assert "http" not in re.sub(r"<script type=.*?</script>", "", page, flags=re.S)
    start = page.index('id="parity">') + len('id="parity">')
    held = json.loads(page[start : page.index("</script>", start)])
    assert held["modes"] == json.loads(json.dumps(found["differs"]["modes"]))
    assert held["sentences"]
    assert held["version"] == 1


def test_comparing():
    assert parity.difference(2.0, 2.2) == pytest.approx(0.1)
    assert parity.difference(math.nan, math.nan) == 0
    assert parity.difference(1.0, math.nan) == math.inf
    assert parity.tolerance_of("bfloat16") > parity.tolerance_of("float64")
    assert parity.tolerance_of("float64", 0.5) == 0.5
    run = {
        "losses": [[1.0]],
        "loss_dtypes": ["float32"],
        "sums": {},
        "streams": [{"torch": "a"}],
        "parameters": [torch.ones(2)],
    }
    other = {**run, "losses": [[1.0], [1.0]], "streams": [{"torch": "b"}]}
    other["parameters"] = [torch.tensor([1.0, math.nan])]
    first, second, third = parity.compare(
        {"eager": run, "lazy": other}, "lazy"
    ).problems
    assert first == "eager took 1 steps, lazy 2"
    assert second.startswith("parameter 0 (2,) differs by ")
    assert third == "random numbers are others from step 0 on"
    other["parameters"] = [torch.ones(3)]
    told = parity.compare({"eager": run, "lazy": other}, "lazy").problems
    assert "parameter 0 has another shape or dtype" in told


def test_the_device_of_calls_is_another_one():
    there = torch.device("lazy", 0)
    with Redirect("cpu"):
        here = torch.device("lazy")
        made = [
            torch.ones(2, device="lazy"),
            torch.ones(2).to("lazy:0"),
            torch.ones(2).to(there),
            torch.nn.Linear(2, 2).to(here).weight,
            torch.tensor([1.0], device="xla"),
        ]
        assert {x.device.type for x in made} == {"cpu"}
        assert here.type == "cpu"
        with torch.autocast("lazy", torch.bfloat16):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
        torch.lazy.synchronize()
    assert torch.ones(2, device="lazy").device.type == "lazy"


def run_command(*arguments):
    parser = argparse.ArgumentParser()
    command.define(parser)
    return command.run(parser.parse_args(["parity", *map(str, arguments)]))


def test_the_command(capsys, monkeypatch, tmp_path):
    row = {
        "failed": None,
        "losses": [[1.0]],
        "loss_dtypes": ["float32"],
        "sums": {},
        "streams": [{}],
        "step_seconds": [0.1],
        "peak_bytes": 2**30,
        "graphs": {"codegen.graphs": 1, "fallbacks": 0},
        "parameters": [],
    }
    lazy, seen = dict(row), []

    def run(scripts, timeout):
        seen.append((*scripts, timeout))
        return [{"eager": row, "lazy": lazy, "compiled": row}]

    monkeypatch.setattr(parity, "run", run)
    script = tmp_path / "train.py"
    script.write_text("")
    files = ["--html", tmp_path / "a.html", "--json", tmp_path / "a.json"]
    assert run_command("--timeout", 5, *files, script, "--epochs", 3) == 0
    assert seen == [(parity.Script(str(script), ["--epochs", "3"]), 5.0)]
    assert "parity: ok" in capsys.readouterr().out
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "parity"
    assert "<!doctype html>" in (tmp_path / "a.html").read_text()
    lazy["losses"] = [[1.01]]
    assert run_command(script) == 1
    assert run_command("--rtol", 0.1, script) == 0
    lazy["failed"] = {"error": "ValueError: no", "line": f"{script}:3"}
    assert run_command(script) == 2
    assert f"lazy failed at {script}:3: ValueError: no" in capsys.readouterr().out
    assert run_command(tmp_path / "missing.py") == 2
    assert "there is no file" in capsys.readouterr().err
    lazy["failed"] = None
    assert run_command("--json", tmp_path / "no" / "a.json", script) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.slow
def test_rewritten_scripts_have_parity(tmp_path):
    scripts = []
    for name, path in sorted(SCRIPTS.items()):
        after = tmp_path / f"{name}.py"
        after.write_text(rewriting.rewrite(path.read_text()).text)
        scripts.append(parity.Script(str(path), (), str(after)))
    runs = parity.run(scripts, modes=("eager", "compiled"))
    for script, run in zip(scripts, runs, strict=True):
        data = parity_report.as_dict(run, script)
        assert data["verdict"] == "parity", parity_report.text(data)
        # Dynamo takes nothing of a function that calls an nn.GRU.
        is_recurrent = "nn.GRU(" in Path(script.path).read_text()
        graphs = data["modes"]["compiled"]["graphs"]["dynamo.graphs"]
        assert graphs or is_recurrent, script.path
