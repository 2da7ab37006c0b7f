# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Up to eight ranks, other pipelines and plans, and checkpoints of other ranks."""

import pytest
import ranks


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 4])
def test_pipelines_and_sequences(count, tmp_path):
    found = ranks.outcomes("parallel_cases", count, tmp_path)
    wrong = {name: each for name, each in found.items() if any(each)}
    assert len(found) == 6 and not wrong


@pytest.mark.long
@pytest.mark.parametrize("module", ["collective_cases", "training_cases"])
def test_eight_ranks(module, tmp_path):
    found = ranks.outcomes(module, 8, tmp_path, timeout=500)
    wrong = {name: each for name, each in found.items() if any(each)}
    assert found and not wrong


@pytest.mark.long
def test_what_some_ranks_save_others_load(tmp_path):
    """Parameters and the optimizer's state, then one more step."""
    program, folder = ranks.HERE / "resharded.py", tmp_path / "saved"

    def total(action, count):
        ended = ranks.finish(ranks.start([program, folder, action], count), 240)
        assert all(code == 0 for code, _ in ended), ended
        (line,) = [x for x in ended[0][1].splitlines() if x.startswith("sum")]
        return float(line.split()[1])

    wanted = total("save", 2)
    for count in 1, 3, 4:
        assert total("load", count) == pytest.approx(wanted, rel=1e-6)
