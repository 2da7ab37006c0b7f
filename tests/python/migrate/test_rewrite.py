# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m torch_ltc migrate rewrite``: from the lazy device to torch.compile."""

import argparse
import ast
import os
import sys
from pathlib import Path

import pytest
from torch_ltc import migrate
from torch_ltc.migrate import command, files
from torch_ltc.migrate.calls import CALLS
from torch_ltc.migrate.lint import lint
from torch_ltc.migrate.rewriting import rewrite
from torch_ltc.migrate.rules import FUNCTIONS

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))

XLA = "import torch\nimport torch_xla.core.xla_model as xm\n"
IMPORT = "import torch\n"

# Before, and after.
PAIRS = [
    ("x = y.to('lazy')\n", "x = y.to('cpu')\n"),
    ('x = y.to(device="lazy:1")  # there\n', 'x = y.to(device="cpu")  # there\n'),
    ("x = y.to(f'lazy:{n}')\n", "x = y.to('cpu')\n"),
    ("d = 'cuda' if g else 'lazy'\nx.to(d)\n", "d = 'cuda' if g else 'cpu'\nx.to(d)\n"),
    # A line that goes away leaves comments, and the rest of the line.
    (
        IMPORT + "for x in y:\n    # the end\n    torch.lazy.mark_step()\n    f(x)\n",
        IMPORT + "for x in y:\n    # the end\n    f(x)\n",
    ),
    (
        IMPORT + "f(); torch.lazy.mark_step()  # both\ntorch.lazy.mark_step(); f()\n",
        IMPORT + "f()  # both\nf()\n",
    ),
    (
        IMPORT + "if x:\n    # the end\n    torch.lazy.mark_step()\nf()\n",
        IMPORT + "if x:\n    # the end\n    pass\nf()\n",
    ),
    (
        IMPORT + "if x: torch.lazy.mark_step()\n",
        IMPORT + "if x: pass\n",
    ),
    (
        IMPORT + "def f():\n\tg()\n\n\ttorch.lazy.mark_step()\n\n\t# last\n",
        IMPORT + "def f():\n\tg()\n\n\t# last\n",
    ),
    # Imports, and variables in their place.
    (
        "import os\nimport torch._lazy\n\ntorch._lazy.mark_step()\nx = torch.ones(2)\n",
        "import os\nimport torch\n\nx = torch.ones(2)\n",
    ),
    (
        IMPORT + "from torch._lazy import mark_step as end\nm = torch.lazy\nend()\n",
        IMPORT,
    ),
    (XLA + "d = xm.xla_device()\n", IMPORT + 'd = torch.device("cpu")\n'),
    (
        "import torch_xla.core.xla_model as xm, os\nxm.save(a, b, master_only=True)\n",
        None,  # torch is needed: see below
    ),
    # Calls.
    (
        XLA + "xm.optimizer_step(o, barrier=True, optimizer_args={'closure': c})\n",
        IMPORT + "o.step(**{'closure': c})\n",
    ),
    (
        XLA + "xm.add_step_closure(say, args=(a, b), run_async=True)\n",
        IMPORT + "say(a, b)\n",
    ),
    (XLA + "xm.add_step_closure(say, args)\n", IMPORT + "say(*args)\n"),
    (XLA + "xm.save(a, b, master_only=True)\n", IMPORT + "torch.save(a, b)\n"),
    (XLA + "a = xm.mesh_reduce('n', b, sum) + 1\n", IMPORT + "a = sum([b]) + 1\n"),
    (
        "import torch_xla\nwith torch_xla.step():\n    # one\n    f()\n    g()\nh()\n",
        "# one\nf()\ng()\nh()\n",
    ),
    (
        "import torch_xla\nwith open(p) as q, torch_xla.step():\n    f()\n",
        "with open(p) as q:\n    f()\n",
    ),
    (
        "import torch\nimport torch_xla.debug.profiler as xp\n"
        "with xp.StepTrace('s', step_num=1):\n    f()\n",
        "import torch\nwith torch.profiler.record_function('s'):\n    f()\n",
    ),
    ("import torch_xla.debug.metrics as met\nmet.clear_all()\nf()\n", "f()\n"),
    # Models.
    (
        "m = nn.Linear(2, 2)\nm = m.to('lazy')\n",
        "m = nn.Linear(2, 2)\nm = m.to('cpu')\nm.compile(backend=\"ltc\")\n",
    ),
    (
        "d = 'lazy'\nm = nn.Linear(2, 2, device=d)\nc = nn.MSELoss().to(d)\n",
        "d = 'cpu'\nm = nn.Linear(2, 2, device=d)\nm.compile(backend=\"ltc\")\n"
        "c = nn.MSELoss().to(d)\n",
    ),
    (
        "a, d = nn.Linear(2, 2), 'lazy'\nb = nn.Tanh()\nm = nn.Sequential(b).to(d)\n",
        "a, d = nn.Linear(2, 2), 'cpu'\nb = nn.Tanh()\nm = nn.Sequential(b).to(d)\n"
        'm.compile(backend="ltc")\n',
    ),
    (
        "def f(m):\n    m.to('lazy')\n    o = SGD(m.parameters())\n",
        "def f(m):\n    m.to('cpu')\n    m.compile(backend=\"ltc\")\n"
        "    o = SGD(m.parameters())\n",
    ),
    (
        "m = torch.compile(nn.Linear(2, 2).to('lazy'))\n",
        "m = torch.compile(nn.Linear(2, 2).to('cpu'))\n",
    ),
]


