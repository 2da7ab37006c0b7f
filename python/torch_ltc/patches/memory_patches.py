# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is changed of PyTorch where it would reach for a tensor's memory.

Storages, copies, other processes, DLPack and fake tensors: see `patches`.
"""

from torch_ltc.patches.patch import Patch

_NO_MEMORY = "PyTorch's own wants the memory, and a lazy tensor's storage has none"
_SHARED = "a lazy tensor's memory cannot be in another process, and is copied"
_EXPORT = "the list of devices whose memory others can read is fixed in C++"

# Functions that programs import by name.
AT_IMPORT = tuple(
    Patch(module, name, f"patches.dlpack:{wrapper}", _EXPORT)
    for module in ("torch", "torch.utils.dlpack")
    for name, wrapper in (("to_dlpack", "copying_to"), ("from_dlpack", "importing"))
)

AT_START = (
    *(
        Patch("torch.UntypedStorage", name, f"patches.storages:{wrapper}", _NO_MEMORY)
        for name, wrapper in (
            ("__new__", "making"),
            ("__getitem__", "item"),
            ("__setitem__", "setting_item"),
            ("__iter__", "iterating"),
            ("clone", "cloning"),
            ("_byteswap", "swapping_bytes"),
            ("_write_file", "writing"),
            ("copy_", "copying_bytes"),
            ("fill_", "filling"),
            ("resize_", "resizing"),
        )
    ),
    Patch("torch.TypedStorage", "_getitem", "patches.storages:typed_item", _NO_MEMORY),
    Patch("torch.TypedStorage", "__iter__", "patches.storages:iterating", _NO_MEMORY),
    Patch(
        "torch.UntypedStorage",
        "data_ptr",
        "patches.storages:place_of_storage",
        "callers tell storages apart by it, and it fails or is 0 without an address",
    ),
    Patch(
        "torch.Tensor",
        "data_ptr",
        "patches.storages:place_of_tensor",
        "as UntypedStorage.data_ptr: which tensors are one, and which share",
    ),
    Patch(
        "torch.UntypedStorage",
        "_new_shared",
        "patches.storages:not_shared",
        "a DataLoader's worker that gathers lazy tensors fails without saying why",
    ),
    Patch(
        "torch.TypedStorage",
        "_new_shared",
        "patches.storages:typed_not_shared",
        "as UntypedStorage._new_shared, for workers that are spawned",
    ),
    Patch(
        "torch.UntypedStorage",
        "share_memory_",
        "patches.storages:not_in_shared_memory",
        "it does nothing, and others would write to copies",
    ),
    Patch(
        "torch.Tensor",
        "__deepcopy__",
        "patches.copies:copying",
        "copies of tensors that share a storage share none for a list of devices",
    ),
    Patch(
        "torch.Tensor",
        "__copy__",
        "patches.copies:copying_shallowly",
        "copy.copy() takes a tensor apart as pickle does, which copies its values",
        adds=True,
    ),
    Patch(
        "torch.multiprocessing.reductions",
        "reduce_tensor",
        "patches.processes:reducing",
        _SHARED,
    ),
    Patch(
        "torch.multiprocessing.reductions",
        "reduce_storage",
        "patches.processes:reducing_storages",
        _SHARED,
    ),
    Patch("torch.Tensor", "__dlpack__", "patches.dlpack:exporting", _EXPORT),
    Patch(
        "torch.Tensor", "__dlpack_device__", "patches.dlpack:device_of_export", _EXPORT
    ),
    Patch(
        "torch._C",
        "_from_dlpack",
        "patches.dlpack:importing_capsule",
        "it makes tensors that may be written to of memory that is read-only",
    ),
    Patch(
        "torch._subclasses.meta_utils.MetaConverter",
        "__call__",
        "patches.fake_tensors:converting",
        "it refuses tensors of a device named lazy",
    ),
    Patch(
        "torch._subclasses.fake_tensor.FakeTensor",
        "_normalize_fake_device",
        "patches.fake_tensors:with_index",
        "the devices whose names it completes by their number are a list",
        since=(2, 13),
    ),
)
