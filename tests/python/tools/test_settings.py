# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings: one table seen from Python, the environment and a scope."""

import pytest
import torch
import torch_ltc
from torch_ltc import settings


def test_attributes_have_their_types():
    assert settings.auto_step is True
    assert isinstance(settings.max_pending_ops, int)
    assert settings.fallback == "cpu"


def test_table_lists_every_setting_with_its_meaning():
    rows = {row.name: row for row in settings.table()}
    assert rows["rng"].initial == "fast"
    assert all(row.doc.endswith(".") for row in rows.values())
    assert set(rows) <= set(dir(settings))


def test_assignment_and_scope():
    before = settings.max_pending_ops
    with settings.scope(max_pending_ops=123, auto_step=False):
        assert settings.max_pending_ops == 123
        assert settings.auto_step is False
        settings.auto_step = True
        assert settings.auto_step is True
    assert settings.max_pending_ops == before
    assert settings.auto_step is True


def test_scope_ends_after_an_exception():
    with pytest.raises(KeyError), settings.scope(auto_step=False):
        raise KeyError
    assert settings.auto_step is True


def test_unknown_name_says_the_nearest():
    with pytest.raises(torch_ltc.Error, match="max_pending_ops") as caught:
        settings.max_pending_op = 3
    assert caught.value.code == "invalid argument"
    with pytest.raises(AttributeError, match="no setting 'nonsense'"):
        _ = settings.nonsense


@pytest.mark.parametrize(
    "name, value", [("rng", "slow"), ("max_pending_ops", -1), ("auto_step", "maybe")]
)
def test_wrong_value_is_refused(name, value):
    before = getattr(settings, name)
    with pytest.raises(torch_ltc.Error, match=str(value)):
        setattr(settings, name, value)
    assert getattr(settings, name) == before


def test_environment(run_python):
    done = run_python(
        """
import torch_ltc
print(torch_ltc.settings.rng, torch_ltc.settings.auto_step)
""",
        LTC_RNG="eager",
        LTC_AUTO_STEP="0",
    )
    assert done.stdout == "eager False\n"
    assert done.stderr == ""


def test_unknown_variable_warns_with_the_nearest_name(run_python):
    done = run_python("import torch_ltc; torch_ltc.settings.rng", LTC_RGN="eager")
    assert "LTC_RGN" in done.stderr and "LTC_RNG" in done.stderr


def test_metrics_measure_one_part():
    x = torch.ones(5, device="lazy")
    with torch_ltc.metrics.measure() as counts:
        (x * 2 + 1).cpu()
    assert counts["record.ops"] == 2
    assert counts["execute.launches"] == 1
    assert counts["record.fallback.aten::nonzero"] == 0


def test_metrics_reset():
    (torch.ones(3, device="lazy") + 2).cpu()
    assert torch.lazy.metrics()["record.ops"] > 0
    torch.lazy.reset_metrics()
    listed = torch.lazy.metrics()
    for name in (
        "record.ops",
        "codegen.graphs",
        "cache.hit.memory",
        "cache.hit.disk",
        "cache.miss",
        "cache.disk.corrupt",
        "execute.launches",
    ):
        assert listed[name] == 0
