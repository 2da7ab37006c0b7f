# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own samples of higher-order ops, custom ops and autograd functions.

What its wheel has for the tests of torch.compile; docs/pytorch-tests.md counts.
"""

import itertools

import pytest
import torch
from torch.testing._internal.autograd_function_db import autograd_function_db
from torch.testing._internal.custom_op_db import custom_op_db
from torch.testing._internal.hop_db import hop_db
from torch.utils import _pytree as pytree

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
FAILS_IN_EAGER = {
    ("flex_attention", True): "no backward on the CPU",
    ("inline_asm_elementwise", False): "of CUDA tensors alone",
    ("invoke_quant", True): "AOTAutograd cannot partition it, with any backend",
}


def _cases():
    for op in (*hop_db, *custom_op_db, *autograd_function_db):
        for grad in (False, True)[: 1 + op.supports_autograd]:
            reason = FAILS_IN_EAGER.get((op.name, grad))
            marks = [pytest.mark.skip(reason=reason)] if reason else []
            name = f"{op.name}-{op.variant_test_name}-{'grad' if grad else 'plain'}"
            yield pytest.param(op, grad, marks=marks, id=name)


def _fresh(value):
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def _tensors(tree):
    leaves = pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _results(function, sample):
    """Return the results, and the gradients of the sum of their squares."""
    arguments = pytree.tree_map(_fresh, (sample.input, sample.args, sample.kwargs))
    results = _tensors(function(*arguments))
    inputs = [tensor for tensor in _tensors(arguments) if tensor.requires_grad]
    tracked = [tensor for tensor in results if tensor.requires_grad]
    if not inputs or not tracked:
        return results
    loss = sum(tensor.square().sum() for tensor in tracked)
    return results, torch.autograd.grad(loss, inputs, materialize_grads=True)


@pytest.mark.parametrize(("op", "grad"), _cases())
def test_a_sample_gives_what_it_gives_in_eager(op, grad):
    def function(first, others, named):
        return op.op(first, *others, **named)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="ltc")
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=grad)
    for sample in itertools.islice(samples, 2):
        wanted = _results(function, sample)
        torch.testing.assert_close(_results(compiled, sample), wanted)
