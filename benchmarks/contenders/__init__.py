# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs the workloads: one small file each, listed here.

A contender is a class with `name`, `device` and `environment` (what its worker
process is started with), and three methods, called in that process only:

    prepare(step)  the step as this contender wants it called
    submit()       hand over what the host has done; need not wait
    finish()       wait until everything handed over has run
"""

from contenders.eager import Eager
from contenders.lazy import Lazy

CONTENDERS = {contender.name: contender for contender in (Eager, Lazy)}
