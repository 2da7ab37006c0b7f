# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that end, are late, or call something else: the others say so in time."""

import pytest
import ranks

PROGRAM = """
import os, sys, time
from datetime import timedelta
import torch, torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=3))
rank, x = dist.get_rank(), torch.ones(4, device="lazy")
dist.all_reduce(x)
began = time.monotonic()
try:
    {action}
    print("nothing was wrong", flush=True)
except Exception as error:
    assert time.monotonic() - began < 10
    print(type(error).__name__, error, flush=True)
os._exit(0)
"""

ENDED = ["DeviceError all_reduce(f32[4]) on rank 0 of 2 failed", "program.py", "DETAIL"]
CASES = {
    "ended": ("if rank == 1: os._exit(7)\n    dist.all_reduce(x)", {}, ENDED),
    "ended before the future": (
        "if rank == 1: os._exit(7)\n"
        "    dist.all_reduce(x, async_op=True).get_future().wait()",
        {},
        ENDED[0:1][0].split(" ", 1)[1:],
    ),
    "late": (
        "if rank == 1: time.sleep(6)\n    dist.all_reduce(x)",
        {},
        [ENDED[0], "Timed out waiting 3000ms"],
    ),
    "late to the barrier": (
        "if rank == 1: time.sleep(4)\n"
        "    dist.monitored_barrier(timeout=timedelta(seconds=1))",
        {},
        ["Rank 1 failed to pass monitoredBarrier"],
    ),
    "another op": (
        "dist.all_reduce(x) if rank == 0 else dist.broadcast(x, 1)",
        {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
        ["Detected mismatch", "OpType=ALLREDUCE", "OpType=BROADCAST"],
    ),
    "another shape": (
        "dist.all_reduce(x if rank == 0 else x[:2] + 1)",
        {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
        ["Detected mismatch", "TensorShape=[4]", "TensorShape=[2]"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("action,environment,words", CASES.values(), ids=CASES)
def test_the_first_rank_says(action, environment, words, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(action=action))
    ended = ranks.finish(ranks.start([program], 2, **environment), timeout=60)
    for word in words:
        assert word in ended[0][1]


TRAIN = """
import os, sys
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

path, end = sys.argv[1], int(sys.argv[2])
dist.init_process_group()
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Linear(4, 4).to("lazy")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
first = 0
if os.path.exists(path):
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    first = saved["step"]
parallel = DistributedDataParallel(model)
for step in range(first, 6):
    if rank == 1 and step == end:
        os._exit(7)
    optimizer.zero_grad()
    x = torch.full((2, 4), 1.0 + step + rank, device="lazy")
    loss = parallel(x).pow(2).sum()
    loss.backward()
    optimizer.step()
    if rank == 0:
        print("loss", step, loss.item(), flush=True)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**state, "step": step + 1}, path + ".new")
        os.replace(path + ".new", path)
    dist.barrier()
"""


@pytest.mark.slow
def test_a_second_start_goes_on_from_the_checkpoint(tmp_path):
    """With the losses that the first would have had; all ranks of that end."""
    program = tmp_path / "program.py"
    program.write_text(TRAIN)

    def losses(name, end):
        arguments = [program, tmp_path / name, end]
        ended = ranks.finish(ranks.start(arguments, 2), timeout=60)
        lines = [line.split() for line in ended[0][1].splitlines()]
        found = {line[1]: line[2] for line in lines if line[:1] == ["loss"]}
        return [code for code, _ in ended], found

    codes, whole = losses("whole.pt", -1)
    assert codes == [0, 0] and len(whole) == 6
    (first, second), before = losses("cut.pt", 3)
    assert first not in (0, None) and second == 7 and len(before) == 3
    codes, after = losses("cut.pt", -1)
    assert codes == [0, 0] and before | after == whole


SHARED_CACHE = """
import os
import torch, torch.distributed as dist, torch_ltc
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group()
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(8, 8).to("lazy"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    x = torch.full((2, 8), 1.0 + dist.get_rank(), device="lazy")
    model(x).pow(2).sum().backward()
    optimizer.step()
total = model.module.weight.detach().sum()
compiled = torch.tensor([torch.lazy.metrics()["codegen.graphs"]])
everywhere = [torch.zeros_like(total) for _ in range(dist.get_world_size())]
dist.all_gather(everywhere, total)
dist.all_reduce(compiled)
assert len({value.item() for value in everywhere}) == 1
if dist.get_rank() == 0:
    print("compiled", compiled.item(), flush=True)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_eight_ranks_compile_each_graph_once(tmp_path):
    """No key has the rank: they find each other's programs, and wait for them."""
    program = tmp_path / "program.py"
    program.write_text(SHARED_CACHE)

    def compiled():
        ended = ranks.finish(
            ranks.start(
                [program], 8, LTC_CACHE="rw", LTC_CACHE_DIR=str(tmp_path / "c")
            ),
            timeout=180,
        )
        assert all(code == 0 for code, _ in ended), ended
        (line,) = [x for x in ended[0][1].splitlines() if x.startswith("compiled")]
        return int(line.split()[1])

    first = compiled()
    assert 0 < first < 8
    assert compiled() == 0
