# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places in PyTorch's packages for sharded training that this package changes."""

from torch_ltc.patches.patch import Patch

_MESH = "without a mesh it shards over the accelerator, which lazy is none of"
_INPUTS = "it moves the inputs to the devices of a list, in which lazy is not"
_DATA = "assigning a buffer's data exchanges storages, and a lazy tensor has none"
_PINNED = "it pins what is offloaded for the accelerator, which lazy is none of"
_RANDOM = (
    "it moves the offset in the state of a CUDA generator, and a CPU generator's, "
    "which lazy draws from, has none"
)

AT_IMPORT_OF = {
    package: (
        Patch(
            package,
            "_init_default_mesh",
            "distributed.process_groups:meshing",
            _MESH,
            since=(2, 13),
        ),
    )
    for package in (
        "torch.distributed.fsdp._fully_shard._fully_shard",
        "torch.distributed._composable.replicate_with_fsdp",
    )
}

_FSDP = "torch.distributed.fsdp._fully_shard."
for _module, _class, _name, _wrapper, _why in (
    ("_fsdp_init", "", "_move_states_to_device", "moving_buffers", _DATA),
    ("_fsdp_state", ".FSDPState", "_root_pre_forward", "moving", _INPUTS),
    ("_fsdp_param", ".FSDPParam", "_init_sharded_param", "unpinned", _PINNED),
):
    AT_IMPORT_OF[_FSDP + _module] = (
        Patch(
            _FSDP + _module + _class,
            _name,
            f"distributed.process_groups:{_wrapper}",
            _why,
            since=(2, 13),
        ),
    )

AT_IMPORT_OF["torch.distributed.tensor._random"] = tuple(
    Patch(
        "torch.distributed.tensor._random.OffsetBasedRNGTracker",
        name,
        f"distributed.distributed_random:{wrapper}",
        _RANDOM,
        since=(2, 13),
    )
    for name, wrapper in (
        ("__init__", "starting"),
        ("_distribute_region", "distributing"),
    )
)
