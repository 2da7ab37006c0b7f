# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input gets eager's exception and eager's words, over OpInfo's own samples."""

import re

import pytest
import torch
from parity import OPS
from torch.utils import _pytree as pytree

# Op, the start of eager's words: why lazy says nothing, or something else.
NO_ERROR = {
    "unsupported operation: some elements of the input": (
        "a write into an input is well defined here: the op reads first"
    ),
    "unsupported operation: more than one element of the written": (
        "out= that repeats its places is written as a copy would be"
    ),
    "Expected out tensor to have dtype": "out= is cast to, as from any result",
    "Expected the dtype for input and out to match": "as above",
    "Expected object of scalar type ComplexDouble but got": "as above",
    "multinomial expects Long tensor out": "as above",
    "uniform_ expects to return a [from, to) range": "the bounds are operands",
}
OTHER_WORDS = {
    "Cannot copy out of meta tensor": "gradient: reads a meta tensor's storage",
    "Expected dim < static_cast": "narrow_copy: narrow's check, which has words",
    "start (0) + length (-1) exceeds": "narrow_copy: narrow's check",
    "index 23 is out of bounds for dimension": "gather: the check is a row's own",
    "Expected object of scalar type ComplexDouble": "complex: out= is cast to",
}


def known(table, error):
    return any(words in str(error) for words in table)


def call(op, sample, device):
    def move(tensor):
        return tensor.detach().to(device)

    arguments = (sample.input, sample.args, sample.kwargs)
    moved = pytree.tree_map_only(torch.Tensor, move, arguments)
    result = op(moved[0], *moved[1], **moved[2])
    pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, result)


def anonymous(error):
    """Return the message without the name of the device."""
    return re.sub(r"lazy(:0)?|cpu", "<device>", str(error).splitlines()[0].strip())


def with_errors():
    return [name for name, op in OPS.items() if op.error_inputs_func]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", with_errors())
def test_errors_are_eagers(name):
    op = OPS[name]
    for sample in op.error_inputs("cpu"):
        try:
            call(op, sample.sample_input, "cpu")
            continue
        except Exception as error:
            eager = error
        try:
            call(op, sample.sample_input, "lazy")
        except Exception as error:
            if not known(OTHER_WORDS, eager):
                assert isinstance(error, type(eager)), f"{error!r} for {eager!r}"
                assert anonymous(eager) in anonymous(error)
        else:
            assert known(NO_ERROR, eager), f"no error for {eager!r}"
