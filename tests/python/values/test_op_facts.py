# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of facts about ops name ops that there are."""

import op_facts
import pytest
import torch

# Ops that a newer PyTorch has no more: the first version without them.
GONE = {"aten::cholesky": (2, 14), "aten::empty.names": (2, 13)}
# Defined by PyTorch's Python code when it is first used.
CUSTOM = "torch_nn::_linear_cross_entropy_batch_chunked*"


@pytest.fixture(scope="module")
def registry():
    torch.zeros(1, device="lazy").cpu()  # defines the ops of ltc::
    return {
        f"{schema.name}.{schema.overload_name}".rstrip(".")
        for schema in torch._C._jit_get_all_schemas()
    }


def test_every_line_is_for_an_op_of_this_pytorch(registry):
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    gone = {ops for ops, first in GONE.items() if version >= first}
    stale = [
        ops
        for ops in op_facts.named()
        if ops not in gone | {CUSTOM}
        and not any(op_facts.matches(ops, name) for name in registry)
    ]
    assert not stale, f"no op of PyTorch {torch.__version__} has these names: {stale}"


def test_every_argument_is_one_of_its_op(registry):
    arguments = {}
    for schema in torch._C._jit_get_all_schemas():
        name = f"{schema.name}.{schema.overload_name}".rstrip(".")
        arguments[name] = {argument.name for argument in schema.arguments}
    stale = [
        (ops, argument)
        for ops, argument, *_ in op_facts.ATTRIBUTES + op_facts.INTEGERS
        if not any(
            argument in arguments[name]
            for name in registry
            if op_facts.matches(ops, name)
        )
    ]
    assert not stale, f"no such argument: {stale}"
