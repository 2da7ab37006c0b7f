# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands of a shell: ``python -m torch_ltc``, ``ltc-cache``, ``ltc-fpcmp``."""
