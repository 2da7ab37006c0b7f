# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m torch_ltc migrate lint``: what ties a script to a lazy device."""

import argparse
import json
import subprocess
import sys
import textwrap

import pytest
from torch_ltc.migrate import command, rules
from torch_ltc.migrate.lint import lint

# Source, and what is found: (line, rule).
SOURCES = [
    ("x = torch.randn(3, device='lazy')", [(1, "device")]),
    ("x = x.to('lazy:1')", [(1, "device")]),
    ("dev = 'cuda' if cuda else 'lazy'", [(1, "device")]),
    ("if x.device.type == 'xla': pass", [(1, "device")]),
    ("def f(x, *, device='hpu'): pass", [(1, "device")]),
    ("parser.add_argument('--device', default='lazy')", [(1, "device")]),
    ("with torch.autocast('lazy'): pass", [(1, "device")]),
    ("mode = 'lazy'; load(x, policy='lazy')", []),
    ("'''lazy'''\nx = {'lazy': 1}", []),
    ("import torch\ntorch.lazy.mark_step()", [(2, "step-boundary")]),
    ("import torch._lazy", [(1, "lazy-import")]),
    (
        "import torch._lazy.ts_backend as ts\nts.init()",
        [(1, "lazy-import"), (2, "lazy-api")],
    ),
    (
        "from torch._lazy import mark_step as end\nend()",
        [(1, "lazy-import"), (2, "step-boundary")],
    ),
    (
        "import torch_xla.core.xla_model as xm\nd = xm.xla_device()\n"
        "xm.optimizer_step(o)\nxm.frobnicate()",
        [
            (1, "lazy-import"),
            (2, "device"),
            (3, "step-boundary"),
            (4, "unknown-api"),
        ],
    ),
    (
        "import habana_frameworks.torch.core as htcore\nhtcore.mark_step()",
        [(1, "lazy-import"), (2, "step-boundary")],
    ),
    ("from torch import nn\nmark_step()", []),
    (
        "for x in data:\n    loss = f(x)\n    log(loss.item())\n    loss.backward()",
        [(3, "sync-in-step")],
    ),
    ("for x in data:\n    print(f(x).item())", []),
    ("if (x > 0).any(): y()", [(1, "branch-on-value")]),
    ("while loss.item() > 1e-3: step()", [(1, "branch-on-value")]),
    ("assert not x.isnan().any()", [(1, "branch-on-value")]),
    ("if len(x) > 3 and flag: y()", []),
    (
        "class M(nn.Module):\n    def forward(self, x):\n"
        "        self.last = x\n        self.calls += 1\n        return x",
        [(3, "side-effect"), (4, "side-effect")],
    ),
    ("class M:\n    def __init__(self):\n        self.last = 0", []),
    # Through variables, attributes and options.
    (
        "import torch\nm = torch.lazy\nm.mark_step()",
        [(2, "lazy-import"), (3, "step-boundary")],
    ),
    (
        "end, n = getattr(torch, 'lazy').mark_step, 1\ndef f():\n    end()",
        [(1, "unknown-api"), (3, "step-boundary")],
    ),
    ("run(after=torch.lazy.mark_step)", [(1, "unknown-api")]),
    ("import importlib\nimportlib.import_module('torch_xla')", [(2, "unknown-api")]),
    (
        "def f():\n    import torch_xla as m\ndef g():\n    m.sync()",
        [(2, "lazy-import")],
    ),
    ("where = 'lazy'\ndef f(x):\n    return x.to(where)", [(1, "device")]),
    ("where = 'lazy'\nopen(where)", []),
    ("a = 'lazy'\nb = a\nx.to(device=b if n else 'cpu')", [(1, "device")]),
    ("self.where = 'lazy'\nx.to(self.where)", [(1, "device")]),
    ("a = b\nb = a\nx.to(a)\na.mark_step()", []),
    (
        "p.add_argument('-b', '--run-on', default='lazy')\nx.to(p.parse_args().run_on)",
        [(1, "device")],
    ),
    ("p.add_argument('--device', choices=['cpu', 'lazy'])", [(1, "device")]),
    ("c = {'device': 'lazy', 'mode': 'lazy'}", [(1, "device")]),
    ("d = os.environ.get('MY_DEVICE', 'lazy')", [(1, "device")]),
    ("x.to(f'lazy:{rank}'); print(f'lazy {rank}')", [(1, "device")]),
    # What reads a value, and what does not.
    (
        "for x in data:\n    loss = f(x)\n    loss.backward()\n"
        "    total += float(loss)\n    print(f'{loss}')\n    if loss < best: s()",
        [(4, "sync-in-step"), (5, "sync-in-step"), (6, "branch-on-value")],
    ),
    (
        "import numpy as np\nfor x in data:\n    f(x).backward()\n"
        "    k = float(args.k)\n    y.to('cpu')\n    a = np.load(p).tolist()",
        [(5, "sync-in-step")],
    ),
    ("import numpy as np\nif np.any(a): b()", []),
    ("if best is None or loss is not best: loss.backward()", []),
    (
        "for e in epochs:\n    for x in data:\n        f(x).backward()\n"
        "    print(total.item())\n    scheduler.step()",
        [],
    ),
    (
        "def step(x):\n    loss = f(x)\n    loss.backward()\n    return loss.item()",
        [(4, "sync-in-step")],
    ),
    ("for t in steps:\n    obs = env.step(policy(obs).argmax().item())", []),
    (
        "class M(nn.Module):\n    def forward(self, x):\n        self.kept.append(x)",
        [(3, "side-effect")],
    ),
    ("é = 'é'; x = y.to('lazy')", [(1, "device")]),
]


