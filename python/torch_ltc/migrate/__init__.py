# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that take a script from the lazy device to torch.compile, in phases.

So far the first: ``python -m torch_ltc migrate lint PATH...`` (docs/migration.md).
"""
