# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Custom ops that write to their arguments, under torch.compile."""

import torch


def not_ours(stock):
    """Wrap ``torch._C._dispatch_has_kernel_for_dispatch_key``.

    torch.compile makes functional what a custom op writes, unless the op has a
    kernel of its own for that. The one that this package gives it is none.
    """

    def _dispatch_has_kernel_for_dispatch_key(name, key):
        found = stock(name, key)
        if not found or "::" not in name:
            return found
        if getattr(key, "name", key) != "Functionalize":
            return found
        kernels = torch._C._dispatch_dump(name).splitlines()
        return not any(
            line.startswith("Functionalize:") and "torch_ltc" in line
            for line in kernels
        )

    return _dispatch_has_kernel_for_dispatch_key
