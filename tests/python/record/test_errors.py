# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong is said where it happened, and the device goes on."""

import inspect

import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from torch_ltc import settings


@pytest.fixture(autouse=True)
def device_is_usable_afterwards():
    torch.lazy.synchronize()
    yield
    torch.lazy.synchronize()
    assert (torch.arange(3.0, device="lazy") * 2).tolist() == [0.0, 2.0, 4.0]


def here(offset=0):
    return inspect.currentframe().f_back.f_lineno + offset


def raised_by(function, device):
    with pytest.raises((RuntimeError, IndexError, ValueError)) as caught:
        function(device)
    return caught.value


WRONG_SHAPES = {
    "matmul": lambda d: torch.ones(2, 3, device=d) @ torch.ones(4, 5, device=d),
    "linear": lambda d: F.linear(
        torch.ones(2, 3, device=d), torch.ones(4, 5, device=d)
    ),
    "cat": lambda d: torch.cat(
        [torch.ones(2, 3, device=d), torch.ones(2, 4, device=d)], 0
    ),
    "view": lambda d: torch.ones(2, 3, device=d).view(4, 2),
    "add": lambda d: torch.ones(3, device=d) + torch.ones(4, device=d),
    "add_": lambda d: torch.ones(3, device=d).add_(torch.ones(2, 3, device=d)),
    "select": lambda d: torch.ones(3, device=d)[5],
    "conv": lambda d: F.conv2d(
        torch.ones(1, 3, 8, 8, device=d), torch.ones(4, 2, 3, 3, device=d)
    ),
    "cross_entropy": lambda d: F.cross_entropy(
        torch.ones(3, 4, device=d), torch.zeros(5, dtype=torch.long, device=d)
    ),
    "stack": lambda d: torch.stack([torch.ones(2, device=d), torch.ones(3, device=d)]),
}


@pytest.mark.parametrize("wrong", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_wrong_shapes_are_raised_at_the_op_in_eagers_words(counts, wrong):
    error, eager = raised_by(wrong, "lazy"), raised_by(wrong, "cpu")
    assert type(error) is type(eager)
    assert str(error) == str(eager)
    assert counts["execute.launches"] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d: torch.arange(3, device=d).add_(1.5),
        lambda d: torch.arange(3, device=d).div_(2),
        lambda d: torch.ones(2, dtype=torch.bool, device=d).add_(1),
        lambda d: torch.arange(3, device=d).exp_(),
        lambda d: torch.arange(3, device=d).mul_(
            torch.ones(3, dtype=torch.complex64, device=d)
        ),
    ],
)
def test_in_place_results_that_do_not_fit_are_refused(wrong):
    assert str(raised_by(wrong, "lazy")) == str(raised_by(wrong, "cpu"))


def test_a_refused_in_place_op_changes_nothing():
    x = torch.ones(3, device="lazy")
    view = x[:2]
    with pytest.raises(RuntimeError, match="broadcast shape"):
        x.add_(torch.ones(2, 3, device="lazy"))
    with pytest.raises(RuntimeError, match="broadcast shape"):
        view.mul_(torch.zeros(4, 2, device="lazy"))
    assert x.shape == (3,) and view.shape == (2,)
    view.add_(1)
    assert x.tolist() == [2.0, 2.0, 1.0]


def test_two_devices_in_one_op():
    with pytest.raises(RuntimeError, match=r"same device.*lazy:0.*cpu"):
        torch.ones(2, 2, device="lazy") @ torch.ones(2, 2)


def test_a_read_that_eager_refuses_too():
    with pytest.raises(RuntimeError, match="Boolean value of Tensor"):
        bool(torch.ones(2, device="lazy"))
    with pytest.raises(TypeError, match="numpy"):
        torch.ones(2, device="lazy").numpy()


# Errors while a graph runs.


def out_of_range_embedding():
    table = torch.arange(20.0, device="lazy").view(10, 2)
    rows = torch.tensor([3, 12], device="lazy")
    good = table.sum(0)
    bad = F.embedding(rows, table)
    return bad, good, here(-1)


