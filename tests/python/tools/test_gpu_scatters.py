# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPU's own kernels write where indices say, and give eager's values.

No case of these is a library call. Additions are atomic; under
torch.use_deterministic_algorithms() they run in eager's order.
"""

import pytest

BEGIN = """
import torch
import torch_ltc
from torch.nn import functional as F

torch.manual_seed(0)
TABLE = torch.randn(37, 24)
ROWS = torch.randn(50, 24)
WHOLE = torch.randint(-9, 9, (37, 24))
ID = torch.randint(37, (50,))  # some come several times
PLACE = torch.randint(37, (20, 24))
DIMS = torch.randn(3, 37, 5)


def gradient(on, **options):
    weight = on(TABLE.clone()).detach().requires_grad_()
    rows = F.embedding(on(ID.view(5, 10)), weight, **options)
    (rows * rows).sum().backward()
    return weight.grad


def wrote(on, write):
    x = on(TABLE.clone())
    write(x)
    return x
"""

WRITES = """
CASES = {
    "index_add": lambda on: on(TABLE).index_add(0, on(ID), on(ROWS)),
    "index_add, alpha": lambda on: on(TABLE).index_add(
        0, on(ID), on(ROWS), alpha=-0.5
    ),
    "index_add in the middle": lambda on: on(DIMS).index_add(
        1, on(ID), on(DIMS[:, ID] * 2)
    ),
    "index_add, i64": lambda on: on(WHOLE).index_add(0, on(ID), on(WHOLE[ID])),
    "index_add, bf16": lambda on: on(TABLE.bfloat16()).index_add(
        0, on(ID[:9]), on(ROWS[:9].bfloat16())
    ),
    "index_copy": lambda on: on(TABLE).index_copy(0, on(ID), on(ROWS)),
    "x[i] += y": lambda on: wrote(
        on, lambda x: x.index_put_((on(ID),), on(ROWS), accumulate=True)
    ),
    "x[i] = y, from the end": lambda on: wrote(
        on, lambda x: x.__setitem__(on(ID - 37), on(ROWS))
    ),
    "x[:, i] += a row": lambda on: torch.ops.aten.index_put(
        on(DIMS), [None, on(ID)], on(DIMS[0, :1]), True
    ),
    "x[i, :, j] += y": lambda on: torch.ops.aten.index_put(
        on(DIMS), [on(ID % 3), None, on(ID % 5)], on(DIMS[0, :, 0]), True
    ),
    "scatter": lambda on: on(TABLE).scatter(0, on(PLACE), on(ROWS)),
    "scatter a number": lambda on: on(TABLE).scatter(0, on(PLACE), 3.0),
    "scatter_add": lambda on: on(TABLE).scatter_add(0, on(PLACE), on(ROWS)),
    "scatter_add along rows": lambda on: on(TABLE).scatter_add(
        1, on(PLACE % 24), on(ROWS)
    ),
    "product": lambda on: on(TABLE).scatter_reduce(0, on(PLACE), on(ROWS), "prod"),
    "largest": lambda on: on(TABLE).scatter_reduce(0, on(PLACE), on(ROWS), "amax"),
    "least whole": lambda on: on(WHOLE).scatter_reduce(
        0, on(PLACE), on(WHOLE), "amin"
    ),
    "any": lambda on: on(TABLE > 1).index_put(
        (on(ID),), on(ROWS > 1), accumulate=True
    ),
    "gradient of an embedding": gradient,
    "with padding": lambda on: gradient(on, padding_idx=int(ID[0])),
    "gradient of rows": lambda on: torch.autograd.grad(
        (x := on(TABLE.clone()).detach().requires_grad_())[on(ID)].square().sum(), x
    )[0],
}
"""

REDUCTIONS = """
SHORT = TABLE.bfloat16()
FEW = torch.randint(4, (20, 24))  # most elements of the table keep theirs
MASKED = torch.where(ROWS > 1, -torch.inf, ROWS)


