# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``as_strided`` of elements that follow each other, which are a slice."""

import pytest
import torch
import torch_ltc

REINTERPRETED = {
    "integers": lambda x: x.view(torch.int32),
    "pairs": lambda x: x.view(torch.int16),
    "complex": lambda x: torch.view_as_complex(x.view(-1, 2)),
}


@pytest.mark.parametrize("view", ["integers", "pairs", "complex"])
def test_a_block_of_elements_is_written_through_another_dtype(view):
    """One of as many bytes an element; eager has the others too."""
    x, y = (torch.arange(12.0, device=d).view(3, 4) + 1 for d in ("lazy", "cpu"))
    for each in (x, y):
        block = REINTERPRETED[view](each).flatten().as_strided((2, 1), (1, 1), 1)
        if view == "integers" or each is y:
            block.zero_()
        else:
            with pytest.raises(torch_ltc.UnsupportedOpError, match="another dtype"):
                block.zero_()
            return
    assert torch.equal(x.cpu(), y)


def test_blocks_of_a_flat_tensor_are_slices():
    """As DistributedDataParallel has gradients in its buckets."""

    def run(device):
        flat = torch.zeros(12, device=device)
        blocks = [
            flat.as_strided((2, 3), (3, 1), 0),
            flat.as_strided((6,), (1,), 6),
            flat.view(3, 4)[1:].as_strided((2,), (1,), 5),
        ]
        for number, block in enumerate(blocks, 1):
            block += number
        assert [b.storage_offset() for b in blocks] == [0, 6, 5]
        assert [b.stride() for b in blocks] == [(3, 1), (1,), (1,)]
        return [flat, *blocks]

    lazy = run("lazy")
    torch.testing.assert_close([each.cpu() for each in lazy], run("cpu"))
