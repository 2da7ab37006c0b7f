# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested tensors that are made on a lazy device, and attention of jagged ones."""

import torch
from torch.nested._internal import sdpa
from torch.nested._internal.nested_tensor import (
    NestedTensor,
    nested_view_from_values_offsets_lengths,
)
from torch.nn import functional
from torch.utils import _pytree as pytree

from torch_ltc.lazy.ordinal import is_lazy


def making(stock):
    """Wrap ``torch.nested.nested_tensor``."""

    def nested_tensor(tensor_list, *, layout=None, device=None, **options):
        wanted = _device(tensor_list, device)
        if layout not in (None, torch.strided) or not is_lazy(wanted):
            return stock(tensor_list, layout=layout, device=device, **options)
        on_cpu = [torch.as_tensor(each, device="cpu") for each in tensor_list]
        made = stock(on_cpu, layout=layout, device="cpu", **options)
        return made.to(wanted)  # says that there are none, and what to do

    return nested_tensor


def gathering(stock):
    """Wrap ``torch.nested.as_nested_tensor``."""

    def as_nested_tensor(ts, dtype=None, device=None, layout=None):
        wanted = _device(ts, device)
        if layout not in (None, torch.strided) or not is_lazy(wanted):
            return stock(ts, dtype, device, layout)
        made = stock(pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, ts), dtype)
        return made.to(wanted)  # as above

    return as_nested_tensor


def _device(tensors, device):
    """Return the device that what is made of them would be on."""
    if device is None and not isinstance(tensors, torch.Tensor):
        tensors = tensors[0] if len(tensors) else None
    return getattr(tensors, "device", None) if device is None else device


def attending(stock):
    """Wrap the attention of jagged tensors.

    Eager CPU goes through strided nested tensors; here each sequence attends by
    itself. Whatever eager refuses, its own function refuses.
    """

    def jagged_scaled_dot_product_attention(
        query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **options
    ):
        rest = (attn_mask, dropout_p, is_causal)
        if not _attend_by_ops(query, key, value, *rest, options):
            return stock(query, key, value, *rest, **options)
        query, key, value, _ = sdpa._autocast(query, key, value, attn_mask)
        scale = options.get("scale")
        sdpa._validate_sdpa_input(query, key, value, *rest, scale)
        attended = [
            functional.scaled_dot_product_attention(
                *sequences, dropout_p=dropout_p, scale=scale
            ).transpose(0, 1)
            for sequences in zip(*map(_sequences, (query, key, value)), strict=True)
        ]
        return nested_view_from_values_offsets_lengths(
            torch.cat(attended),
            query.offsets(),
            lengths=query.lengths(),
            min_seqlen=query._maybe_min_seqlen,
            max_seqlen=query._maybe_max_seqlen,
        ).transpose(1, 2)

    return jagged_scaled_dot_product_attention


def _attend_by_ops(query, key, value, attn_mask, dropout_p, is_causal, options):
    """Return whether eager CPU would take its kernel that consists of ops."""
    tensors = (query, key, value)
    if not all(isinstance(each, NestedTensor) for each in tensors):
        return False
    if not is_lazy(query.device) or attn_mask is not None:
        return False
    if any(each.dim() != 4 or each._ragged_idx != 2 for each in tensors):
        return False
    if len({each.size(0) for each in tensors}) > 1 or options.get("enable_gqa"):
        return False
    params = sdpa.SDPAParams(*tensors, attn_mask, dropout_p, is_causal, False)
    return sdpa.math_sdp_enabled() and sdpa._can_use_math_sdpa_jagged(params)


def _sequences(jagged):
    """Return each sequence, (heads, length, width), of a batch with heads."""
    lengths = jagged.offsets().diff().tolist()
    return [
        part.transpose(0, 1) for part in jagged.transpose(1, 2).values().split(lengths)
    ]
