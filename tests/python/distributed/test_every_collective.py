# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every collective that PyTorch's dispatcher knows, in a group of one.

Arguments are made from the schemas, so that one of a later PyTorch is seen here.
"""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives  # registers some
import torch.distributed.tensor

NAMESPACES = (
    "c10d",
    "c10d_functional",
    "_c10d_functional",
    "_c10d_functional_autograd",
    "_dtensor",
)
# They need two ranks: cases of test_two_ranks call them.
MESSAGES = ("send", "recv", "p2p")
# Gloo leaves the result of one rank as it was, on cpu too.
UNWRITTEN = ("reduce_scatter",)

OPS = [
    name
    for name in sorted(torch._C._dispatch_get_all_op_names())
    if name.split("::")[0] in NAMESPACES and "mesh" not in name
]


@pytest.fixture(scope="module", autouse=True)
def alone():
    """This process as a group of one."""
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def values(device):
    return torch.arange(4.0, device=device) + 1


def argument_for(argument, device):
    """Return a value of the argument's type that a group of one takes."""
    group, kind = dist.group.WORLD, str(argument.type)
    by_name = {
        "group_name": group.group_name,
        "reduce_op": "sum",
        "reduceOp": "sum",
        "group_size": 1,
        "timeout": 60_000,
        "ranks": [0],
        "output_split_sizes": [4],
        "input_split_sizes": [4],
    }
    if kind.endswith("ProcessGroup"):
        return group.boxed()
    if kind.endswith("ReduceOp"):
        return torch.classes.c10d.ReduceOp()
    if argument.name in by_name:
        return by_name[argument.name]
    by_type = {
        "Tensor": lambda: values(device),
        "List[Tensor]": lambda: [values(device)],
        "List[List[Tensor]]": lambda: [[values(device)]],
        "Optional[Tensor]": lambda: None,
        "List[int]": list,
        "int": int,
        "bool": bool,
        "str": str,
    }
    return by_type[kind]()


def flat(value):
    """Return the tensors in what a collective takes or gives, waited for."""
    if isinstance(value, torch.Tensor):
        return [torch.ops._c10d_functional.wait_tensor(value)]
    if isinstance(value, torch.ScriptObject) and "Work" in str(value):
        dist.Work.unbox(value).wait()
    if isinstance(value, list | tuple):
        return [tensor for each in value for tensor in flat(each)]
    return []


def fallbacks():
    counters = torch.lazy.metrics().items()
    return {name: count for name, count in counters if "fallback" in name}


def run(name, device):
    """Call the op; return what it gave, and its arguments after that."""
    before = fallbacks()
    schema = torch._C._get_schema(name, "")
    arguments = {a.name: argument_for(a, device) for a in schema.arguments}
    namespace, op = name.split("::")
    given = getattr(getattr(torch.ops, namespace), op)(**arguments)
    tensors = flat(given) + flat(list(arguments.values()))
    assert all(tensor.device.type == device for tensor in tensors)
    assert fallbacks() == before
    return [tensor.cpu() for tensor in tensors]


def is_message(name):
    return any(part in name for part in MESSAGES)


@pytest.mark.parametrize("name", [name for name in OPS if not is_message(name)])
def test_as_on_cpu(name):
    """No op leaves lazy tensors unseen, or gives other values than cpu."""
    wanted, found = run(name, "cpu"), run(name, "lazy")
    assert [x.shape for x in found] == [x.shape for x in wanted]
    if not any(part in name for part in UNWRITTEN):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_all_are_here():
    assert len(OPS) >= 50
    assert sum("c10d::" in name for name in OPS) >= 21


@pytest.mark.parametrize("name", [name for name in OPS if is_message(name)])
def test_messages_have_kernels(name):
    """Those of the old functional names are made of the new ones."""
    values("lazy").sum().item()
    assert name.startswith("c10d_functional::") or (
        torch._C._dispatch_has_kernel_for_dispatch_key(name, "Functionalize")
    )


@pytest.mark.parametrize("device", ["cpu", "lazy"])
def test_nan_is_found(device):
    x = torch.tensor([1.0, float("nan")]).to(device)
    torch.ops.c10d.check_for_nan(x[:1])
    with pytest.raises(RuntimeError, match="NaN found in input tensor"):
        torch.ops.c10d.check_for_nan(x * 2)


WRAPPED = """
import torch
import torch.distributed as dist

x = torch.ones(4, device="lazy") + 1
x.cpu()  # the backend is there before PyTorch's functional collectives are
import torch.distributed._functional_collectives

dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
wrapped = torch.ops._c10d_functional._wrap_tensor_autograd(x)
assert (wrapped.device.type, wrapped.tolist()) == ("lazy", [2, 2, 2, 2]), wrapped
"""


def test_one_that_is_defined_later(run_python):
    run_python(WRAPPED)


SUBCLASS = """
import torch
from torch.testing._internal.two_tensor import TwoTensor


@torch.library.custom_op("mine::two", mutates_args=())
def two(x: torch.Tensor) -> torch.Tensor:
    return TwoTensor(x, x)


two.register_fake(torch.empty_like)
try:
    two(torch.ones(4, device="lazy")).tolist()
except RuntimeError as error:
    assert "a tensor subclass that has no memory of its own" in str(error), error
else:
    raise AssertionError
"""


def test_an_op_that_gives_a_subclass_is_refused(run_python):
    run_python(SUBCLASS)
