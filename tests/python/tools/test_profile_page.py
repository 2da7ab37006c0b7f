# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of a profile, and what it says first of a script with troubles."""

import dataclasses
import inspect
import json
import re
import shutil
import subprocess

import pytest
import torch
import torch_ltc
from torch import nn
from torch_ltc.profiling import profile_files

LAZY = torch.device("lazy")


def train(steps):
    """Train a model whose graphs no other test compiles; read each step's loss."""
    torch.manual_seed(0)
    layers = nn.Linear(8, 27), nn.Softsign(), nn.CELU(0.7), nn.Linear(27, 1)
    model = nn.Sequential(*layers).to(LAZY)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.ones(4, 8, device=LAZY)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()


PROBE = """
<script>{
  const chart = $("steps").getBoundingClientRect();
  const mouse = (name, share) => $("steps").dispatchEvent(new MouseEvent(name,
    {clientX: chart.left + 60 + share * (chart.width - 60), clientY: chart.top + 9}));
  const before = [bars.length, bars[0].some[0].number];
  mouse("mousedown", 0.25); mouse("mouseup", 0.75); mouse("mousemove", 0);
  const zoomed = [first, last, $("shown").textContent];
  mouse("dblclick", 0);
  const rows = (id) => document.querySelectorAll("#" + id + " tr").length - 1;
  const all = rows("syncs");
  $("find").value = "ITEM"; $("find").dispatchEvent(new Event("input"));
  const tabs = [...$("tabs").children];
  const empty = tabs.filter((tab) => {
    tab.click();
    return document.querySelector("section.shown").textContent.trim().length < 40;
  }).map((tab) => tab.textContent);
  tabs[0].click();
  const count = (what) => document.querySelectorAll(what).length;
  tabs[1].click();
  const row = (kind) => timeline.rows.find((row) => row.title.endsWith(kind));
  const length = (kind) => row(kind).spans.length / 3;
  const viewed = timeline.view(), drawn = timeline.drawn();
  $("timeline").dispatchEvent(new WheelEvent("wheel",
    {deltaY: -400, clientX: 600, clientY: 60, cancelable: true}));
  const nearer = timeline.view(), place = $("timeline").getBoundingClientRect();
  $("timeline").dispatchEvent(new MouseEvent("mousemove",
    {clientX: place.left + 600, clientY: place.top + 25}));
  const span = $("span").textContent;
  $("timeline").dispatchEvent(new MouseEvent("dblclick"));
  const times = {viewed, drawn, nearer, span, all: timeline.view(),
    drawnOfAll: timeline.drawn(), steps: length(": steps"), graphs: length(": graphs"),
    kernels: length(": kernels"), titles: timeline.rows.map((row) => row.title)};
  tabs[3].click();
  const stages = [...$("leftStage").options].map((option) => option.value);
  const choose = (id, stage) => {
    $(id).value = stage; $(id).dispatchEvent(new Event("change"));
  };
  choose("leftStage", "lower"); choose("rightStage", "codegen");
  const beside = ["text", "listing"].map((id) => $(id).textContent.slice(0, 4000));
  tabs[0].click();
  const dots = count("#roofline circle"), areas = count("#memory path");
  const kernels = rows("kernels");
  $("findKernel").value = "aten::MM";
  $("findKernel").dispatchEvent(new Event("input"));
  const found = {tabs: tabs.length, empty, dots, areas, kernels,
    products: rows("kernels"), lines: rows("lines"), before, zoomed,
    times, stages, beside, all, items: rows("syncs"), graphs: rows("graphs"),
    seen: [first, last], advice: $("advice").textContent, failed: window.failed || ""};
  document.body.replaceChildren(JSON.stringify(found));
}</script>
"""


def repeat(found):
    """Give a profile ten thousand steps like its last, and a graph 3000 kernels."""
    last = found.data.settled[-1]
    found.data.steps[:] = [
        dataclasses.replace(
            last,
            number=number,
            start=last.start + number * last.time,
            end=last.end + number * last.time,
        )
        for number in range(1, 10_001)
    ]
    found.data.duration = found.data.steps[-1].end
    graph = found.graphs[0]
    kernel = next(each for each in graph.details.kernels if each.name == "aten::mm")
    graph.details.kernels = [
        dataclasses.replace(kernel, step=number) for number in range(3000)
    ]