@pytest.mark.parametrize(("before", "after"), [p for p in PAIRS if p[1] is not None])
def test_what_becomes_of_it(before, after):
    found = rewrite(before)
    assert found.text == after
    assert not found.left
    assert not found.uncompiled
    assert rewrite(after).text == after


def test_torch_is_imported_where_it_is_needed_now():
    found = rewrite("import torch_xla.core.xla_model as xm\n\nxm.save(a, b)\n")
    assert found.text == "import torch\n\ntorch.save(a, b)\n"


# Source that stays as it is, and the line and the reason that are told.
STAYS = [
    ("if x.device.type == 'lazy':\n    f()\n", 1, "decided by hand"),
    ("import torch\nf(torch.lazy.mark_step)\n", 2, "handed on"),
    ("import torch\nx = torch.lazy.mark_step() or f()\n", 2, "its result is used"),
    ("import torch\nn = torch.lazy.metrics()['a']\n", 2, "other names"),
    (XLA + "xm.frobnicate()\n", 2, "import"),
    (
        "import torch_xla.debug.profiler as xp\ns = xp.start_server(9012)\n",
        2,
        "torch.profiler.profile",
    ),
    (
        "import torch_xla.debug.metrics as met\nprint(met.short_metrics_report())\n",
        2,
        "other names",
    ),
    (
        "import torch_xla.distributed.xla_multiprocessing as m\nm.spawn(f, nprocs=8)\n",
        2,
        "several processes",
    ),
    ("try:\n    import torch_xla\nexcept ImportError:\n    pass\n", 2, "import"),
]


@pytest.mark.parametrize(("source", "line", "reason"), STAYS)
def test_what_stays_is_named(source, line, reason):
    found = rewrite(source)
    assert found.text == source
    told = {finding.line: finding.becomes for finding in found.left}
    assert reason in told[line]


def test_a_script_without_a_known_model_is_named():
    source = "x = a.to('lazy')\nx.sum().backward()\n"
    (left,) = rewrite(source).uncompiled
    assert left.line == 2
    assert "by hand" in left.becomes
    source = "if n: m = nn.Linear(2, 2).to('lazy')\nm(x).sum().backward()\n"
    (left,) = rewrite(source).left
    assert left.becomes.startswith("m cannot be compiled by a line of its own")


def test_loaders_stay_for_other_devices():
    source = (
        "import torch_xla.distributed.parallel_loader as pl\n"
        "a = pl.MpDeviceLoader(b, torch.device('xla'))\n"
    )
    assert "a = b\n" in rewrite(source).text
    found = rewrite(source, device="cuda")
    assert "pl.MpDeviceLoader(b, torch.device('cuda'))" in found.text
    assert any("moved to cuda, by hand" in f.becomes for f in found.left)


def test_every_known_function_has_its_change():
    assert CALLS.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_whole_scripts(path):
    before = path.read_text()
    found = rewrite(before, str(path))
    ast.parse(found.text)
    assert found.text.count('.compile(backend="ltc")') >= 1
    again = rewrite(found.text, str(path))
    assert again.text == found.text
    assert again.left == found.left or path.stem == "blocked"
    codes = [(finding.rule.code, finding.line) for finding in found.left]
    if path.stem != "blocked":
        assert not codes
        assert not [f for f in lint(found.text) if f.rule.code < "LTC100"]
    else:
        assert [code for code, _ in codes] == [
            "LTC103",
            "LTC102",
            "LTC104",
            "LTC001",
            "LTC003",
        ]


def test_an_import_goes_with_the_last_name_that_stood_for_it():
    source = """from torch.lazy import (mark_step as ms, synchronize)
cb = ms
for _ in range(3):
    ms()
"""
    found = rewrite(source).text
    assert "lazy" not in found and rewrite(found).text == found


