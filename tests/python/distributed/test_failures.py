# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that end, are late, or call something else: the others say so in time."""

import json
import os
import subprocess
import sys

import pytest
import ranks

ENDED = """
import os
from datetime import timedelta
import torch, torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=20))
rank, x = dist.get_rank(), torch.ones(4, device="lazy")
other = dist.new_group()
dist.all_reduce(x)
dist.all_reduce(x, group=other)
if rank == 1:
    os._exit(7)
for call in (
    lambda: dist.all_reduce(x),
    lambda: dist.all_reduce(x, group=other, async_op=True).get_future().wait(),
):
    try:
        call()
        x.cpu()
        print("nothing was wrong", flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
os._exit(0)
"""


@pytest.mark.slow
def test_a_rank_that_has_ended(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(ENDED)
    (_, said), _ = ranks.finish(ranks.start([program], 2), timeout=60)
    assert "DeviceError all_reduce(f32[4]) on rank 0 of 2 failed" in said
    assert said.count("all_reduce(f32[4]) on rank 0 of 2 failed") == 2
    assert "program.py:" in said and "nothing was wrong" not in said


ENDS_UNREAD = """
import torch, torch.distributed as dist

dist.init_process_group()
for turn in range(3):
    x = torch.ones(4, device="lazy") * 2
    dist.all_reduce(x)
if dist.get_rank() == 0:
    print("sum", x.sum().item(), flush=True)
"""


@pytest.mark.slow
def test_a_rank_that_ends_without_reading_has_taken_part(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(ENDS_UNREAD)
    ended = ranks.finish(ranks.start([program], 2), timeout=60)
    assert [code for code, _ in ended] == [0, 0], ended
    assert "sum 16.0" in ended[0][1] and not ended[1][1], ended


DIFFERENT = """
import os
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, x = dist.get_rank(), torch.ones(4, device="lazy")
try:
    dist.all_reduce(x) if rank == 0 else dist.broadcast(x, 1)
except Exception as error:
    print(error, flush=True)
os._exit(0)
"""


@pytest.mark.long
def test_the_check_of_pytorch_itself(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DIFFERENT)
    started = ranks.start([program], 2, TORCH_DISTRIBUTED_DEBUG="DETAIL")
    (_, said), _ = ranks.finish(started, timeout=60)
    for words in "Detected mismatch", "OpType=ALLREDUCE", "OpType=BROADCAST":
        assert words in said


# What the two ranks have called, in failure_cases.
CALLS = {
    "another_op": ("all_reduce(f32[4], sum)", "broadcast(f32[4], root 1)"),
    "another_shape": ("all_reduce(f32[4], sum)", "all_reduce(f32[2], sum)"),
    "another_dtype": ("all_reduce(f32[4], sum)", "all_reduce(i32[4], sum)"),
    "another_reduction": ("all_reduce(f32[4], sum)", "all_reduce(f32[4], max)"),
    "another_order": ("all_reduce(f32[4], sum)", "all_reduce(f32[3, 2], sum)"),
    "another_message": ("send(f32[4])", "recv(f32[2])"),
    "known_calls": ("all_reduce(f32[4], sum)", "all_reduce(f32[2, 4], sum)"),
    "seen_in_the_future": ("all_reduce(f32[4], sum)", "all_reduce(f32[2], sum)"),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each rank says in each of failure_cases."""
    folder = tmp_path_factory.mktemp("failures")
    program = ranks.HERE / "failure_cases.py"
    ended = ranks.finish(ranks.start([program, folder], 2), timeout=120)
    assert all(code == 0 for code, _ in ended), ended
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_ranks_that_differ_name_both_calls(name, told):
    """Long before the group's timeout, and the process goes on."""
    for each in told:
        _, message, seconds = each[name]
        assert "ranks call different things in one place" in message
        for rank, call in enumerate(CALLS[name]):
            assert f"rank {rank} {call} at " in message
        assert message.count("failure_cases.py:") >= 2
        assert seconds < 10


@pytest.mark.slow
def test_a_rank_that_waits_in_vain_says_who_is_behind(told):
    kind, message, _ = told[0]["behind"]
    assert kind == "DeviceError" and "Timed out waiting 3000ms" in message
    assert "rank 1 has not called it" in message
    assert "its last was all_reduce(f32[4], sum) at " in message


@pytest.mark.slow
def test_a_rank_that_is_late_to_a_monitored_barrier(told):
    assert "Rank 1 failed to pass monitoredBarrier" in told[0]["late_to_the_barrier"][1]


def losses_of(output):
    """Return {step: loss} of what train_and_save.py printed."""
    lines = [line.split() for line in output.splitlines()]
    return {line[1]: line[2] for line in lines if line[:1] == ["loss"]}


@pytest.mark.slow
def test_a_second_start_goes_on_from_the_checkpoint(tmp_path):
    """With the losses that the first would have had; all ranks of that end."""
    program = ranks.HERE / "train_and_save.py"

    def losses(name, *options):
        arguments = [program, tmp_path / name, *options]
        ended = ranks.finish(ranks.start(arguments, 2), timeout=60)
        return [code for code, _ in ended], losses_of(ended[0][1])

    codes, whole = losses("whole.pt")
    assert codes == [0, 0] and len(whole) == 6
    (first, second), before = losses("cut.pt", "--end", 3)
    assert first not in (0, None) and second == 7 and len(before) == 3
    codes, after = losses("cut.pt")
    assert codes == [0, 0] and before | after == whole


@pytest.mark.long
def test_torchrun_starts_the_ranks_again(tmp_path):
    """One ends in its fourth step: the second attempt has the other losses."""

    def train(name, *options):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node=2", "--max-restarts=1"]
        command += [ranks.HERE / "train_and_save.py", tmp_path / name, *options]
        ended = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=200,
            # A store of its own for each attempt: the first one's addresses are old.
            env=os.environ
            | {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return losses_of(ended.stdout)

    whole = train("whole.pt")
    assert len(whole) == 6 and train("cut.pt", "--end", "3") == whole


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


@pytest.mark.parametrize(
    "count",
    [pytest.param(3, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.long)],
)
def test_ranks_compile_each_graph_once(count, tmp_path):
    """No key has the rank: they find each other's programs, and wait for them."""
    program = tmp_path / "program.py"
    program.write_text(SHARED_CACHE)

    def compiled():
        ended = ranks.finish(
            ranks.start(
                [program], count, LTC_CACHE="rw", LTC_CACHE_DIR=str(tmp_path / "c")
            ),
            timeout=180,
        )
        assert all(code == 0 for code, _ in ended), ended
        (line,) = [x for x in ended[0][1].splitlines() if x.startswith("compiled")]
        return int(line.split()[1])

    first = compiled()
    assert 0 < first < 8
    assert compiled() == 0
