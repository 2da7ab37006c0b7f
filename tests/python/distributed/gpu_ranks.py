# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of a group whose lazy device is a GPU: ``gpu_ranks.py MODULE FOLDER``.

On tests/fake_cuda a stand-in has the place of NCCL, by the way that PyTorch has for
backends of others: it takes CUDA tensors alone, in a stream of its own.
"""

import ctypes
import os
import sys

STAND_IN = "fake_nccl"


def load():
    """Import torch, with a CUDA if it has none, and return whether it has NCCL."""
    library = os.environ.get("FAKE_TORCH_CUDA")
    if library:
        ctypes.CDLL(library)
    import torch

    if library:
        torch.cuda._lazy_init = lambda: None
        os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD")
        from torch_ltc import autoload

        autoload.activate()
    return not library


def stand_in(store, rank, size, timeout):
    """Make the backend of CUDA tensors."""
    import torch
    from torch.distributed import ProcessGroup, ProcessGroupGloo

    group = ProcessGroup(store, rank, size)
    gloo = ProcessGroupGloo(store, rank, size, timeout)
    kind = ProcessGroup.BackendType.GLOO
    group._register_backend(torch.device("cpu"), kind, gloo)
    torch.ops.fake_cuda.add_nccl(group.boxed())
    return group._get_backend(torch.device("cuda"))


def prepare():
    """Load what makes this process a rank; take the GPU of its number."""
    if not load():
        from torch.distributed import Backend

        Backend.default_device_backend_map.pop("cuda")
        Backend.register_backend(STAND_IN, stand_in, devices=["cuda"])
    import torch

    device = int(os.environ["RANK"]) % torch.lazy.device_count()
    torch.lazy.set_device(device)
    if torch.cuda.is_available():
        torch.cuda.set_device(device)


if __name__ == "__main__":
    prepare()
    import ranks

    ranks.run(*sys.argv[1:])
