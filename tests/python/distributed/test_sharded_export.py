# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of distributed tensors as files: the whole, and who has which part."""

import re

import pytest
import ranks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files of the first of two ranks, which are those of the second."""
    folder = tmp_path_factory.mktemp("graphs")
    ended = ranks.finish(ranks.start([ranks.HERE / "sharded_export.py", folder], 2))
    assert all(code == 0 for code, _ in ended), ended
    files = [
        {path.name: path.read_text() for path in (folder / rank).iterdir()}
        for rank in "01"
    ]
    assert files[0] == files[1]
    return files[0]


def test_a_graph_has_the_placements_of_inputs_and_results(written):
    text = written["graph"]
    found = re.findall(r"(%\d+) = torch_ltc::shard\(.*splits=\[(.*)\]\) : (.*)", text)
    assert sorted((splits, type) for _, splits, type in found) == [
        ("-1", "f32[4, 6]"),
        ("0", "f32[2]"),  # what was written to is where it was
        ("0", "f32[2]"),
        ("0", "f32[8, 4]"),
        ("0", "f32[8, 6]"),  # the product's rows are where those of x are
    ]
    results = re.findall(r"output (%\d+)", text)
    placed = [type for value, _, type in found if value in results]
    # The sum is on no device yet: each has that of its rows.
    assert len(results) == 3 and sorted(placed) == ["f32[2]", "f32[8, 6]"]
    assert text.count("grid=[2]") == 5


def test_linalg_has_them_as_the_dialect_shard(written):
    text = written["linalg"]
    assert text.count('"shard.grid"') == 1 and "shape = array<i64: 2>" in text
    assert "#shard<axisarray[[0], []]>" in text and '"linalg.matmul"' in text


def test_a_parallel_module_is_whole(written):
    """Column by column, then row by row: the hooks between are not in the graph."""
    text = written["module"]
    assert "tensor<16x8xf32>" in text and "tensor<8x8xf32>" not in text
    assert "#shard<axisarray[[0], []]>" in text  # the first weight's rows
    assert "#shard<axisarray[[], [0]]>" in text  # the second's columns
