# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order of the front end's units: each includes only what stands before it.

A unit is a header with the source file of its name. Nobody includes what
includes him, however far around, so there is a unit to begin reading at.
"""

import graphlib
import posixpath

from test_layers import includes

FOLDER = "ltc_backend/"
# Of the runtime's own and of include/ltc.
STILL_TWICE = {"engine.h", "log.h", "program.h"}
# From what all others may use to what uses all others.
LAYERS = {
    "base": [
        "convert",
        "current_source",
        "region_lines",
        "lazy_device",
        "lent_generator",
        "library",
        "mutex",
        "not_dense",
        "raise",
        "torch_layout",
        "torch_private",
        "torch_spans",
        "waiting",
        "warnings",
    ],
    "aten": ["aten/"],  # ATen's kernels for programs
    "tensors": ["tensors/"],  # what a lazy tensor is
    "graph": ["graph/"],  # syncs and reads
    "record": ["record/"],  # what calls do
    "top": ["backend", "device_guard", "register", "startup", "torch_backend", "cpp/"],
}


def include_graph(root, files):
    """Which units each unit includes, by path without suffix."""
    sources = {f.as_posix() for f in files if f.suffix in {".h", ".cpp"}}
    graph = {}
    for source in filter(lambda name: name.startswith(FOLDER), sources):
        unit = posixpath.splitext(source)[0]
        known = graph.setdefault(unit, set())
        for name in includes(root, source):
            beside = posixpath.join(posixpath.dirname(source), name)
            for path in sources & {beside, name}:
                if path.startswith(FOLDER):
                    known.add(posixpath.splitext(path)[0])
        known.discard(unit)
    return graph


def find_circle(graph):
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        # Each is included by the next.
        return " <- ".join(error.args[1])
    return None


def test_units_do_not_include_each_other(root, files):
    circle = find_circle(include_graph(root, files))
    assert circle is None, circle


def layer_of_unit(unit):
    name = unit.removeprefix(FOLDER)
    for rank, units in enumerate(LAYERS.values()):
        if name in units or f"{name.split('/')[0]}/" in units:
            return rank
    raise AssertionError(f"{unit} is in no layer of LAYERS")


def test_layers_include_what_stands_before_them(root, files):
    wrong = [
        f"{unit} includes {other}"
        for unit, others in include_graph(root, files).items()
        for other in others
        if layer_of_unit(other) > layer_of_unit(unit)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_two_headers_have_one_name(files):
    names = [path.name for path in files if path.suffix == ".h"]
    twice = {name for name in names if names.count(name) > 1}
    assert twice <= STILL_TWICE


def test_a_circle_is_found():
    assert find_circle({"a": {"b"}, "b": {"c"}}) is None
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}).count("<-") == 2