def test_columns_count_characters():
    (found,) = lint("é = 'é'; x = y.to('lazy')")
    assert (found.column, found.text) == (19, "'lazy'")


@pytest.mark.parametrize(("source", "expected"), SOURCES)
def test_what_is_found(source, expected):
    found = [(finding.line, finding.rule.name) for finding in lint(source)]
    assert found == expected


def test_every_rule_is_met():
    met = {name for _, expected in SOURCES for _, name in expected}
    assert met == set(rules.RULES)
    assert {rule for rule, _ in rules.FUNCTIONS.values()} <= set(rules.RULES)


SCRIPT = textwrap.dedent("""
    import torch

    model = torch.nn.Linear(2, 2).to("lazy")
    for i in range(3):
        loss = model(torch.ones(2, device="lazy")).sum()
        loss.backward()
        if loss.item() > 3:
            break
        torch.lazy.mark_step()
""")


@pytest.fixture
def scripts(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "train.py").write_text(SCRIPT)
    (tmp_path / "plain.py").write_text("import torch\n")
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command in this process; return its exit code and what it printed."""

    def call(*arguments):
        parser = argparse.ArgumentParser()
        command.define(parser)
        code = command.run(parser.parse_args(["lint", *map(str, arguments)]))
        return code, *capsys.readouterr()

    return call


def test_the_command(scripts):
    line = [sys.executable, "-m", "torch_ltc", "migrate", "lint", str(scripts)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith("5 findings in 2 files; 2 need a person\n")


def test_text(scripts, run):
    code, out, _ = run(scripts)
    assert code == 1
    place = scripts / "deep" / "train.py"
    assert out.startswith(f"{place}:4:34: LTC001 a lazy device is named: ")
    assert run(scripts / "plain.py")[0] == 0


def test_json_and_sarif(scripts, run):
    found = json.loads(run(scripts, "--format", "json")[1])
    assert found["files"] == 2
    assert [row["line"] for row in found["findings"]] == [4, 6, 8, 8, 10]
    log = json.loads(run(scripts, "--format", "sarif")[1])
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    codes = {rule["id"] for rule in only["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in only["results"]} <= codes
    assert len(only["results"]) == len(found["findings"])


def test_exit_codes(scripts, run):
    assert run(scripts, "--fail-on", "never")[0] == 0
    assert run(scripts, "--fail-on", "person")[0] == 1
    (scripts / "deep" / "train.py").write_text("x = y.to('lazy')\n")
    assert run(scripts, "--fail-on", "person")[0] == 0
    (scripts / "broken.py").write_text("def f(:\n")
    code, out, err = run(scripts)
    assert code == 2
    assert "broken.py: cannot be read" in err
    assert "1 findings in 2 files" in out
    assert run(scripts / "missing.py")[0] == 2
    (scripts / "book.ipynb").write_text('{"cells": []}')
    code, out, err = run(scripts / "book.ipynb")
    assert code == 2 and "it is a notebook" in err
