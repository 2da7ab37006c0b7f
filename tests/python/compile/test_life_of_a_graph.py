# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/life_of_a_graph shows what the stages really make of its program.

`LTC_UPDATE_DOCS=1 pytest tests/python/compile/test_life_of_a_graph.py` rewrites it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch_ltc

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "life_of_a_graph"
LTC_OPT = Path(torch_ltc.__file__).parent / "lib" / ".." / "bin" / "ltc-opt"
CPU = "x86-64-v3:+avx2,+fma"


def recorded_graph(folder):
    """The graph of the program, as LTC_DUMP writes it."""
    subprocess.run(
        [sys.executable, FOLDER / "program.py"],
        env=os.environ | {"LTC_DUMP": str(folder), "LTC_SOURCE_LINES": "1"},
        check=True,
        capture_output=True,
        timeout=120,
    )
    (path,) = folder.glob("*.ltc")
    return re.sub(r'loc "[^"]*/', 'loc "', path.read_text())


def ltc_opt(text, *options):
    command = [LTC_OPT, *options]
    done = subprocess.run(
        command, input=text, check=True, capture_output=True, text=True, timeout=120
    )
    return done.stdout


def after_stage(stage, graph, *options):
    text = ltc_opt(graph, f"--stop-after={stage}", f"--cpu={CPU}", *options)
    # Nobody reads one constant five times.
    return ltc_opt(text, "--canonicalize", "--cse") if stage == "optimize" else text


def inner_loop(llvm):
    """The last basic block that loads vectors: the body of the loop."""
    blocks = re.split(r"\n(?=  \^bb\d+|  \}\n)", llvm)
    vector_load = re.compile(r"llvm\.load .*vector<8xf32>")
    return [block for block in blocks if vector_load.search(block)][-1]


def program():
    """The program without its header."""
    text = (FOLDER / "program.py").read_text()
    return text[text.index("import torch") :]


@pytest.mark.skipif(not LTC_OPT.exists(), reason="an installed package has no ltc-opt")
def test_page_shows_what_the_stages_make(tmp_path):
    graph = recorded_graph(tmp_path)
    shown = {"program": program(), "graph": graph}
    for stage in ("import", "lower", "optimize", "codegen"):
        shown[stage] = after_stage(stage, graph)
    shown["codegen"] = inner_loop(shown["codegen"])
    shown["steps"] = after_stage("codegen", graph, "--print-steps")

    page = (FOLDER / "page.template.md").read_text()
    for name, text in shown.items():
        assert text.strip(), name
        page = page.replace("{" + name + "}", text.rstrip())
    path = FOLDER / "README.md"
    if os.environ.get("LTC_UPDATE_DOCS"):
        path.write_text(page)
    assert path.read_text() == page
