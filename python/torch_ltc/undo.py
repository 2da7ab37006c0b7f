# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python holds of a step that failed."""

import gc

from torch_ltc import startup


def drop_lost_gradients():
    """Set gradients to None that a failed step was to make.

    With other threads that record, they stay until ``zero_grad()`` or the next
    ``backward()``, which takes them for zeros.
    """
    c = startup.start()
    if c.records_alone():
        c.drop_lost_gradients(gc.get_objects())