@pytest.mark.skipif(
    not shutil.which("chromium"),
    reason="opens the page in a browser: apt-get install chromium",
)
def test_the_page_works_in_a_browser_with_many_steps(tmp_path):
    with torch_ltc.profile(tmp_path, stages=True) as found:
        train(40)
    repeat(found)
    profile_files.write(found.data, tmp_path)
    page = tmp_path / "profile.html"
    text = page.read_text()
    catch = "<script>window.onerror = (text) => { window.failed = text; };</script>"
    text = text.replace("<title>", catch + "<title>")
    page.write_text(text.replace("</body>", PROBE + "</body>"))
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    words += ["--window-size=1200,900", f"--user-data-dir={tmp_path}/user"]
    words += ["--enable-logging=stderr", page.as_uri()]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=True
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    seen = json.loads(re.search(r"<body>(.*)</body>", done.stdout, re.S)[1])
    assert seen["failed"] == ""
    assert seen["before"][1] == 1
    assert 100 < seen["before"][0] <= 10_000
    first, last, shown = seen["zoomed"]
    assert 2000 < first < 3000
    assert 7000 < last < 8000
    assert shown.startswith("steps 2")
    assert seen["seen"] == [0, 10_000]
    assert seen["all"] == len(found.ledger)
    assert seen["items"] == 1
    assert seen["graphs"] == len(found.graphs)
    assert seen["advice"]
    assert seen["tabs"] == 7
    check_timeline(seen["times"], found)
    assert seen["stages"] == [
        "as recorded",
        "import",
        "lower",
        "optimize",
        "codegen",
        "program",
    ]
    lower, codegen = seen["beside"]
    assert "linalg.generic" in lower
    assert "target triple" in codegen
    assert not seen["empty"]
    assert seen["kernels"] >= seen["products"] >= 3000
    assert seen["dots"] == 3000
    assert seen["areas"] == 7
    assert seen["lines"] >= 1


def check_timeline(times, found):
    """Check that rows are filled, and that a turn of the wheel looks nearer."""
    assert times["titles"] == [
        "thread 1: steps",
        "thread 1: syncs",
        "thread 1: stages",
        "thread 1: ops",
        "queue: waiting",
        "device: graphs",
        "device: kernels",
    ]
    assert times["steps"] == 10_000
    assert times["graphs"] == len(found.runs)
    assert times["kernels"] == len(found.data.spans) > 0
    assert times["drawn"] > 0
    (begin, end), (first, last), (least, most) = (
        times[name] for name in ("viewed", "nearer", "all")
    )
    assert begin < first < last < end
    assert most - least > 100 * (end - begin)
    assert 500 < times["drawnOfAll"] < 5_000
    assert times["span"].endswith("(thread 1: steps)")


TROUBLES = inspect.cleandoc("""
    import torch
    model = torch.nn.Linear(256, 256).to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    mask, losses, total = torch.arange(256.0), [], 0
    for step in range(1, 61):
        rows = 8 + step % 5
        x = torch.ones(rows, 256, device="lazy").sin()  # shape
        x = x * mask.to("lazy")  # transfer
        kept = torch.nonzero(model.bias > 0)  # fallback
        if step == 37:
            x = x * float("nan")
        loss = model(x).square().mean()  # nan
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss * 2)  # leak
        total += loss.item()  # item
    y = torch.ones(4, device="lazy")
    for step in range(200):
        for _ in range(20):
            y = y.cos()
        sum(range(3000))
        torch.lazy.mark_step()  # host
""")


def test_the_first_screen_names_each_trouble_with_its_line(run_python, tmp_path):
    """Each of the seven kinds, by the line that ends with its name."""
    script = tmp_path / "train.py"
    script.write_text(TROUBLES)
    code = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    run_python(code, LTC_PROFILE=str(tmp_path / "run"), timeout=200)
    page = (tmp_path / "run" / "profile.html").read_text()
    start = page.index('id="profile">') + len('id="profile">')
    held = page[start : page.index("</script>", start)]
    advice = json.loads(held, parse_constant=pytest.fail)["advice"]  # as a browser does
    assert advice[0]["kind"] == "nan"
    kinds = {"item": "sync", "shape": "compile"}
    for number, line in enumerate(TROUBLES.splitlines(), 1):
        _, _, trouble = line.partition("  # ")
        if trouble:
            kind = kinds.get(trouble, trouble)
            told = [row["text"] for row in advice if row["kind"] == kind]
            place = f"train.py:{number}"
            assert any(place in text for text in told), (trouble, advice)
