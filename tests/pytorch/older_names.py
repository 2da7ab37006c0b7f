# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that test files of an older PyTorch import, and this PyTorch has not.

Each stands for what came after it, or for nothing: a decorator of another device
does nothing here, a removed list of ops is empty.
"""

import contextlib
import importlib
import sys
import unittest


def unchanged(function):
    return function


def add(module, **names):
    """Give a module of torch.testing._internal, or another, the names it lacks."""
    if not module.startswith("torch."):
        module = f"torch.testing._internal.{module}"
    module = importlib.import_module(module)
    for name, value in names.items():
        if not hasattr(module, name):
            setattr(module, name, value)


def install():
    import torch
    from torch.testing._internal import common_methods_invocations as methods
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo

    with contextlib.suppress(ImportError):  # test_spectral_ops has not imported it
        importlib.import_module("distutils.version")
    torch._C.has_mkldnn = torch.backends.mkldnn.is_available()
    add(
        "common_utils",
        skipIfMps=unchanged,
        skipCUDAMemoryLeakCheckIf=lambda _: unchanged,
    )
    add(
        "common_cuda",
        tf32_is_not_fp32=lambda: False,
    )
    add(
        "common_methods_invocations",
        binary_ufuncs_and_refs=[
            op for op in methods.op_db if isinstance(op, BinaryUfuncInfo)
        ],
        foreach_lerp_op_db=methods.foreach_other_op_db,
        xfail=lambda *names, **options: names,
        skip=lambda *names, **options: names,
        skipOps=lambda *names, **options: unchanged,
    )
    add("common_nn", new_module_tests=[])


def install_for_compiled():
    """Add what tests of torch.compile import."""
    try:
        importlib.import_module("torchvision")
    except Exception:  # one that is not of this PyTorch, which tests can do without
        sys.modules["torchvision"] = None
    add("common_utils", disable_translation_validation_if_dynamic_shapes=unchanged)
    add("common_utils", dtype_abbrs={})
    add("inductor_utils", HAS_CUDA=False, HAS_XPU=False)
    add("triton_utils", requires_cuda=unittest.skip("requires a GPU"))
    add("torch._inductor.codecache", cpp_prefix_path=None)
    add("torch._inductor.compile_fx", complex_memory_overlap=None)
    add("torch._dynamo.backends.onnxrt", has_onnxruntime=lambda: False)
    add("torch._dynamo.utils", CompileProfiler=None)
    add("torch.utils.checkpoint", _pt2_selective_checkpoint_context_fn_gen=None)
    control_flow = importlib.import_module("functorch.experimental.control_flow")
    control_flow.UnsupportedAliasMutationException = RuntimeError
