# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own CUDA kernels on the memory of the driver cuda, and copies between both.

tests/fake_cuda gives the GPUs, and PyTorch a CUDA whose kernels are the CPU's, run on
those GPUs' memory when the stream that is current has come so far.
"""

import pytest
from cuda_program import BEGIN

CALLS = """
torch.manual_seed(0)
A, B = torch.randn(6, 6), torch.randn(6, 6)
PICTURE, FILTERS = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
library_of_mine = torch.library.Library("mine", "DEF")
library_of_mine.define("doubled(Tensor x) -> Tensor")
library_of_mine.impl("doubled", torch.empty_like, "Meta")
for key in ("CPU", "CUDA"):
    library_of_mine.impl("doubled", lambda x: x * 2, key)
CASES = {
    "mine::doubled": lambda a, b, *_: torch.ops.mine.doubled(a + 1) + b,
    "aten::mm": lambda a, b, *_: (a + 1) @ b * 2,
    "aten::convolution": lambda a, b, x, w: F.conv2d(x * 2, w).relu(),
    "aten::sort": lambda a, b, *_: a.sort(1)[0] + b,
    "aten::linalg_cholesky_ex": lambda a, b, *_: torch.linalg.cholesky(
        a @ a.T + torch.eye(6, device=a.device)
    ),
    "aten::_fft_r2c": lambda a, b, *_: torch.fft.rfft(a + b).abs(),
    "aten::cumsum": lambda a, b, *_: (a * b).cumsum(0) + 1,
}
for op, case in CASES.items():
    wanted = case(A, B, PICTURE, FILTERS)
    agree(case(*(t.to("lazy") for t in (A, B, PICTURE, FILTERS))), wanted, op)
done = counts()
print(done["calls"] >= 5, done["captures"] == 0, metric("host_calls"))
if library:
    print(torch.ops.fake_cuda.calls("aten::mm") > 0)
"""


def test_library_calls_run_on_the_gpu(run_python, cuda_library):
    """In the driver's stream: what they read was queued just before."""
    done = run_python(BEGIN + CALLS, **cuda_library)
    assert done.stdout.splitlines()[0] == "True True 0"
    assert done.stdout.splitlines()[1:] in ([], ["True"])


EVERYTHING = """
def step(x, index, weight):
    y = F.layer_norm(x @ weight, (16,)).softmax(1)
    y = torch.cat([y[index], F.dropout(y, 0.5)])
    return y.index_add(0, index, y[:3] * 2).sum(1)

torch.manual_seed(0)
x, weight, index = torch.randn(8, 16), torch.randn(16, 16), torch.tensor([1, 7, 1])
results = []
for device in ("lazy", "cpu"):
    torch.manual_seed(1)
    results.append([
        step(x.to(device) * i, index.to(device), weight.to(device)) for i in range(4)
    ])
for found, wanted in zip(*results):
    assert found.shape == wanted.shape and found.cpu().isfinite().all()
print(metric("host_calls"))
with torch_ltc.settings.scope(rng="eager"):
    # A real GPU has other numbers than the CPU.
    for device in ("lazy", "cpu" if library else "lazy"):
        torch.manual_seed(3)
        print(F.dropout(torch.ones(30).to(device)).sum().item())
"""


def test_without_code_of_ours_every_op_is_a_library_call(run_python, cuda_library):
    done = run_python(BEGIN + EVERYTHING, **cuda_library, LTC_WITHOUT="loops")
    calls, mine, eager = done.stdout.splitlines()
    assert calls == "0"
    assert mine == eager


TRAINING = """
def train(device):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Embedding(20, 16), nn.Conv1d(5, 8, 3, bias=False), nn.BatchNorm1d(8),
        nn.GELU(), nn.Flatten(), nn.Linear(8 * 14, 20),
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for i in range(6):
        words = torch.arange(i, i + 20).view(4, 5) % 20
        loss = F.cross_entropy(model(words.to(device)), words[:, 0].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).cpu(), [p.detach().cpu() for p in model.parameters()]

found, wanted = train("lazy"), train("cpu")
agree(found[0], wanted[0], "losses")
for mine, eager in zip(found[1], wanted[1], strict=True):
    agree(mine, eager, "weights")
print(counts()["calls"] > 0, counts()["graphs"] > 0, metric("host_calls"))
"""


def test_training_by_both_kinds_of_kernels(run_python, cuda_library):
    done = run_python(BEGIN + TRAINING, **cuda_library)
    assert done.stdout == "True True 0\n"


