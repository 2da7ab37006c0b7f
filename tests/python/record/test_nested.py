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
    "of a mask": lambda: torch._nested_tensor_from_mask(
        torch.ones(1, 2, 3, device="lazy"), torch.ones(1, 2, device="lazy").bool()
    ),
    "of a list": lambda: torch.ops.aten._nested_tensor_from_tensor_list(
        [torch.ones(3, device="lazy")]
    ),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("make", STRIDED.values(), ids=STRIDED)
def test_a_strided_one_is_refused_with_a_way_out(make):
    torch.lazy.synchronize()  # before the start, PyTorch refuses in its own words
    with pytest.raises(torch_ltc.UnsupportedOpError) as caught:
        make()
    assert "no nested tensors on a lazy device" in str(caught.value)
    assert "to_padded_tensor" in caught.value.hint
    assert caught.value.file.endswith("test_nested.py")


def attention(device, heads=2, **options):
    torch.manual_seed(0)
    parts = [torch.randn(length, heads * 4) for length in (3, 5, 1)]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged).to(device)
    x.requires_grad_()
    width = torch.nn.Linear(heads * 4, heads * 4).to(device)

    def split(x):
        return x.unflatten(-1, (heads, 4)).transpose(1, 2)

    y = torch.nn.functional.scaled_dot_product_attention(
        split(x), split(width(x)), split(x * 2), **options
    )
    y = y.transpose(1, 2).flatten(-2)
    y.values().square().sum().backward()
    return [t.detach().cpu() for t in (y.values(), x.grad.values(), width.weight.grad)]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}], ids=str)
def test_attention_of_jagged_tensors(options, counts):
    found = attention("lazy", **options)
    assert counts.fallbacks() == []
    torch.testing.assert_close(found, attention("cpu", **options))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("refused", [{"is_causal": True}, {"attn_mask": torch.ones(1)}])
def test_attention_that_eager_refuses(refused):
    def words(device):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            attention(device, **refused)
        return caught.type, str(caught.value)

    assert words("lazy") == words("cpu")
