# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every place where this package changes others' Python code, with its reason.

PyTorch has no door for these: it names the devices it knows, or assumes that a
tensor has a storage. Each patch wraps one function, hands on to it whenever no
lazy tensor or device is meant, and is dropped, with a warning, should a version
of PyTorch not have the function any more. The same goes for the one package beside
PyTorch, which is patched when a program imports it.
"""

import functools
import importlib
import importlib.machinery
import sys
import warnings

import torch

from torch_ltc.distributed import group_patches, sharding_patches
from torch_ltc.patches import memory_patches
from torch_ltc.patches.patch import Patch

# Needed before anything lazy exists: these may be a program's first call for it.
AT_IMPORT = (
    Patch(
        "torch.nn.Module",
        "_apply",
        "patches.parameters:keep_identity",
        "Module.to() makes new parameters where it cannot share storage, which "
        "unties shared ones and leaves an optimizer with the old",
    ),
    Patch(
        "torch.nn.Module",
        "compile",
        "dynamo.module_compile:compiling",
        "Dynamo skips the code of PyTorch's own modules, so that a Sequential's "
        "compile() compiles nothing",
    ),
    Patch(
        "torch._C",
        "_is_autocast_available",
        "patches.autocast:available",
        "the list of devices with autocast is fixed in C++",
    ),
    Patch(
        "torch",
        "get_autocast_dtype",
        "patches.autocast:by_device",
        "autocast's state has no place for lazy; XLA's, which is free, is used",
    ),
    Patch(
        "torch.nn.Parameter",
        "data",
        "patches.parameters:data_of_any_device",
        "assigning data exchanges storages, and a lazy tensor has none",
    ),
    Patch(
        "torch._opaque_base.OpaqueBaseMeta",
        "__call__",
        "lazy.generator:calling",
        "torch.Generator(device) asks the hooks of an accelerator; the list of "
        "those is fixed in C++",
        until=(2, 14),
    ),
    Patch(
        "torch._custom_class_base.CustomClassBaseMeta",
        "__call__",
        "lazy.generator:calling",
        "as OpaqueBaseMeta, under its new name",
        since=(2, 14),
    ),
)

_NORM = "a device it has not heard of takes norms that know fewer dtypes"

AT_IMPORT += (
    Patch("torch", "norm", "patches.norms:as_on_cpu", _NORM),
    Patch("torch.functional", "norm", "patches.norms:as_on_cpu", _NORM),
)

_LOADING = "lazy tensors have no storage to load into: the tensor is moved instead"
_SAVING = "it empties the file before it reads a tensor, which may fail"
_SHARING = "tensors that share a storage are written as views of one"
_CORE = "torch._lazy's C functions want a backend, and reach around its executor"

AT_IMPORT += (
    Patch("torch._utils", "_rebuild_tensor", "patches.serialization:moving", _LOADING),
    Patch(
        "torch._utils", "_rebuild_tensor_v3", "patches.serialization:moving", _LOADING
    ),
    Patch("torch._utils", "_rebuild_qtensor", "patches.serialization:moving", _LOADING),
    Patch(
        "torch.serialization",
        "_legacy_load",
        "patches.serialization:finishing",
        _LOADING,
    ),
    Patch("torch", "save", "patches.serialization:computing_first", _SAVING),
    Patch(
        "torch.serialization", "save", "patches.serialization:computing_first", _SAVING
    ),
    Patch("torch._C._lazy", "_mark_step", "lazy.lazy_core:mark_step", _CORE),
    Patch(
        "torch._C._lazy", "_wait_device_ops", "lazy.lazy_core:wait_device_ops", _CORE
    ),
    Patch("torch._C._lazy", "_sync_multi", "lazy.lazy_core:sync_multi", _CORE),
    Patch("torch._C._lazy_ts_backend", "_init", "lazy.lazy_core:no_torchscript", _CORE),
)

_LOOKING = "torch._lazy's C functions walk an executor's own nodes, and ours are others"

AT_IMPORT += tuple(
    Patch(f"torch._C.{module}", name, f"lazy.lazy_core:{wrapper}", _LOOKING)
    for module, name, wrapper in (
        ("_lazy", "_get_tensor_id", "get_tensor_id"),
        ("_lazy", "_get_tensors_text", "get_tensors_text"),
        ("_lazy", "_get_tensors_dot", "get_tensors_dot"),
        ("_lazy", "_get_tensors_backend", "get_tensors_backend"),
        ("_lazy", "_get_graph_hash", "get_graph_hash"),
        ("_lazy", "_set_force_fallback", "set_force_fallback"),
        ("_lazy_ts_backend", "_get_tensors_ts_device_data_node", "get_device_data"),
        ("_lazy_ts_backend", "_run_cached_graph", "run_cached_graph"),
    )
)

# Needed by lazy tensors only.
AT_START = (
    Patch(
        "torch.Tensor",
        "_reduce_ex_internal",
        "patches.serialization:reducing",
        "a lazy tensor is pickled as a CPU storage with a mark",
    ),
    Patch(
        "torch._tensor_str",
        "_str",
        "profiling.profiler:printing",
        "a profile says which syncs are for print",
    ),
    Patch(
        "torch.autograd.profiler",
        "_enable_profiler",
        "profiling.torch_profiler:enabling",
        "PyTorch tells no backend that its profiler is on",
    ),
    Patch(
        "torch.autograd.profiler",
        "_disable_profiler",
        "profiling.torch_profiler:disabling",
        "the profiler's rows may be read once the queue has written its own; a "
        "device that PyTorch knows is synchronized there",
    ),
    Patch("torch.serialization", "_save", "patches.serialization:sharing", _SHARING),
    Patch(
        "torch.serialization", "_legacy_save", "patches.serialization:sharing", _SHARING
    ),
    Patch(
        "torch",
        "is_autocast_enabled",
        "patches.autocast:enabled_by_device",
        "as get_autocast_dtype",
    ),
    Patch(
        "torch",
        "set_autocast_dtype",
        "patches.autocast:by_device",
        "as get_autocast_dtype",
    ),
    Patch(
        "torch",
        "set_autocast_enabled",
        "patches.autocast:set_enabled",
        "lazy tensors carry no autocast key; it is included for the thread",
    ),
    Patch(
        "torch",
        "clear_autocast_cache",
        "patches.autocast:clear_cache",
        "the casts of lazy parameters are kept by us",
    ),
    Patch(
        "torch.library.Library",
        "impl",
        "lowering:adopting",
        "an op that a program defines needs a kernel of ours before its first call; "
        "PyTorch tells of new ops while none can be registered",
    ),
    Patch(
        "torch.utils._foreach_utils",
        "_get_foreach_kernels_supported_devices",
        "patches.optimizer:with_lazy",
        "foreach=None then takes the foreach form: a tenth of the ops",
    ),
    Patch(
        "torch.optim.optimizer",
        "_get_foreach_kernels_supported_devices",
        "patches.optimizer:with_lazy",
        "imported by name from _foreach_utils",
    ),
    Patch(
        "torch.nn.modules.linear_cross_entropy_options.LinearCrossEntropyOptions",
        "_adjust",
        "patches.losses:chosen_as_on_cpu",
        "a device it has not heard of sums 16-bit losses in 16 bits",
        since=(2, 13),
    ),
    Patch(
        "torch.nn.TransformerEncoderLayer",
        "forward",
        "patches.encoder:layer",
        "the fast path is for a list of devices",
    ),
    Patch(
        "torch.nn.TransformerEncoder",
        "forward",
        "patches.encoder:encoder",
        "the fast path is for a list of devices",
    ),
    Patch(
        "torch.nn.modules.activation",
        "_check_arg_device",
        "patches.encoder:attention",
        "the fast path of MultiheadAttention is for a list of devices",
    ),
)

AT_START += (
    Patch(
        "torch.Tensor",
        "new",
        "patches.sparse:making",
        "SparseAdam calls it; it has no name for sparse tensors of a lazy device",
    ),
)

_JAGGED = "eager CPU's kernel makes strided nested tensors, which lazy has none of"

AT_START += (
    Patch(
        "torch.nested._internal.sdpa",
        "jagged_scaled_dot_product_attention",
        "patches.nested:attending",
        _JAGGED,
    ),
    Patch(
        "torch.nested._internal.ops",
        "jagged_scaled_dot_product_attention",
        "patches.nested:attending",
        _JAGGED,
    ),
)

_FUSED = "the devices of fused steps are a list"
_ONE_OP = "a step of lists is a dozen ops, a fused one is one"
_CAPTURABLE = "the devices that may count steps in tensors of theirs are a list"

AT_START += (
    Patch(
        "torch._C",
        "_dispatch_has_kernel_for_dispatch_key",
        "patches.custom_ops:not_ours",
        "torch.compile makes functional what a custom op writes only if the op has "
        "no kernel for that, and the lazy device's is none for other devices",
    ),
)

AT_START += tuple(
    Patch(f"torch.optim.{module}", name, f"patches.optimizer:{wrapper}", why)
    for name, wrapper, why, modules in (
        ("_device_dtype_check_for_fused", "fused_allowed", _FUSED, "adam sgd"),
        ("_multi_tensor_adam", "foreach_as_one_op", _ONE_OP, "adam"),
        ("_multi_tensor_sgd", "foreach_as_one_op", _ONE_OP, "sgd"),
        (
            "_get_capturable_supported_devices",
            "with_lazy",
            _CAPTURABLE,
            "adadelta adam adamax asgd nadam radam rmsprop rprop",
        ),
    )
    for module in modules.split()
)

AT_START += (
    Patch(
        "torch.optim.Optimizer",
        "add_param_group",
        "patches.optimizer:computing_parameters",
        "parameters that were made on the device are computed before the first step, "
        "so that a failure there leaves them, and all steps are one graph",
    ),
)

_WRAPPED = "it wraps tensors that functionalisation has wrapped, and asserts"

AT_IMPORT += (
    Patch(
        "torch.func", "functionalize", "patches.functional:functionalizing", _WRAPPED
    ),
    Patch(
        "torch._functorch.eager_transforms",
        "functionalize",
        "patches.functional:functionalizing",
        _WRAPPED,
    ),
)

AT_IMPORT += tuple(
    Patch(
        "torch.nested",
        name,
        wrapper,
        "a nested tensor of a device that it has not heard of is an internal assert",
    )
    for name, wrapper in (
        ("nested_tensor", "patches.nested:making"),
        ("as_nested_tensor", "patches.nested:gathering"),
    )
)

if torch.distributed.is_available():
    AT_IMPORT += group_patches.AT_IMPORT

_MIXED = "a foreach op takes no list of distributed and other tensors"

AT_START += tuple(
    Patch(
        f"torch.optim.{module}",
        "_default_to_fused_or_foreach",
        "distributed.process_groups:one_kind_only",
        _MIXED,
    )
    for module in (
        "adadelta",
        "adagrad",
        "adam",
        "adamax",
        "asgd",
        "nadam",
        "radam",
        "rmsprop",
        "rprop",
        "sgd",
    )
)

AT_START += (
    Patch(
        "torch.accelerator",
        "current_stream",
        "lazy.stream:of_accelerator",
        "it fails where no accelerator is; FSDP has it wait for a gather that came "
        "too early",
    ),
    Patch(
        "torch.nn.SyncBatchNorm",
        "forward",
        "distributed.sync_batch_norm:forward",
        "it is made of kernels that a list of devices has",
    ),
)

AT_IMPORT += memory_patches.AT_IMPORT
AT_START += memory_patches.AT_START

# Needed by programs that import the package named.
AT_IMPORT_OF = sharding_patches.AT_IMPORT_OF | {
    "torch._inductor.compile_fx": (
        Patch(
            "torch._inductor.compile_fx",
            "compile_fx",
            "patches.fake_tensors:compiling",
            "it has code for a list of devices, and fails for others",
        ),
    ),
    "torch._lazy.debug": (
        Patch(
            "torch._lazy.debug",
            "dump_ir",
            "lazy.lazy_core:dump_ir",
            "it knows all forms of a graph that there are but dot",
        ),
    ),
    "safetensors": (
        Patch(
            "safetensors",
            "safe_open",
            "patches.safetensors_files:opening",
            "the list of devices is fixed in its library",
        ),
    ),
}


def apply(patches):
    """Install the patches."""
    version = torch.torch_version.TorchVersion(torch.__version__)
    for patch in patches:
        if not patch.since <= version < patch.until:
            continue
        owner = _import(patch.where)
        stock = getattr(owner, patch.name, None)
        if stock is None and not patch.adds:
            warnings.warn(
                f"torch_ltc: there is no {patch.where}.{patch.name}; going without the "
                f"patch for it ({patch.why})",
                stacklevel=2,
            )
            continue
        module, function = patch.wrapper.split(":")
        wrap = getattr(importlib.import_module(f"torch_ltc.{module}"), function)
        ours = wrap(stock)
        if stock is not None and callable(ours) and not isinstance(ours, type):
            ours = functools.wraps(stock)(ours)
        # TorchScript knows the functions that are ops by who they are.
        operator = torch.jit._builtins._find_builtin(stock) if stock else None
        if operator is not None:
            torch.jit._builtins._register_builtin(ours, operator)
        is_static = isinstance(vars(owner).get(patch.name), staticmethod)
        setattr(owner, patch.name, staticmethod(ours) if is_static else ours)


def apply_when_imported():
    """Install the patches of packages, now or when a program imports them."""
    for package, patches in AT_IMPORT_OF.items():
        if package in sys.modules:
            apply(patches)
        else:
            sys.meta_path.insert(0, _Finder(package, patches))


class _Finder:
    """Finds one package as all others would, and patches it once it has run."""

    def __init__(self, package, patches):
        self.package = package
        self.patches = patches

    def find_spec(self, name, path=None, target=None):
        if name != self.package:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_patch(module):
            run(module)
            sys.meta_path.remove(self)
            apply(self.patches)

        spec.loader.exec_module = run_and_patch
        return spec


def _import(name):
    """Return a module or class, or None where this version has it no more."""
    module, _, attribute = name.rpartition(".")
    try:
        if attribute and attribute[0].isupper():
            return getattr(importlib.import_module(module), attribute, None)
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None