def test_comments_and_layout_stay():
    path = Path(__file__).parent / "scripts" / "classification.py"
    before = path.read_text().splitlines()
    after = rewrite(path.read_text()).text.splitlines()
    kept = [line for line in before if "lazy" not in line]
    assert [line for line in after if line in kept] == kept


@pytest.fixture
def run(capsys):
    """Run the command in this process; return its exit code and what it printed."""

    def call(*arguments):
        parser = argparse.ArgumentParser()
        command.define(parser)
        code = command.run(parser.parse_args(["rewrite", *map(str, arguments)]))
        return code, *capsys.readouterr()

    return call


SOURCE = "import torch\nx = torch.ones(2).to('lazy')\n"


def test_a_diff_is_shown_and_nothing_is_written(run, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    code, out, _ = run(path)
    assert code == 0
    assert "-x = torch.ones(2).to('lazy')\n+x = torch.ones(2).to('cpu')\n" in out
    assert out.endswith("1 of 1 files to change (--write does it); 0 places stay\n")
    assert path.read_text() == SOURCE


def test_files_are_written_as_they_are(run, tmp_path):
    path = tmp_path / "train.py"
    sources = [
        (SOURCE.replace("\n", "\r\n"), "utf-8"),
        (SOURCE.removesuffix("\n"), "utf-8"),
        (SOURCE, "utf-8-sig"),
        ("# -*- coding: latin-1 -*-\n# é\n" + SOURCE, "latin-1"),
        ("m = nn.Linear(2, 2).to('lazy')\r\n# é\u2028\f\r\n", "utf-8"),
    ]
    for source, encoding in sources:
        path.write_bytes(source.encode(encoding))
        path.chmod(0o750)
        assert run("--write", path)[0] == 0
        after = path.read_bytes().decode(encoding)
        changed = after.replace('m.compile(backend="ltc")\r\n', "")
        assert changed == source.replace("lazy", "cpu")
        assert path.stat().st_mode & 0o777 == 0o750
    assert 'm.compile(backend="ltc")\r\n' in after
    assert os.listdir(tmp_path) == ["train.py"]


def test_a_link_stays_one(run, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.py").write_text(SOURCE)
    (tmp_path / "link.py").symlink_to("real/a.py")
    assert run("--write", tmp_path / "link.py")[0] == 0
    assert (tmp_path / "link.py").is_symlink()
    assert "cpu" in (tmp_path / "real" / "a.py").read_text()


def test_what_cannot_be_read_or_written_is_told_and_the_rest_is_done(run, tmp_path):
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (tmp_path / name).write_text(SOURCE)
    (tmp_path / "a.py").chmod(0o444)
    (tmp_path / "b.py").write_bytes(b"x = '\xff'\n")
    (tmp_path / "c.py").write_text("!pip install torch\n")
    code, out, err = run("--write", tmp_path, tmp_path / "missing.py")
    assert code == 2
    assert f"{tmp_path}/a.py is read-only: chmod u+w" in err
    for name in ("b.py", "c.py", "missing.py"):
        assert f"{tmp_path}/{name}: cannot be read: " in err
    assert (tmp_path / "a.py").read_text() == SOURCE
    assert "cpu" in (tmp_path / "d.py").read_text()
    assert out.endswith("1 of 2 files changed; 0 places stay\n")


def test_a_write_that_fails_leaves_the_file(run, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(files.os, "fsync", full)
    code, _, err = run("--write", path)
    assert code == 2
    assert "No space left" in err
    assert path.read_text() == SOURCE
    assert os.listdir(tmp_path) == ["train.py"]


def test_a_module_that_another_file_makes(run, tmp_path):
    (tmp_path / "train.py").write_text("x = a.to('lazy')\nf(x).backward()\n")
    code, out, _ = run(tmp_path)
    assert code == 1
    assert f"{tmp_path}/train.py:2:1: stays: backward(): no module is known" in out
    (tmp_path / "net.py").write_text("m = nn.Linear(2, 2).to('lazy')\n")
    code, out, _ = run(tmp_path)
    assert code == 0
    assert out.endswith("2 of 2 files to change (--write does it); 0 places stay\n")


def test_exit_codes(run, tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import torch\nf(torch.lazy.mark_step)\n")
    code, out, _ = run(path)
    assert code == 1
    assert f"{path}:2:3: stays: torch.lazy.mark_step: " in out
    assert run("--fail-on", "never", path)[0] == 0


def test_without_libcst_a_sentence_names_the_package(run, tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(SOURCE)
    monkeypatch.delattr(migrate, "rewriting")
    monkeypatch.delitem(sys.modules, "torch_ltc.migrate.rewriting")
    monkeypatch.setitem(sys.modules, "libcst", None)
    code, _, err = run(tmp_path / "train.py")
    assert (code, err) == (2, command.NO_LIBCST + "\n")