BAD_INDEX = """
def attempt(x, index):
    x.mul_(2)
    y = x.put(index, x[:3] + 1)  # LINE
    return y.sum()

x = torch.ones(5).to("lazy")
print(attempt(x, torch.tensor([0, 1, 4]).to("lazy")).item())
before = x.cpu()
try:
    print(attempt(x, torch.tensor([0, 9, 1]).to("lazy")).item())
except IndexError as error:
    print(error)
print(torch.equal(before, x.cpu()))
print(attempt(x, torch.tensor([0, 1, 4]).to("lazy")).item())
"""


def test_a_bad_index_of_a_library_call_is_found_before_it(run_python, cuda_library):
    """CUDA's kernels would assert, and end the process's use of the GPU."""
    lines = run_python(BEGIN + BAD_INDEX, **cuda_library).stdout.splitlines()
    assert (lines[0], lines[-2:]) == ("13.0", ["True", "23.0"])
    text = "\n".join(lines)
    assert "index 9 is out of bounds for dimension with size 5" in text
    assert "aten::put" in text and "f32[5]" in text
    rows = (BEGIN + BAD_INDEX).splitlines()
    line = 1 + next(i for i, row in enumerate(rows) if row.endswith("# LINE"))
    assert f"program.py:{line}" in text


COPIES = """
x = torch.arange(12.0).view(3, 4)
there = x.to("cuda") * 2
mine = there.to("lazy") + 1
back = (mine * 3).to("cuda")
other = torch.empty(4, 3, device="cuda").copy_(mine.t())
mine.copy_(back + 1)
half = mine.to("cuda", torch.float16)
agree(back, (x * 2 + 1) * 3, "to cuda")
agree(other, (x * 2 + 1).t(), "a view to cuda")
agree(half.float(), (x * 2 + 1) * 3 + 1, "with a cast")
print(back.device, half.dtype, metric("device_copies"), metric("device_copies_by_host"))
"""


def test_tensors_go_to_pytorchs_cuda_and_back_without_the_host(
    run_python, cuda_library
):
    done = run_python(BEGIN + COPIES, **cuda_library)
    assert done.stdout == "cuda:0 torch.float16 4 0\n"


RANDOM = """
draws = {
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "multinomial": lambda x: torch.multinomial(x.exp(), 3),
    "gamma": lambda x: torch._standard_gamma(x.exp()),
    "poisson": lambda x: torch.poisson(x.exp()),
    "randperm": lambda x: torch.randperm(9, device=x.device) + x.argmax() * 0,
}
x = torch.linspace(-1, 1, 40).to("lazy")
for name, draw in draws.items():
    rounds = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        rounds.append([draw(x).cpu(), draw(x).cpu()])
    same = all(torch.equal(a, b) for a, b in zip(*rounds[:2], strict=True))
    other = all(torch.equal(a, b) for a, b in zip(*rounds[1:], strict=True))
    assert same and not other, name
print(metric("host_calls"))
"""


def test_random_calls_follow_the_seed(run_python, cuda_library):
    assert run_python(BEGIN + RANDOM, **cuda_library).stdout == "0\n"


LATE = """
table = torch.randn(5, 3)
x, good, bad = (
    t.to("lazy") for t in (table, torch.tensor([0, 4]), torch.tensor([0, 5]))
)
torch.lazy.synchronize()

def look(index):
    y = x[index] * 2  # LINE
    torch.lazy.mark_step()
    return y

for _ in range(3):
    look(good)
torch.lazy.synchronize()
kept = x.clone()
torch.lazy.mark_step()
first, wrong, behind = look(good), look(bad), look(good)
kept.add_(1)  # donated
torch.lazy.mark_step()
for value in (first, behind, kept):
    try:
        print(value.cpu().shape)
    except IndexError as error:
        print("early:", error)
try:
    print(wrong.cpu())
except IndexError as error:
    print(str(error).splitlines()[0])
agree(first, table[[0, 4]] * 2, "before it")
agree(behind, table[[0, 4]] * 2, "behind it")
agree(kept, table + 1, "donated behind it")
"""


def test_checks_are_read_later(run_python, cuda):
    """Launches behind a failed one ran meanwhile; they run again."""
    done = run_python(BEGIN + LATE, **cuda, FAKE_CUDA="delay_us=3000")
    text = done.stdout
    assert "index 5 is out of bounds for dimension 0 with size 5" in text, text
    assert "early" not in text


ANOTHER_GPU = """
x = torch.ones(3, device="cuda:0")
y = (x.to("lazy:1") + 1).to("cuda:0")
print(y.tolist(), metric("device_copies"))
"""


@pytest.mark.slow
def test_between_two_gpus_copies_go_by_the_host(run_python, cuda_library):
    done = run_python(BEGIN + ANOTHER_GPU, **cuda_library)
    assert done.stdout == "[2.0, 2.0, 2.0] 0\n"