def test_index_out_of_range_names_op_shapes_and_line():
    bad, _, line = out_of_range_embedding()
    with pytest.raises(torch_ltc.IndexOutOfRangeError) as caught:
        (bad * 2).cpu()
    error = caught.value
    assert isinstance(error, IndexError) and isinstance(error, RuntimeError)
    assert error.op == "aten::embedding"
    assert error.file.endswith("test_errors.py") and error.line == line
    assert error.function == "out_of_range_embedding"
    assert error.stage == "execute" and error.code == "out of range"
    for part in ("12", "10", "f32[10, 2]", "i64[2]", f"test_errors.py:{line}"):
        assert part in str(error)


def test_index_out_of_range_names_the_sizes_of_its_run():
    for rows in 5, 6, 9:  # one program from the second on
        table = torch.ones(rows, 2).to("lazy")
        picked = F.embedding(torch.full((rows - 2,), rows).to("lazy"), table)
        types = rf"embedding\(f32\[{rows}, 2\], i64\[{rows - 2}\]\)"
        with pytest.raises(torch_ltc.IndexOutOfRangeError, match=types):
            picked.cpu()


def test_index_out_of_range_is_raised_once():
    bad, _, _ = out_of_range_embedding()
    torch.lazy.mark_step()  # queues; nobody waits, so nothing is raised
    with pytest.raises(torch_ltc.IndexOutOfRangeError):
        torch.lazy.synchronize()
    torch.lazy.synchronize()
    del bad


def test_index_out_of_range_spares_what_does_not_depend_on_it():
    bad, _, _ = out_of_range_embedding()
    torch.lazy.mark_step()
    after = torch.ones(2, device="lazy") + 5
    torch.lazy.mark_step()
    assert after.tolist() == [6.0, 6.0]
    with pytest.raises(torch_ltc.IndexOutOfRangeError):
        bad.cpu()


INDEXING = {
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "index": lambda x, i: x[i],
    "take": lambda x, i: x.take(i * 3),
    "embedding": lambda x, i: F.embedding(i, x),
}
INDEXING_LINES = {f: f.__code__.co_firstlineno for f in INDEXING.values()}


@pytest.mark.parametrize("index", INDEXING.values(), ids=INDEXING)
@pytest.mark.parametrize("value", [-11, 10, 1 << 40])
def test_every_indexing_op_checks(index, value):
    x = torch.arange(30.0).view(10, 3).to("lazy")
    bad = torch.tensor([1, value])
    with pytest.raises((IndexError, RuntimeError)) as eager:
        index(x.cpu(), bad)
    with pytest.raises(IndexError) as lazy:
        index(x, bad.to("lazy")).cpu()
    assert isinstance(lazy.value, type(eager.value))
    assert str(eager.value) in str(lazy.value)
    good = torch.tensor([9, 0])
    assert torch.equal(index(x, good.to("lazy")).cpu(), index(x.cpu(), good))


def test_targets_of_a_loss_are_checked():
    def loss(device):
        scores = torch.zeros(2, 3, device=device)
        return F.cross_entropy(scores, torch.tensor([1, 5], device=device)).cpu()

    with pytest.raises(IndexError) as eager:
        loss("cpu")
    with pytest.raises(IndexError) as lazy:
        loss("lazy")
    assert str(eager.value) in str(lazy.value)