def reduce(how, tensor=TABLE, source=ROWS, **options):
    return lambda on: on(tensor).scatter_reduce(
        0, on(FEW), on(source), how, **options
    )


def along(how, dim=0, tensor=TABLE, source=ROWS, **options):
    index = ID if dim == 0 else ID[:9]
    return lambda on: on(tensor).index_reduce(
        dim, on(index), on(source), how, **options
    )


CASES = {
    "mean": reduce("mean"),
    "mean, i64": reduce("mean", WHOLE, WHOLE),
    "mean, bf16": reduce("mean", SHORT, ROWS.bfloat16()),
    "sum, bf16": reduce("sum", SHORT, ROWS.bfloat16()),
    "sum of many, bf16": lambda on: on(SHORT).scatter_add(
        0, on(PLACE.new_zeros(400, 24)), on(SHORT.new_ones(400, 24))
    ),
    "mean of others": reduce("mean", include_self=False),
    "sum of others": reduce("sum", include_self=False),
    "product of others": reduce("prod", include_self=False),
    "largest of others": reduce("amax", include_self=False),
    "least of others": reduce("amin", TABLE, MASKED, include_self=False),
    "largest of others, i64": reduce("amax", WHOLE, WHOLE, include_self=False),
    "least of others, bf16": reduce(
        "amin", SHORT, ROWS.bfloat16(), include_self=False
    ),
    "mean of others, i64": reduce("mean", WHOLE, WHOLE, include_self=False),
    "rows' mean": along("mean"),
    "rows' mean, i64": along("mean", tensor=WHOLE, source=WHOLE[ID]),
    "rows' mean of others": along("mean", include_self=False),
    "rows' product": along("prod"),
    "rows' largest, in the middle": along(
        "amax", 1, DIMS, DIMS[:, ID[:9]] * 2, include_self=False
    ),
    "rows' least, f64": along("amin", tensor=TABLE.double(), source=ROWS.double()),
    "index_fill": lambda on: on(TABLE).index_fill(0, on(ID - 37), 3.5),
    "index_fill in the middle, i64": lambda on: on(WHOLE).index_fill(
        1, on(ID[:7] % 24), 3
    ),
    "index_fill by a tensor": lambda on: on(SHORT).index_fill(
        0, on(ID[:5]), on(TABLE[0, 0])
    ),
}
"""

END = """
wanted = {name: case(lambda tensor: tensor) for name, case in CASES.items()}
for is_ordered in (False, True):
    torch.use_deterministic_algorithms(is_ordered)
    found = {name: case(lambda t: t.to("lazy")) for name, case in CASES.items()}
    for name, value in found.items():  # one graph
        is_short = value.dtype == torch.bfloat16
        torch.testing.assert_close(
            value.cpu(),
            wanted[name],
            rtol=2e-2 if is_short else 1e-5,
            atol=2e-2 if is_short else 1e-5,
            msg=lambda why, name=name: name + ": " + why,
        )
metrics = torch_ltc.metrics.snapshot()
assert not metrics.get("execute.host_calls"), metrics
assert not metrics.get("codegen.fallback"), metrics
"""


@pytest.mark.slow
@pytest.mark.parametrize("cases", [WRITES, REDUCTIONS], ids=["writes", "reductions"])
def test_values_are_eagers(run_python, gpu, cases):
    run_python(BEGIN + cases + END, **gpu, LTC_CACHE="off")


OPEN_SIZES = """
import torch
import torch_ltc
from torch.nn import functional as F


def gradient(weight, ids):
    weight = weight.detach().requires_grad_()
    F.embedding(ids, weight).square().sum().backward()
    return weight.grad


