# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interfaces of other lazy systems, for scripts that move here by one import.

    xla_model   ``torch_xla.core.xla_model``
    metrics     ``torch_xla.debug.metrics``
    profiler    ``torch_xla.debug.profiler``

With one of them imported, ``PT_XLA_DEBUG=1`` prints each compile, and where the
program syncs.
"""

from torch_ltc.compat import analysis

analysis.begin()
