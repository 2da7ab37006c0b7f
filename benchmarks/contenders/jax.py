# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX on this machine's CPU, for the workloads that are also written for it.

BENCH_JAX_PYTHON names a Python that has jax, and torch for weights and inputs.
"""

import os
from typing import ClassVar

from contenders.eager import Eager


class Jax(Eager):
    """jit of the whole step, parameters donated; compiled once, not traced again."""

    name = "jax"
    python = os.environ.get("BENCH_JAX_PYTHON")
    environment: ClassVar[dict] = {
        "JAX_PLATFORMS": "cpu",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    same_numbers: ClassVar[dict | None] = None
    cache_variable = "JAX_COMPILATION_CACHE_DIR"

    def start(self):
        # XLA's pools have so many threads; read when its client is made.
        os.environ["NPROC"] = os.environ["OMP_NUM_THREADS"]
        import jax

        jax.devices()
        self.compiled = []
        self.pending = None

    def translate(self, workload):
        from contenders.jax_programs import PROGRAMS

        if workload.name not in PROGRAMS:
            raise NotImplementedError(f"{workload.name} is not written for JAX")
        return lambda _, size: PROGRAMS[workload.name](self, workload(Eager(), size))

    def jit(self, function, **options):
        """Return the compiled function; its graphs count."""
        import jax

        self.compiled.append(jax.jit(function, **options))
        return self.compiled[-1]

    def finish(self):
        import jax

        jax.block_until_ready(self.pending)

    def outputs(self, result):
        import numpy
        import torch

        return [torch.from_numpy(numpy.array(result))]

    def counts(self):
        return {"graphs": sum(each._cache_size() for each in self.compiled)}
