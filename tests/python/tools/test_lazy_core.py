# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own tools for lazy tensors, ``torch._lazy``, answer on this backend."""

import pytest
import torch
import torch._lazy
import torch_ltc
from torch import fx
from torch._lazy import computation, config, debug, metrics


@pytest.fixture
def graph():
    """Return two inputs and a pending result."""
    torch.lazy.mark_step()
    a, b = torch.rand(3, 4).to("lazy"), torch.rand(4).to("lazy")
    return a, b, ((a * b).relu() + 2).sum(1)


def test_ops_are_counted_by_name_as_they_are_recorded(graph, counts):
    a, b, _ = graph
    metrics.reset()
    assert metrics.counter_names() == []
    counts.restart()
    c = (a * b) + (b * 2)
    assert metrics.counter_value("lazy::mul") == 2
    assert metrics.counter_value("lazy::add") == 1
    assert counts["record.ops"] == 3
    torch._lazy.mark_step()
    assert metrics.counter_value("MarkStep") == 1
    assert metrics.counter_value("SyncedTensorsWithIR") >= 1
    report = metrics.metrics_report()
    assert "Counter: lazy::mul\n  Value: 2\n" in report
    assert "Metric: TensorsGraphSize\n  TotalSamples: 1\n" in report
    assert "Counter: record.ops\n" in report
    metrics.reset()
    assert metrics.counter_names() == []
    assert counts["record.ops"] == 3
    assert torch.equal(c.cpu(), (a.cpu() * b.cpu()) + (b.cpu() * 2))


def test_the_graph_is_printed_in_each_form(graph):
    _, _, y = graph
    text = debug.dump_ir([y], "text")
    assert "aten::mul(%1, %0)" in text and "ROOT=0" in text
    assert "lazy_tensors::device_data()" in text and "other=2, alpha=1" in text
    assert text.count("[Float[3,4]]") == 4
    dot = debug.render_ir_graph([y])
    assert "aten::relu\\nFloat[3,4]" in dot
    assert debug.dump_ir([y], "dot") == dot
    with pytest.raises(RuntimeError, match="Unrecognized IR format: svg"):
        debug.dump_ir([y], "svg")
    backend = debug.dump_ir([y], "backend")
    assert backend.startswith("graph {") and "aten::relu(self=" in backend
    assert backend.count("output %") == 1
    torch.lazy.mark_step()
    assert "aten::" not in debug.dump_ir([y], "text")
    assert "Float[3]" in debug.dump_ir([y], "text")
    with pytest.raises(torch_ltc.InvalidArgumentError, match="wanted are lazy ones"):
        debug.dump_ir([torch.ones(2)], "text")


def test_looking_changes_no_graph(counts):
    x = torch.ones(4).to("lazy")
    keys = []
    for looks in (False, True, False):
        x.mul_(2)
        if looks:
            debug.dump_ir([x], "backend")
            computation.get_graph_hash([x])
        keys.append(torch_ltc.startup.start().pending_graph(0).split(" loc ")[0])
        torch.lazy.mark_step()
    assert keys[0] == keys[1] == keys[2]
    assert x.tolist() == [8] * 4


def test_a_hash_is_of_what_is_computed():
    def hashed(number, size=3):
        x = torch.ones(size).to("lazy")
        return computation.get_graph_hash([x * number + 1])

    assert len(hashed(2.0)) == 16
    assert hashed(2.0) == hashed(3.0)  # a number is an input
    assert hashed(2.0) != hashed(2.0, 4)


def test_a_cached_graph_runs_on_other_inputs(graph):
    a, b, y = graph
    key = computation.get_graph_hash([y])
    numbers = [torch._lazy.get_tensor_id(x) for x in (a, b)]
    ids, values = computation.get_tensors_ts_device_data_node([y])
    torch._lazy.sync_multi([y], [])
    assert set(numbers) < set(ids) and len(ids) == 3
    assert torch.equal(values[ids.index(numbers[0])], a.cpu())
    values[ids.index(numbers[1])] = torch.zeros(4)
    (found,) = computation.run_cached_graph(key, values)
    assert found.tolist() == [8.0] * 3
    with pytest.raises(RuntimeError, match="no graph has the hash"):
        computation.run_cached_graph(b"0" * 16, values)


class Doubled(torch.nn.Module):
    def forward(self, a, b):
        return a + b * 2, a


def test_extract_compiled_graph():
    from torch._lazy.extract_compiled_graph import extract_compiled_graph

    module = fx.symbolic_trace(Doubled())
    compiled = extract_compiled_graph(module, [torch.rand(3), torch.rand(3)])
    inputs = [torch.rand(3), torch.rand(3)]
    found = compiled(*[x.clone() for x in inputs])
    for x, wanted in zip(found, module(*inputs), strict=True):
        torch.testing.assert_close(x, wanted)


def test_a_forced_op_runs_on_the_cpu(counts):
    x = torch.ones(4).to("lazy")
    y = x * 3  # known already
    config.set_force_fallback("aten::mul")
    try:
        y = y + x * 3
        assert y.tolist() == [6] * 4
        assert counts.fallbacks() == ["record.fallback.aten::mul.Tensor"]
        refused = pytest.raises(
            torch_ltc.UnsupportedOpError, match="LTC_FORCE_FALLBACK"
        )
        with refused, torch_ltc.no_fallback():
            x * 3
    finally:
        config.set_force_fallback("")
    counts.restart()
    assert (x * 3).tolist() == [3] * 4
    assert counts.fallbacks() == []


SAVING = """
import torch
x = torch.ones(4).to("lazy")
y = x * 3
torch.lazy.mark_step()
print(y.tolist())
"""


def test_saved_graphs(run_python, tmp_path):
    file = tmp_path / "graphs.txt"
    run_python(SAVING, LTC_SAVE_TENSORS_FILE=str(file), LTC_ENABLE_SOURCE_INFO="1")
    text = file.read_text()
    assert text.startswith("[ScheduleSyncTensorsGraph]\nPython Stacktrace:\n")
    assert "<module> (" in text and "program.py:5)" in text
    assert "other=3" in text and "location=<module>@program.py:4" in text
    assert "\n## END_GRAPH\n" in text
    run_python(SAVING, LTC_SAVE_TENSORS_FILE=str(file), LTC_SAVE_TENSORS_FMT="backend")
    assert "aten::mul.Tensor(self=%" in file.read_text()
    done = run_python(SAVING, LTC_SAVE_TENSORS_FILE=str(tmp_path / "no" / "file"))
    assert done.stderr.count("cannot be written to") == 1
