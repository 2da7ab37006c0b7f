# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested tensors: the jagged ones work, others are refused with a way out."""

import pytest
import torch
import torch_ltc

PARTS = [torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)]
STRIDED = {
    "of CPU tensors": lambda: torch.nested.nested_tensor(PARTS, device="lazy"),
    "of lists": lambda: torch.nested.nested_tensor([[1.0, 2], [3.0]], device="lazy"),
    "of lazy tensors": lambda: torch.nested.nested_tensor(
        [part.to("lazy") for part in PARTS]
    ),
    "moved": lambda: torch.nested.nested_tensor(PARTS).to("lazy"),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("make", STRIDED.values(), ids=STRIDED)
def test_a_strided_one_is_refused_with_a_way_out(make):
    with pytest.raises(torch_ltc.UnsupportedOpError) as caught:
        make()
    assert "no nested tensors on a lazy device" in str(caught.value)
    assert "to_padded_tensor" in caught.value.hint
    assert caught.value.file.endswith("test_nested.py")
