# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process groups whose lazy device is a GPU: NCCL has its memory as CUDA tensors.

With LTC_TEST_GPU=cuda on GPUs, as tests/gpu/run.sh has it: two ranks if there are two,
else one. Without one on tests/fake_cuda, with a stand-in for NCCL (gpu_ranks.py).
"""

import os
import re
import subprocess
import sys

import gpu_cases
import pytest
import ranks
import torch.distributed as dist
from torch.distributed.distributed_c10d import Backend, BackendConfig
from torch_ltc.distributed import process_groups

COUNT = "import torch; print(torch.cuda.device_count())"


def how_many():
    if os.environ.get("LTC_TEST_GPU") != "cuda":
        return 2
    done = subprocess.run(
        [sys.executable, "-c", COUNT], capture_output=True, text=True, check=True
    )
    return min(2, int(done.stdout))


@pytest.mark.long
@pytest.mark.parametrize("backend", ["", "lazy:ltc"])
def test_nccl_has_the_memory_of_the_gpu(backend, tmp_path, cuda_library):
    """With no backend named, and with ours, by its name."""
    found = ranks.outcomes(
        "gpu_cases",
        how_many(),
        tmp_path,
        script="gpu_ranks.py",
        BACKEND=backend,
        **cuda_library,
    )
    assert set(found) == set(gpu_cases.CASES)
    assert not {name: wrong for name, wrong in found.items() if any(wrong)}


@pytest.mark.parametrize(
    ("named", "wanted"),
    [
        (Backend.UNDEFINED, {"cpu": "gloo", "lazy": "nccl", "cuda": "nccl"}),
        ("gloo", {"cpu": "gloo", "lazy": "gloo", "cuda": "gloo"}),
        ("cpu:gloo", {"cpu": "gloo", "lazy": "gloo"}),
        ("cpu:gloo,lazy:gloo", {"cpu": "gloo", "lazy": "gloo"}),
        ("cpu:gloo,lazy:ltc", {"cpu": "gloo", "lazy": "nccl", "cuda": "nccl"}),
        ("ltc", {"cpu": "ltc", "lazy": "nccl", "cuda": "nccl"}),
        ("lazy:ltc", {"cpu": "gloo", "lazy": "nccl", "cuda": "nccl"}),
        ("nccl", {"lazy": "nccl", "cuda": "nccl"}),
        ("cpu:gloo,cuda:nccl", {"cpu": "gloo", "lazy": "nccl", "cuda": "nccl"}),
    ],
)
def test_who_carries_what_a_gpu_has(named, wanted, monkeypatch):
    monkeypatch.setattr(process_groups, "_is_gpu", lambda: True)
    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)
    found = BackendConfig(named).get_device_backend_map()
    assert {device: found.get(device) for device in wanted} == wanted
    assert ("cpu" in found) == ("cpu" in wanted)


def test_a_device_that_is_no_gpu_keeps_gloo(monkeypatch):
    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)
    for named in Backend.UNDEFINED, "ltc", "lazy:ltc":
        found = BackendConfig(named).get_device_backend_map()
        assert found["lazy"] in ("gloo", "ltc") and "cuda" not in found


ONE_RANK = """
import gpu_ranks

gpu_ranks.prepare()
import torch
import torch.distributed as dist
import torch_ltc

called = getattr(torch.ops.fake_cuda, "collectives", list)
dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)

table = torch.arange(4.0, device="lazy")
for index in 1, 2, 3, 2:
    taken = table[torch.tensor([index], device="lazy")] * 2
    dist.all_reduce(taken)
    assert (taken + 1).tolist() == [2 * index + 1]
dist.all_reduce(table + 1)
dist.barrier()
before = list(called())  # the barrier has come behind what was recorded
assert before in ([], ["allreduce cuda:0"] * 5), before

taken = table[torch.tensor([9], device="lazy")] * 2
dist.all_reduce(taken)
try:
    print(taken.tolist())
except torch_ltc.IndexOutOfRangeError:
    print("a check failed")
torch.lazy.synchronize()
assert called() == before, "other ranks have met a call of a graph that failed"

try:
    dist.all_reduce(torch.ones(2, device=f"lazy:{torch.lazy.device_count() - 1}"))
except torch_ltc.UnsupportedOpError as error:
    print(str(error).splitlines()[0])
late = table + 3
dist.all_reduce(late)
dist.destroy_process_group()
assert late.tolist() == [3, 4, 5, 6], "what was recorded came behind the end"
"""


@pytest.mark.slow
def test_one_rank_calls_nccl_once_checks_have_passed(start_python, cuda_library):
    done = start_python(
        ONE_RANK,
        **cuda_library
        | {
            "LTC_DEVICE": "cuda,cpu",
            "RANK": "0",
            "PYTHONPATH": os.pathsep.join(
                [str(ranks.HERE), os.environ.get("PYTHONPATH", "")]
            ),
        },
    )
    assert "a check failed" in done.stdout
    wanted = r"all_reduce\(f32\[2\]\).*carries tensors of GPUs, and lazy:\d is none of"
    assert re.search(wanted, done.stdout), done.stdout
