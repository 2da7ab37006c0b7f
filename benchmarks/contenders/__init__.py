# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who runs the workloads: one small file each, listed here.

A contender is an object with

    name, device    what the table calls it, where its tensors are
    python          the interpreter of its process; None: it was not given
    environment     what its process is started with
    same_numbers    further environment under which it draws eager's random
                    numbers, for the comparison of outputs; None: it cannot
    cache_variable  the environment variable that names its disk cache, or None
    optimizer_options  given to every optimizer

and, called in its own process only,

    start()            once, before anything is built
    translate(workload)  the class that does the work; raises if it is not written
    compile(function)  the function as this contender wants it called
    compile_step(function)  the same of a whole training step
    submit()           hand over what the host has done; need not wait
    finish()           wait until everything handed over has run
    outputs(result)    what a step returned, as tensors on cpu
    counts()           {"graphs", "kernels", "fallbacks"} since the start
"""

from contenders.ablations import ABLATIONS
from contenders.compiled import LtcCompile
from contenders.eager import Eager, EagerFused
from contenders.inductor import Inductor
from contenders.jax import Jax
from contenders.lazy import Freeze, Lazy, LazyStatic
from contenders.ts import Ts
from contenders.xla import Xla

CONTENDERS = {
    contender.name: contender
    for contender in (Eager, EagerFused, Inductor, Ts, Xla, Jax, LtcCompile, Lazy)
}
# --all leaves out what says something of lazy alone.
OF_LAZY = {contender.name: contender for contender in (Freeze, LazyStatic)}
EVERY_CONTENDER = CONTENDERS | OF_LAZY | ABLATIONS
