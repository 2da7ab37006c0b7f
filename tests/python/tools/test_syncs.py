# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ledger of syncs, no_sync, sync_budget and no_fallback."""

import threading
from pathlib import Path

import pytest
import torch
import torch_ltc
from torch import nn
from torch_ltc import UnexpectedSyncError, no_fallback, no_sync, sync_budget, syncs
from torch_ltc.ledger import Ledger

LAZY = torch.device("lazy")


def line_of(marker):
    """Return the number of this file's line that ends with the comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = [n for n, text in enumerate(lines, 1) if text.endswith("# " + marker)]
    return found


def pending(size=7):
    return torch.arange(float(size), device=LAZY).add(1).exp()


def item(x):
    return x.sum().item()  # item


def branch(x):
    return 1 if (x * 3).exp().sum() > 2 else 0  # branch


def read(x):
    return x.tolist()  # read


def numpy(x):
    return x.cpu().numpy()  # numpy


def printing(x):
    return str(x)  # printing


def fallback(x):
    return x.nonzero()  # fallback


def linalg(x):
    return torch.linalg.inv(x.reshape(1, 1, -1)[..., :1])  # linalg


def synchronize(x):
    torch.lazy.synchronize()  # synchronize


def event(x):
    event = torch.lazy.Event()
    event.record()  # event


def waiting_step(x):
    torch.lazy.mark_step(wait=True)  # waiting_step


SYNCS = {
    item: ("item", ""),
    branch: ("item", ""),
    read: ("read", ""),
    numpy: ("read", ""),
    printing: ("print", ""),
    fallback: ("fallback", "aten::nonzero"),
    linalg: ("linalg", "linalg.inv"),
    synchronize: ("synchronize", ""),
    event: ("event", ""),
    waiting_step: ("mark_step", "and wait"),
}


@pytest.mark.parametrize("sync", SYNCS, ids=lambda sync: sync.__name__)
def test_a_guard_raises_at_the_line_with_cause_and_remedy(sync):
    cause, detail = SYNCS[sync]
    x = pending()
    with no_sync(), pytest.raises(UnexpectedSyncError) as raised:
        sync(x)
    error = raised.value
    assert error.file.endswith("test_syncs.py")
    assert (error.line, error.function) == (line_of(sync.__name__), sync.__name__)
    assert f"a sync ({cause} {detail}".strip() in error.message
    assert "none may be" in error.message
    assert error.hint
    # Nothing is lost: what was pending has its value, and the line works now.
    torch.testing.assert_close(x.cpu(), torch.arange(7.0).add(1).exp())
    sync(pending())


@pytest.mark.parametrize("sync", SYNCS, ids=lambda sync: sync.__name__)
def test_the_ledger_has_cause_line_count_and_wait(sync):
    def row():
        rows = [each for each in syncs() if each.place.line == line_of(sync.__name__)]
        return next((r for r in rows if r.place.file.endswith("test_syncs.py")), None)

    before = row().count if row() else 0
    for _ in range(3):
        sync(pending())
    found = row()
    assert (found.cause, found.detail) == SYNCS[sync]
    assert found.count == before + 3
    assert 0 <= found.wait <= found.time
    assert found.place.function == sync.__name__
    assert f"test_syncs.py:{found.place.line} in" in str(Ledger([found]))


def test_a_step_of_training_is_no_sync():
    model = nn.Linear(5, 3).to(LAZY)
    x = torch.ones(2, 5, device=LAZY)
    with no_sync():
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        torch.lazy.mark_step()
    causes = {row.cause for row in syncs()}
    assert "optimizer_step" in causes


def test_steps_that_end_nothing_are_not_in_the_ledger():
    def count():
        return sum(row.count for row in syncs() if row.cause == "mark_step")

    torch.lazy.mark_step()
    before = count()
    torch.lazy.mark_step()
    assert count() == before


def test_a_budget_allows_as_many_and_lists_them():
    x = pending()
    with sync_budget(2) as counted:
        assert len(counted) == 0
        item(x)
        read(x)
        assert [each.cause for each in counted.syncs] == ["item", "read"]
        with pytest.raises(UnexpectedSyncError) as raised:
            item(x)
        assert len(counted) == 2  # the one that raised has not happened
    message = raised.value.message
    assert "no more than 2 may be" in message
    for sync in item, read:
        name = sync.__name__
        assert f"test_syncs.py:{line_of(name)} in {name}" in message
    assert message.count("\nbefore it: ") == 2


def test_guards_nest():
    x = pending()
    with sync_budget(5) as outer:
        item(x)
        with no_sync(), pytest.raises(UnexpectedSyncError):
            item(x)
        with sync_budget(3) as inner:
            item(x)
        assert (len(outer), len(inner)) == (2, 1)
        item(x)
    with sync_budget(1), sync_budget(9):
        item(x)
        with pytest.raises(UnexpectedSyncError, match="no more than 1"):
            item(x)


def test_a_guard_is_of_its_thread():
    x = pending()
    done = []
    with no_sync():
        other = threading.Thread(target=lambda: done.append(item(x)))
        other.start()
        other.join()
        with pytest.raises(UnexpectedSyncError):
            item(x)
    assert done


def test_guards_are_decorators():
    @sync_budget(1)
    def once(x):
        return item(x)

    @no_sync()
    def never(x):
        return item(x)

    @no_fallback()
    def stays(x):
        return x.nonzero()

    x = pending()
    assert once(x) == once(x)  # each call has a budget of its own
    with pytest.raises(UnexpectedSyncError):
        never(x)
    with pytest.raises(torch_ltc.UnsupportedOpError):
        stays(x)
    with pytest.raises(TypeError, match="returns before it runs"):

        @no_sync()
        def later(x):
            yield item(x)


def test_an_exception_leaves_the_guard():
    with pytest.raises(KeyError), no_sync():
        raise KeyError
    item(pending())


def test_no_fallback_names_itself_the_op_and_the_line():
    x = pending()
    with no_fallback(), pytest.raises(torch_ltc.UnsupportedOpError) as raised:
        fallback(x)
    error = raised.value
    assert error.op == "aten::nonzero"
    assert error.line == line_of("fallback")
    assert "no_fallback() forbids" in error.message
    assert "LTC_FALLBACK" not in str(error)
    with no_fallback():
        item(x)  # no fallback
        with no_fallback():
            pass
        with pytest.raises(torch_ltc.UnsupportedOpError):
            fallback(x)
    assert fallback(x).shape == (7, 1)


def test_a_budget_is_not_negative():
    with pytest.raises(ValueError, match="must not be negative"):
        sync_budget(-1)
