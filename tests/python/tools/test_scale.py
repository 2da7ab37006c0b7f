# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of data parallel training, with numbers that a pencil gives too."""

import json

import pytest
import scale
from scale import Cluster, Link, Step

LINK = Link(latency=1e-4, bandwidth=1e9)


def recorded(ends, size=1000):
    """One bucket, ready after 10 ms and summed at 12, and 3 ms of the optimizer."""
    return {
        "workload": "none",
        "device": "cpu",
        "ranks": 2,
        "steps": [{"buckets": [[size, 0.010, 0.012]], "end": end} for end in ends],
        "sums": [(n, scale.ring(n, 2, LINK)) for n in (1 << 10, 1 << 16, 1 << 24)],
    }


def test_sums_take_latencies_and_bytes():
    assert scale.ring(1 << 20, 1, LINK) == scale.tree(1 << 20, 1, LINK) == 0
    assert scale.ring(8_000_000, 4, LINK) == pytest.approx(6 * (1e-4 + 2e-3))
    assert scale.tree(8_000_000, 5, LINK) == pytest.approx(6 * 1e-4 + 16e-3)


def test_nodes_sum_inside_first():
    inside = Link(0, 1e10)
    cluster = Cluster(inside, LINK, per_node=4)
    alone = scale.ring(1e6, 4, inside)
    assert cluster.sum(1e6, 4) == pytest.approx(alone)
    assert cluster.sum(1e6, 8) == pytest.approx(alone + scale.ring(1e6, 2, LINK))


def test_the_link_is_found_in_its_sums():
    link = scale.measured_link(recorded([0.015])["sums"], 2)
    assert link.bandwidth == pytest.approx(LINK.bandwidth, rel=1e-2)
    assert link.latency == pytest.approx(LINK.latency, rel=1e-2)


def test_a_step_waits_for_its_sums_and_for_the_slowest():
    step = Step.of(recorded([0.015] * 4))
    cluster = Cluster(LINK, LINK, per_node=1)
    assert step.alone() == pytest.approx(0.013) and step.spread == 0
    took, total = step.replay(cluster, 2)
    assert total == pytest.approx(cluster.sum(1000, 2))
    assert took == pytest.approx(0.013 + total)
    late, _ = step.replay(cluster, 2, spread=1e-3)
    assert late == pytest.approx(took + 1e-3 * scale.largest_of(2))
    assert scale.largest_of(1) == 0 and 3.2 < scale.largest_of(1024) < 3.3


def test_sums_hide_behind_what_is_computed_meanwhile():
    step = Step([10**6, 10], [0.001, 0.050], tail=0.0, spread=0.0)
    took, total = step.replay(Cluster(LINK, LINK, per_node=1), 2)
    assert took == pytest.approx(0.050 + scale.ring(10, 2, LINK)) and total < 0.05


def test_the_command_says_where_it_stops(tmp_path, capsys, monkeypatch):
    path = tmp_path / "step.json"
    path.write_text(json.dumps(recorded([0.015] * 4, size=10**7)))
    command = ["scale.py", "replay", str(path), "--ranks", "100"]
    monkeypatch.setattr("sys.argv", command)
    scale.main()
    said = capsys.readouterr().out
    assert "efficiency falls below 0.8 at" in said and "\n     100 " in said
