# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Library calls within the CUDA graph of a step, and what is left outside and why.

What a real GPU's stream refuses while it captures, that of tests/fake_cuda refuses.
"""

from cuda_program import BEGIN

STEP = """
torch.manual_seed(0)
W, V = torch.randn(8, 8), torch.randn(8, 8)
w, v = W.to("lazy"), V.to("lazy")

def step(x, w, v):
    return (x @ w).relu().mul(2) @ v + 1

def since(before):
    names = ("graphs", "captures", "queued_unlike", "queued_uncaptured")
    return [counts()[name] - before[name] for name in names]

def run(inputs):
    for x in inputs:
        agree(step(x, w, v), step(x.cpu(), W, V), "a step")
"""

ONE_GRAPH = """
before = counts()
x = torch.randn(4, 8)
one = x.to("lazy")
run([one] * 6)
print(since(before)[0], since(before)[2:], counts()["calls"])
print([name for name in counts() if name.startswith("split_") and counts()[name]])

# Buffers that come in turns are captured once each.
two = (x * 3).to("lazy")
run([one, two] * 4)
before = counts()
run([one, two] * 4)
print(since(before))

# Kernels go by this.
torch.backends.cuda.matmul.allow_tf32 ^= True
run([one, two] * 4)
print(since(before)[1] > 0, metric("host_calls"))
if library:
    print(torch.ops.fake_cuda.open_captures(), torch.ops.fake_cuda.calls("aten::mm"))
"""


def test_a_step_with_library_calls_is_one_graph(run_python, cuda_library):
    """From the third run on, also for other buffers, if they come again."""
    first, split, again, changed, *fake = run_python(
        BEGIN + STEP + ONE_GRAPH, **cuda_library
    ).stdout.splitlines()
    assert first == "4 [2, 0] 12"
    assert split == "[]"
    assert again == "[8, 0, 0, 0]"
    assert changed == "True 0"
    assert fake in ([], ["0 60"])


MOVES = """
kept = [torch.randn(4, 8).to("lazy") for _ in range(26)]
torch.lazy.synchronize()
run(kept)
(row,) = torch_ltc.explain().step_graphs
print(*[line for line in str(row).splitlines() if "aten::mm" in line])
before = counts()
run(kept)
print(since(before))
"""


def test_a_call_whose_memory_always_moves_is_queued(run_python, cuda_library):
    environment = cuda_library | {"FAKE_CUDA": "devices=1"}
    told, later = run_python(BEGIN + STEP + MOVES, **environment).stdout.splitlines()
    assert "aten::mm, which was queued alone: its memory or its numbers are" in told
    assert later.endswith(" 0, 0, 0]")


OUTSIDE = """
mine = torch.library.Library("mine", "DEF")
mine.define("doubled(Tensor x) -> Tensor")
mine.impl("doubled", torch.empty_like, "Meta")
for key in ("CPU", "CUDA"):
    mine.impl("doubled", lambda x: x * 2, key)

CASES = {
    "aten::histc": lambda x: torch.histc((x + 1) @ w, 4, -9, 9),
    "aten::poisson": lambda x: torch.poisson((x @ w).abs() + 1),
    "aten::put": lambda x: (x @ w).put(index, x[0] + 1),
    "mine::doubled": lambda x: torch.ops.mine.doubled(x @ w + 1) * 3,
}
index = torch.tensor([0, 1, 3, 2, 4, 5, 6, 7]).to("lazy")
x = torch.randn(4, 8).to("lazy")
for op, case in CASES.items():
    with torch_ltc.profile() as profile:
        values = [case(x).mul(1).add(1).div(2).cpu() for _ in range(6)]
    if "poisson" not in op:
        for value in values[1:]:
            assert torch.equal(value, values[0]), op
    (row,) = profile.step_graphs
    print([line.strip() for line in str(row).splitlines() if op in line], row.launched)
if library:
    print(torch.ops.fake_cuda.open_captures())
print(counts()["calls"] > 0, metric("host_calls"))
"""


def test_what_cannot_be_captured_is_queued_and_named(run_python, cuda_library):
    done = run_python(BEGIN + STEP + OUTSIDE, **cuda_library)
    waits, random, indices, foreign, *rest = done.stdout.splitlines()
    assert "aten::histc, which was queued alone: it waits for the device" in waits
    assert "aten::poisson, which was queued alone: it draws random" in random
    assert "aten::put, which was queued alone: its indices" in indices
    assert "mine::doubled, which was queued alone: it is not PyTorch's own" in foreign
    assert rest in (["True 0"], ["0", "True 0"])


BAD_INDEX = """
table = torch.randn(8, 8)
kept = table.to("lazy")

def attempt(kept, index, w):
    y = (kept[index] @ w).relu() @ w  # LINE
    kept.mul_(1.5).add_(y.sum())
    return y.sum() * 2

good, bad = torch.tensor([0, 3]).to("lazy"), torch.tensor([0, 8]).to("lazy")
for _ in range(6):
    attempt(kept, good, w).item()
before, graphs = kept.cpu(), counts()["graphs"]
try:
    print(attempt(kept, bad, w).item())
except IndexError as error:
    print(str(error).splitlines()[0])
print(torch.equal(before, kept.cpu()))
mine, theirs = kept.cpu(), kept.cpu()
again = attempt(kept, good, w)
agree(again, attempt(theirs, good.cpu(), W), "the step behind it")
agree(kept, theirs, "what it wrote")
print(graphs > 0, counts()["graphs"] > graphs, metric("host_calls"))
"""


def test_a_check_that_fails_in_a_captured_graph(run_python, cuda_library):
    """Calls behind it have run on garbage; what they were to update has not."""
    done = run_python(BEGIN + STEP + BAD_INDEX, **cuda_library)
    error, same, graphs = done.stdout.splitlines()
    assert "index 8 is out of bounds for dimension 0 with size 8" in error
    assert (same, graphs) == ("True", "True True 0")


WITHOUT = """
before = counts()
run([torch.randn(4, 8).to("lazy")] * 5)
print(since(before)[:2], counts()["queued_refused"] > 0, metric("host_calls"))
"""


def test_without_graphs_calls_are_queued(run_python, cuda_library):
    environment = cuda_library | {"FAKE_CUDA": "graphs=0"}
    assert run_python(BEGIN + STEP + WITHOUT, **environment).stdout == (
        "[0, 0] True 0\n"
    )