EMPTY = {
    "max": lambda x: x.max(),
    "amin": lambda x: x.amin(1),
    "argmax": lambda x: x.argmax(),
    "aminmax": lambda x: x.aminmax().min,
    "median of nothing": lambda x: x.median(1).values,
    "kthvalue": lambda x: x.kthvalue(1).values,
    "mode": lambda x: x.mode(1).values,
    "convolution": lambda x: F.conv1d(x[None], x.new_zeros(2, 4, 1)),
    "pool": lambda x: F.max_pool1d(x[None], 2),
    "sum": lambda x: x.sum(),
    "prod": lambda x: x.prod(1),
    "median": lambda x: x.median(),
    "sort": lambda x: x.sort().values,
    "softmax": lambda x: x.softmax(1),
    "matmul": lambda x: x @ x.t(),
    "layer_norm": lambda x: F.layer_norm(x, (0,)),
    "interpolate": lambda x: F.interpolate(x[None], scale_factor=2),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", EMPTY.values(), ids=EMPTY)
def test_a_tensor_without_elements_is_refused_where_eager_refuses(use):
    def outcome(device):
        try:
            return torch.as_tensor(use(torch.zeros(4, 0, device=device))).tolist()
        except (RuntimeError, IndexError, ValueError) as error:
            return type(error), str(error).splitlines()[0]

    assert str(outcome("lazy")) == str(outcome("cpu"))


TABLES = {
    "zeros": lambda d: torch.zeros(10, 3, device=d),
    "ones of int": lambda d: torch.ones(10, 3, dtype=torch.long, device=d),
    "expand": lambda d: torch.full((1, 1), 2.0, device=d).expand(10, 3),
    "arange": lambda d: torch.arange(30.0, device=d).view(10, 3),
}
USES = {
    "read": lambda x: x,
    "product with 0": lambda x: x * 0,
    "comparison": lambda x: x > 0,
    "sum": lambda x: x.sum(),
    "softmax": lambda x: x.float().softmax(0),
    "slice": lambda x: x[0:1],
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("index", INDEXING.values(), ids=INDEXING)
def test_the_check_outlives_a_read_of_constants(index, table, use, counts):
    rows = torch.tensor([1, 120], device="lazy")
    x = use(index(table("lazy"), rows))
    with pytest.raises(torch_ltc.IndexOutOfRangeError) as caught:
        x.cpu()
    assert caught.value.line == INDEXING_LINES[index]
    assert counts.fallbacks() == []


def test_target_out_of_range():
    scores = torch.randn(4, 3, device="lazy", requires_grad=True)
    loss = F.cross_entropy(scores, torch.tensor([0, 1, 7, 2], device="lazy"))
    with pytest.raises(IndexError, match="7"):
        loss.item()


def test_error_in_backward_names_the_line_of_backward():
    table = torch.ones(4, 2, device="lazy", requires_grad=True)
    picked = F.embedding(torch.tensor([1], device="lazy"), table)
    picked.sum().backward()
    text = torch.lazy.pending_graph()
    assert f'test_errors.py":{here(-2)}' in text
    assert table.grad.cpu().tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]


# Memory.


def test_out_of_memory_leaves_the_device_usable(run_python):
    done = run_python(
        """
import torch, torch_ltc
x = torch.ones(1024, device="lazy") + 1
torch.lazy.synchronize()
for _ in range(2):
    try:
        (torch.ones(1 << 20, device="lazy") * 2).cpu()
    except torch.OutOfMemoryError as error:
        print(isinstance(error, torch_ltc.OutOfMemoryError), error.code)
    print((x + 1).sum().item())
del x
torch.lazy.synchronize()
print(torch.lazy.memory_allocated())
""",
        LTC_MEMORY_LIMIT_BYTES=str(1 << 20),
    )
    told = ["True out of memory", "3072.0"]
    assert done.stdout.splitlines() == [*told, *told, "0"]


# Ops without a shape before they run.


def test_fallback_is_counted(counts):
    x = torch.tensor([0.0, 2.0, 0.0, 5.0], device="lazy")
    assert torch.equal((x * 2).nonzero().cpu(), torch.tensor([[1], [3]]))
    assert counts["record.fallback.aten::nonzero"] == 1


def test_fallback_can_be_an_error(counts):
    x = torch.tensor([0.0, 2.0], device="lazy")
    with settings.scope(fallback="error"):
        with pytest.raises(torch_ltc.UnsupportedOpError) as caught:
            x.nonzero()
        line = here(-1)
    error = caught.value
    assert isinstance(error, NotImplementedError)
    assert error.op == "aten::nonzero" and error.hint
    assert error.line == line and error.function == "test_fallback_can_be_an_error"
    assert counts.fallbacks() == []
    assert torch.equal(x.nonzero().cpu(), torch.tensor([[1]]))


def test_source_lines_can_be_switched_off():
    with settings.scope(source_lines=False):
        x = torch.ones(2, device="lazy") + 1
        assert "test_errors.py" not in torch.lazy.pending_graph()
    assert x.tolist() == [2.0, 2.0]


def test_every_error_is_a_torch_ltc_error():
    names = [name for name in torch_ltc.__all__ if name.endswith("Error")]
    assert "UnexpectedCompileError" in names and len(names) >= 9
    for name in names:
        kind = getattr(torch_ltc, name)
        assert issubclass(kind, torch_ltc.Error) and kind.__doc__
