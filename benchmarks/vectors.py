# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which vectors the contenders may use: the machine's, or shorter ones."""

import os

NAMES = {"AVX512": "AVX-512", "AVX2": "AVX2", "DEFAULT": "SSE"}
#: What tells eager's libraries, Inductor, XLA and us to do without longer ones.
ENVIRONMENT = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "LTC_CPU_TARGET": "x86-64-v3",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    }
}


def choose(name):
    """Tell this process, and so those it starts; before torch is imported."""
    os.environ.update(ENVIRONMENT[name])


def known():
    """Return what PyTorch's kernels use in this process."""
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    return NAMES.get(capability, capability)
