# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places in PyTorch's process groups, and what trains with them, that change here."""

from torch_ltc.patches.patch import Patch

_GROUP = "torch.distributed.ProcessGroup"
_ONE_WORK = "the Work of several calls at once is the library's own"
_RECORDED = "a group does not know of its calls that are recorded"

AT_IMPORT = (
    Patch(
        "torch.distributed.distributed_c10d.BackendConfig",
        "__init__",
        "distributed.process_groups:naming_backends",
        "without a name, and by the name of Gloo, the devices that get a backend "
        "are a list",
    ),
    Patch(
        _GROUP,
        "_start_coalescing",
        "distributed.process_groups:starting_batch",
        _ONE_WORK,
    ),
    Patch(
        _GROUP,
        "_end_coalescing",
        "distributed.process_groups:ending_batch",
        _ONE_WORK,
    ),
    Patch(
        _GROUP,
        "_get_sequence_number_for_group",
        "distributed.process_groups:settling",
        _RECORDED,
    ),
    Patch(
        "torch._C._distributed_c10d.Backend",
        "_get_sequence_number_for_group",
        "distributed.process_groups:settling",
        _RECORDED,
    ),
    Patch(_GROUP, "shutdown", "distributed.process_groups:ending", _RECORDED),
    Patch(
        "torch.nn.parallel.DistributedDataParallel",
        "__init__",
        "distributed.process_groups:placing",
        "a rank's number is taken for its device's, and ranks may share one",
    ),
    Patch(
        "torch.distributed.utils",
        "_recursive_to",
        "distributed.process_groups:moving_inputs",
        "the stream that it copies by is an accelerator's",
    ),
    Patch(
        "torch.nn.parallel.DistributedDataParallel",
        "_check_comm_hook",
        "distributed.process_groups:checking_hook",
        "the hook for bfloat16 is for CUDA's and XPU's libraries alone",
    ),
    Patch(
        "torch.distributed.device_mesh.DeviceMesh",
        "_setup_world_group_and_device",
        "distributed.process_groups:choosing_device",
        "a rank takes the device of its number, and there may be fewer",
    ),
)
