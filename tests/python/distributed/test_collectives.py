# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of ``torch.distributed`` on lazy tensors of several processes."""

import collective_cases
import pytest
import ranks
import recorded_cases
import torch
import torch.distributed as dist
import torch_ltc
from torch.distributed import _functional_collectives as functional
from torch_ltc import startup


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    return ranks.outcomes("collective_cases", 2, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("name", collective_cases.CASES)
def test_two_ranks(name, two_ranks):
    assert two_ranks[name] == [None, None]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return ranks.outcomes("recorded_cases", 2, tmp_path_factory.mktemp("recorded"))


@pytest.mark.slow
@pytest.mark.parametrize("name", recorded_cases.CASES)
def test_recorded(name, recorded):
    """The same, where a graph begins them and waits for them."""
    assert recorded[name] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "environment"),
    [
        (4, {"BACKEND": "lazy:ltc"}),
        (2, {"BACKEND": "gloo", "LTC_DEVICE": "emulator"}),
        (2, {"BACKEND": "ltc", "LTC_TIERS": "auto"}),
        (2, {"BACKEND": "cpu:gloo,lazy:ltc", "TORCH_DISTRIBUTED_DEBUG": "DETAIL"}),
    ],
    ids=str,
)
def test_other_groups(count, environment, tmp_path):
    found = ranks.outcomes("collective_cases", count, tmp_path, **environment)
    wrong = {name: each for name, each in found.items() if any(each)}
    assert len(found) == len(collective_cases.CASES) and not wrong


@pytest.fixture
def alone():
    """This process as a group of one."""
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_sparse_tensors_are_refused(alone):
    x = torch.eye(2).to_sparse().to("lazy")
    with pytest.raises(torch_ltc.UnsupportedOpError, match="c10d::allreduce_"):
        dist.all_reduce(x)


def test_what_is_not_a_plain_view_is_refused(alone):
    negative = torch.ones(2, dtype=torch.complex64, device="lazy").conj().imag
    with pytest.raises(torch_ltc.UnsupportedOpError, match="resolve_conj"):
        dist.broadcast(negative, 0)


def test_errors_of_the_program_have_eager_words(alone):
    for device in "cpu", "lazy":
        with pytest.raises(RuntimeError, match=r"ProcessGroupGloo::allgather"):
            x = torch.ones(2, device=device)
            dist.all_gather([torch.ones(3, device=device)], x)


def test_a_graph_that_is_built_ahead_has_none(alone):
    builder = startup.start().GraphBuilder(0)
    x = builder.input(torch.empty(2, device="meta"))
    with pytest.raises(torch_ltc.UnsupportedOpError, match="c10d::allreduce_"):
        dist.all_reduce(x)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ltc", "aot_eager"])
def test_compiled_calls_with_tensors_of_the_cpu(backend, alone):
    """Collectives are between what is compiled, whichever backend compiles it."""

    def twice(x):
        return functional.all_reduce(x * 2, "sum", dist.group.WORLD) + 1

    startup.start()
    x = torch.arange(3.0)
    call = torch.compile(twice, backend=backend, fullgraph=True)
    for turn in range(3):
        assert torch.equal(call(x + turn), twice(x + turn))


def test_results_take_the_memory_of_the_tensor(alone):
    """No copy of what nobody else has: the sum is where the tensor was."""
    import numpy as np

    x = torch.ones(1 << 16, device="lazy") * 2
    torch.lazy.synchronize()
    place = np.from_dlpack(x).ctypes.data
    dist.all_reduce(x)
    assert np.from_dlpack(x).ctypes.data == place
    kept = np.from_dlpack(x)
    dist.all_reduce(x)
    assert np.from_dlpack(x).ctypes.data != place and kept[0] == 2


def test_profiles_name_the_collective(alone):
    with torch_ltc.profile() as profile:
        dist.all_reduce(torch.ones(2, device="lazy") + 1)
    assert "collective" in str(profile) and "all_reduce" in str(profile)
