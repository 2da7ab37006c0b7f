# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that take a script from the lazy device to torch.compile, in phases.

``python -m torch_ltc migrate``: lint, rewrite and parity (docs/migration.md). The
other two phases are the settings ``frontend`` and ``lazy_use``.
"""
