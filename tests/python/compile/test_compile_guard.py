# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile_guard and no_compile: what they raise, and that nothing is lost."""

import gc
import inspect
import itertools
import threading

import pytest
import torch
import torch_ltc
from torch_ltc import UnexpectedCompileError, compile_guard, no_compile

_fresh = itertools.count(1001)


@pytest.fixture(autouse=True)
def each_size_is_a_graph():
    gc.collect()  # what other files left pending is in no graph that is counted
    torch.lazy.synchronize()
    with torch_ltc.settings.scope(dynamic="off"):
        yield


def fresh():
    """Return a tensor of a size that no graph has had."""
    return torch.ones(next(_fresh)).to("lazy")


def compile_one():
    return fresh().exp().sum().item()


def known():
    return torch.arange(3.0, device="lazy").exp().sum().item()


def test_a_compile_is_raised_where_it_is_needed_and_its_value_is_there():
    x = fresh()
    with no_compile():
        y = x.exp()
        with pytest.raises(UnexpectedCompileError) as caught:
            y.cpu()
        line = inspect.currentframe().f_lineno - 1
        assert y.cpu().tolist() == pytest.approx([torch.e] * len(x))
    error = caught.value
    assert isinstance(error, torch_ltc.Error) and error.code == "unexpected compile"
    assert error.file.endswith("test_compile_guard.py")
    assert line - 2 <= error.line <= line
    assert "where none may be" in error.message
    assert f"graph {torch_ltc.explain()[-1].number} (1 op)" in str(error)


def test_the_error_is_the_autopsy():
    for batch in (2001, 2002):
        x = torch.ones(batch, 2).to("lazy")
        with compile_guard(1 if batch == 2001 else 0) as counted:
            hidden = x.softmax(1)
            line = inspect.currentframe().f_lineno - 1
            if batch == 2001:
                hidden.cpu()
            else:
                with pytest.raises(UnexpectedCompileError) as caught:
                    hidden.cpu()
        assert len(counted) == 1
    error = caught.value
    assert error.line == line and error.op == "aten::_softmax"
    assert "dim 0 of input 0" in error.message and "was 2001 and is 2002" in str(error)
    assert "drop_last" in error.hint
    assert counted.compiles[0].cause == "shape"


def test_an_update_in_place_is_not_lost():
    model = torch.nn.Linear(next(_fresh), 1, bias=False).to("lazy")
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = model.weight.detach().cpu().clone()
    model.weight.grad = torch.ones_like(model.weight)
    torch.lazy.mark_step()
    with no_compile(), pytest.raises(UnexpectedCompileError):
        optimizer.step()
    torch.testing.assert_close(model.weight.detach().cpu(), before - 1)


def test_as_many_as_allowed_pass_and_each_beyond_raises():
    known()
    with compile_guard(max_graphs=2) as counted:
        compile_one()
        compile_one()
        for _ in range(2):
            with pytest.raises(UnexpectedCompileError, match="at most 2 may be"):
                compile_one()
        known()
    assert len(counted) == 4
    assert [each.number for each in counted.compiles] == sorted(
        each.number for each in counted.compiles
    )


def test_what_is_in_memory_passes():
    known()
    with no_compile():
        for _ in range(3):
            known()


def test_as_a_decorator_it_counts_each_call_anew():
    @compile_guard(max_graphs=1)
    def function(graphs):
        return [compile_one() for _ in range(graphs)]

    for _ in range(3):
        assert len(function(1)) == 1
    with pytest.raises(UnexpectedCompileError):
        function(2)
    assert len(function(1)) == 1
    assert function.__name__ == "function"


def test_a_recursive_function():
    @compile_guard(max_graphs=3)
    def function(depth):
        compile_one()
        if depth:
            function(depth - 1)

    function(2)
    with pytest.raises(UnexpectedCompileError):
        function(3)


def test_guards_nest():
    with compile_guard(max_graphs=2) as outer:
        with no_compile() as inner, pytest.raises(UnexpectedCompileError, match="none"):
            compile_one()
        compile_one()
        with compile_guard(5), pytest.raises(UnexpectedCompileError, match="at most 2"):
            compile_one()
    assert (len(outer), len(inner)) == (3, 1)
    compile_one()


def test_a_guard_may_be_used_again_also_after_an_exception():
    guard = no_compile()
    with pytest.raises(KeyError), guard:
        raise KeyError
    compile_one()
    with pytest.raises(UnexpectedCompileError), guard:
        compile_one()
    known()
    with guard, guard:
        known()
    compile_one()


def test_other_threads_are_not_counted_and_may_share_a_guard():
    guard, outcomes = compile_guard(max_graphs=1), []

    def run(graphs):
        with guard:
            try:
                outcomes.append(len([compile_one() for _ in range(graphs)]))
            except UnexpectedCompileError:
                outcomes.append("raised")

    with no_compile() as counted:
        for graphs in (1, 2, 1):
            thread = threading.Thread(target=run, args=(graphs,))
            thread.start()
            thread.join()
    assert outcomes == [1, "raised", 1]
    assert len(counted) == 0


def test_what_is_loaded_counts_if_it_is_to(tmp_path):
    scope = {"cache": "rw", "cache_dir": str(tmp_path), "cache_memory_bytes": 1}
    x, y = fresh(), fresh()
    with torch_ltc.settings.scope(**scope):
        for each in (x, y):
            each.exp().cpu()
        with no_compile() as counted:
            x.exp().cpu()
        assert len(counted) == 0
        with no_compile(loads=True), pytest.raises(UnexpectedCompileError) as caught:
            y.exp().cpu()
    assert "loaded from disk" in str(caught.value)


def test_what_a_dry_run_compiles_counts():
    with compile_guard(2) as counted, torch_ltc.precompile():
        kept = [fresh().exp() for _ in range(2)]
    assert len(counted) == 1
    assert counted.compiles[0].ops == len(kept)
    broken = pytest.raises(UnexpectedCompileError, match="where none may be")
    with broken, no_compile(), torch_ltc.precompile():
        kept.append(fresh().exp())


def test_the_end_of_a_guard_waits_for_a_dry_program():
    with torch_ltc.settings.scope(dry_run=True):
        with pytest.raises(UnexpectedCompileError), no_compile() as counted:
            kept = fresh().exp()
            torch.lazy.mark_step()
        assert len(counted) == 1
        with no_compile() as counted:
            del kept
    assert len(counted) == 0


def test_what_cannot_be_guarded_is_refused():
    with pytest.raises(ValueError, match="negative"):
        compile_guard(max_graphs=-1)

    def generator():
        yield compile_one()

    async def coroutine():
        compile_one()

    for function in (generator, coroutine):
        with pytest.raises(TypeError, match="use one inside"):
            no_compile()(function)
