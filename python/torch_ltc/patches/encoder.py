# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fast path of ``nn.TransformerEncoder`` and its layers.

In evaluation PyTorch runs a layer as one op, and a padded batch as nested tensors,
for the devices of a list inside ``forward``. Its conditions are its own business,
so ``forward`` itself runs for lazy tensors too, with one word of the list exchanged.
There are no nested lazy tensors; what they change in the result is done to the
padded one: positions that hold padding become zero.
"""

import types

import torch

_REPLACED = "xpu"  # on the list, and never the device of a lazy tensor


def layer(stock):
    """Wrap ``torch.nn.TransformerEncoderLayer.forward``."""
    on_lazy = _with_lazy(stock, stock.__globals__)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        chosen = on_lazy if src.device.type == "lazy" else stock
        return chosen(self, src, src_mask, src_key_padding_mask, is_causal)

    return _at_home(forward, stock)


def encoder(stock):
    """Wrap ``torch.nn.TransformerEncoder.forward``."""
    asking = _with_lazy(stock, stock.__globals__ | {"torch": _Torch()})
    nests, finish = _Nests, _without_nesting

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        if src.device.type != "lazy" or src_key_padding_mask is None:
            return stock(self, src, mask, src_key_padding_mask, is_causal)
        try:
            return asking(self, src, mask, src_key_padding_mask, is_causal)
        except nests as found:
            return finish(self, src, found.padding)

    return _at_home(forward, stock)


def attention(stock):
    """Wrap ``torch.nn.modules.activation._check_arg_device``."""

    def _check_arg_device(x):
        return stock(x) or x.device.type == "lazy"

    return _at_home(_check_arg_device, stock)


class _Nests(Exception):
    """Raised where ``forward`` would make a nested tensor."""

    def __init__(self, padding):
        self.padding = padding


class _Torch:
    """The module torch, as an encoder sees it that cannot make nested tensors."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def _nested_tensor_from_mask(self, src, kept, mask_check):
        raise _Nests(kept.logical_not())


def _without_nesting(self, src, padding):
    """Do what is left of ``forward`` at that point."""
    output = src
    for each in self.layers:
        output = each(output, src_key_padding_mask=padding)
    output = output.masked_fill(padding.unsqueeze(-1), 0.0)
    return output if self.norm is None else self.norm(output)


def _with_lazy(function, names):
    code = function.__code__
    if code.co_consts.count(_REPLACED) != 1:
        return function
    constants = ["lazy" if c == _REPLACED else c for c in code.co_consts]
    return types.FunctionType(
        code.replace(co_consts=tuple(constants)),
        names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


def _at_home(function, stock):
    """Return the function as one of the module of `stock`, for TorchScript's sake.

    It compiles the source that ``__wrapped__`` leads to, with the function's names.
    """
    return types.FunctionType(
        function.__code__,
        stock.__globals__,
        stock.__name__,
        function.__defaults__,
        function.__closure__,
    )