def compute(x, ids, rows):
    return [
        gradient(x, ids),
        x.index_add(0, ids, rows),
        x.index_copy(0, ids[:1], rows[:1]),
        rows.scatter_add(0, (ids % 5)[:, None].expand(-1, 6), rows),
        rows.scatter_reduce(0, (ids % 5)[:, None].expand(-1, 6), rows, "mean"),
        rows.index_fill(0, ids[:3] % 5, 2.0),
        rows.index_reduce(0, ids % 5, rows, "amax", include_self=False),
    ]


compiled = []
for count in (7, 9, 30, 1100, 12):
    torch.manual_seed(count)
    inputs = torch.randn(11, 6), torch.randint(11, (count,)), torch.randn(count, 6)
    wanted = compute(*inputs)
    found = [x.cpu() for x in compute(*(x.to("lazy") for x in inputs))]
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    compiled.append(torch_ltc.metrics.snapshot()["codegen.graphs"])
metrics = torch_ltc.metrics.snapshot()
assert not metrics.get("execute.host_calls"), metrics
assert not metrics.get("codegen.fallback"), metrics
assert compiled[-1] == compiled[1], compiled
"""


@pytest.mark.slow
def test_open_sizes_share_kernels(run_python, gpu):
    run_python(OPEN_SIZES, **gpu, LTC_CACHE="off")


ORDER = """
import torch

torch.manual_seed(0)
ID = torch.randint(4, (300,))
ROWS = torch.randn(300, 3) * torch.logspace(-6, 6, 300)[:, None]


def total(device):
    x = torch.zeros(4, 3).to(device)
    return x.index_add(0, ID.to(device), ROWS.to(device)).cpu()


torch.use_deterministic_algorithms(True)
assert torch.equal(total("lazy"), total("cpu"))
"""


def test_sums_have_eagers_order_where_asked(run_python, gpu):
    """Each sum is of numbers of very different sizes: another order shows."""
    run_python(ORDER, **gpu, LTC_CACHE="off")


MODES = """
import torch
import torch_ltc

x, i = torch.zeros(5).to("lazy"), torch.tensor([1, 1]).to("lazy")
y = torch.ones(2).to("lazy")
compiled = []
for is_ordered in (False, True, False, True):
    torch.use_deterministic_algorithms(is_ordered)
    assert x.index_add(0, i, y).tolist() == [0, 2, 0, 0, 0]
    compiled.append(torch_ltc.metrics.snapshot()["codegen.graphs"])
print(compiled)
"""


def test_each_mode_has_a_graph_of_its_own(run_python, emulated_gpu):
    out = run_python(MODES, **emulated_gpu, LTC_CACHE="off").stdout
    first, second, *others = map(int, out.strip("[]\n").split(","))
    assert second == first + 1 and others == [second, second]


UPDATES = """
import torch

table = torch.zeros(6, 2).to("lazy")
ones = torch.ones(3, 2).to("lazy")


def add(*rows):
    table.index_add_(0, torch.tensor(rows).to("lazy"), ones)  # LINE
    torch.lazy.mark_step()


for _ in range(4):
    add(0, 2, 2)
add(1, 6, 1)
try:
    table.cpu()
except IndexError as error:
    print(error)
print(table.tolist())
add(5, 5, 5)
print(table[5].tolist())
"""


def test_a_bad_index_writes_nothing(run_python, gpu):
    """The rows that are updated in place have their values from before."""
    out = run_python(UPDATES, **gpu, LTC_CACHE="off").stdout
    assert "index_add(f32[6, 2], i64[3], f32[3, 2])" in out, out
    assert "6 is out of bounds" in out
    rows = UPDATES.splitlines()
    line = next(i for i, row in enumerate(rows) if row.endswith("# LINE"))
    assert f"program.py:{line + 1}" in out
    zeros, four, eight = "[0.0, 0.0]", "[4.0, 4.0]", "[8.0, 8.0]"
    assert f"[{four}, {zeros}, {eight}, {zeros}, {zeros}, {zeros}]" in out
    assert out.endswith("[3.0, 3.0]\n")
