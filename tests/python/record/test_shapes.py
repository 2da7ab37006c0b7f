# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes, dtypes and strides are eager's, and no meta kernel in Python is asked.

Those import torch._dynamo when the first of them is called: 1.3 s of processor
time, which eager never spends.
"""

import itertools
import sys
import warnings

import pytest
import torch
import torch.nn.functional as F
from sampling import sampled
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

IN_PYTHON = tuple(
    f"/torch/{part}" for part in ("_meta_registrations.py", "_refs/", "_decomp/")
)
SAMPLES = 3
# Functions in Python that call such a one by themselves, on eager too.
CALL_REFERENCES = {"broadcast_shapes"}
UNLIKE = {
    ("as_strided", "partial_views"): "reads beyond its own elements",
    **{(op.name, ""): "is for GPUs" for op in op_db if "jiterator" in op.name},
    ("linalg.eig", ""): "refuses the gradient for the values of the matrix",
    ("ormqr", ""): "the gradient of self is laid out by rows",
    ("tensor_split", ""): "wants its indices on the CPU",
}


class Watch:
    """What Python functions of PyTorch's meta kernels are entered meanwhile."""

    def __enter__(self):
        self.entered = set()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def _note(self, frame, event, _):
        if event == "call" and any(p in frame.f_code.co_filename for p in IN_PYTHON):
            self.entered.add(frame.f_code.co_name)


def strided(values):
    tensors = [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]
    return all(each.layout == torch.strided for each in tensors)


def call(op, sample, device, gradients):
    """Return the results' tensors, and the gradient of the first argument."""

    def move(value):
        is_tensor = isinstance(value, torch.Tensor)
        return value.detach().to(device) if is_tensor else value

    values = tree_map(move, (sample.input, sample.args, sample.kwargs))
    first, args, kwargs = values
    if gradients:
        first.requires_grad_()
    results = op(first, *args, **kwargs)
    tensors = [each for each in tree_leaves(results) if isinstance(each, torch.Tensor)]
    differentiable = [each for each in tensors if each.requires_grad]
    if gradients and differentiable:
        ones = [torch.ones_like(each) for each in differentiable]
        found = torch.autograd.grad(differentiable, [first], ones, allow_unused=True)
        tensors += [each for each in found if each is not None]
    return tensors


def about(tensors):
    return [(each.dtype, each.shape, each.stride()) for each in tensors]


def compare(op, dtype):
    samples = op.sample_inputs("cpu", dtype)
    for sample in itertools.islice(samples, SAMPLES):
        if not strided((sample.input, sample.args, sample.kwargs)):
            continue
        first = sample.input
        is_float = isinstance(first, torch.Tensor) and first.is_floating_point()
        for gradients in (
            (False, True) if is_float and op.supports_autograd else (False,)
        ):
            try:
                expected = call(op, sample, "cpu", gradients)
                if not strided(expected):
                    continue
                expected = about(expected)
            except (RuntimeError, NotImplementedError, IndexError):
                continue  # test_error_inputs.py has those
            with Watch() as watch:
                found = about(call(op, sample, "lazy", gradients))
            assert found == expected, (op.full_name, sample, gradients)
            assert not watch.entered or op.name in CALL_REFERENCES, (
                op.full_name,
                gradients,
                watch.entered,
            )


def dtype_of(op):
    known = [t for t in (torch.float32, torch.int64, torch.bool) if t in op.dtypes]
    return (known or sorted(op.dtypes, key=str))[0]


def letter_of(op):
    return op.name.strip("_")[0]


LETTERS = sorted({letter_of(op) for op in op_db})


@pytest.mark.parametrize("third", sampled([0, 1, 2], one_in=3, kept=()))
@pytest.mark.parametrize("letter", LETTERS)
def test_every_op(letter, third):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in op_db[third::3]:
            key = op.name, op.variant_test_name
            if letter_of(op) == letter and key not in UNLIKE and op.dtypes:
                compare(op, dtype_of(op))


def rows(n, c=6):
    return torch.arange(n * c, dtype=torch.float32).view(n, c)


def images(c, height, width=None, batch=9):
    return torch.randn(batch, c, height, width or height)


# Sizes that are no small ones, and strides of every kind.
LARGE = {
    "where": lambda: (torch.where, rows(70) > 5, rows(70), rows(1)),
    "where, columns": lambda: (torch.where, rows(70).t() > 5, rows(70).t(), 0.0),
    "var": lambda: (torch.var, rows(70, 50), 0),
    "var, kept": lambda: (lambda x: torch.var(x, 1, keepdim=True), rows(70, 50).t()),
    "layer norm": lambda: (F.layer_norm, torch.randn(12, 70, 50), [70, 50]),
    "batch norm, channels last": lambda: (
        lambda x: F.batch_norm(x, None, None, training=True),
        images(16, 20).contiguous(memory_format=torch.channels_last),
    ),
    "flip of a slice": lambda: (torch.flip, rows(70, 50)[:, 3:40], [0]),
    "roll, expanded": lambda: (torch.roll, rows(1, 50).expand(70, 50), 3, 1),
    "embedding": lambda: (F.embedding, torch.arange(30).view(5, 6), rows(77, 11)),
    "index_select": lambda: (torch.index_select, rows(70, 9), 1, torch.arange(8)),
    "cdist": lambda: (torch.cdist, torch.randn(4, 17, 9), torch.randn(4, 23, 9)),
    "conv2d": lambda: (F.conv2d, images(8, 31), torch.randn(24, 8, 3, 3)),
    "conv2d, all": lambda: (
        lambda x, w: F.conv2d(x, w, None, (2, 1), (1, 2), (2, 3), groups=2),
        images(8, 31, 40),
        torch.randn(24, 4, 3, 5),
    ),
    "conv2d, channels last": lambda: (
        F.conv2d,
        images(8, 31).contiguous(memory_format=torch.channels_last),
        torch.randn(24, 8, 3, 3),
    ),
    "conv1d": lambda: (F.conv1d, torch.randn(5, 8, 100), torch.randn(7, 8, 9)),
    "conv3d": lambda: (
        F.conv3d,
        torch.randn(2, 4, 9, 8, 7),
        torch.randn(6, 4, 3, 3, 3),
    ),
    "conv_transpose2d": lambda: (
        lambda x, w: F.conv_transpose2d(x, w, None, 3, 1, 2, groups=2, dilation=2),
        images(8, 11),
        torch.randn(8, 5, 3, 4),
    ),
    "adaptive_avg_pool2d": lambda: (F.adaptive_avg_pool2d, images(8, 31), (5, 7)),
    "grid_sample": lambda: (
        lambda x, grid: F.grid_sample(x, grid, align_corners=False),
        images(5, 31),
        torch.rand(9, 12, 14, 2),
    ),
    "group norm": lambda: (F.group_norm, images(12, 15), 4),
    "solve_triangular": lambda: (
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=True),
        torch.eye(12).expand(7, 12, 12),
        torch.randn(7, 12, 30),
    ),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("gradients", [False, True])
def test_large_ones(name, gradients):
    op, first, *args = LARGE[name]()
    if gradients and not first.is_floating_point():
        pytest.skip("of integers or bools")

    class Sample:
        input, kwargs = first, {}

    Sample.args = tuple(args)
    # The strides that eager sees: those of a copy.
    Sample.input = first.clone()
    expected = about(call(op, Sample, "cpu", gradients))
    with Watch() as watch:
        assert about(call(op, Sample, "lazy", gradients)) == expected
    assert not watch.entered


def test_shapes_take_next_to_no_memory(run_python):
    """Of 4 GB of results, nothing is allocated, and nothing computed."""
    run_python(
        "import torch, torch.nn.functional as F\n"
        "x = torch.empty(64, 256, 256, 256, device='lazy')\n"
        "w = torch.empty(256, 256, 3, 3, device='lazy')\n"
        "y = F.conv2d(x, w, padding=1)\n"
        "y = torch.where(y > 0, y, F.hardswish(y)).flip(1).roll(2, 0)\n"
        "assert y.shape == x.shape and y.var(1).shape == (64, 256, 256)\n"
        "status = open('/proc/self/status').read()\n"  # getrusage counts the parent
        "peak = int(status.split('VmHWM:')[1].split()[0])\n"
        "assert peak < 1_000_000, peak\n"
        "import os; os._exit(0)\n"
    )


# Programs as they begin, without torch.optim: that imports torch._dynamo on any
# device when an optimizer is made.
PROGRAMS = """
x + 1
(x * 2).sum().item()
x.var(0), x.std(), torch.var_mean(x, 1)
torch.where(x > 0, x, -x).max()
F.layer_norm(x, (6,)), F.dropout(x, 0.5), F.softmax(x, 1)
F.conv2d(images, torch.ones(3, 2, 3, 3, device=d)).relu().cpu()
F.max_pool2d(images, 2), F.adaptive_avg_pool2d(images, 2)
F.batch_norm(images, None, None, training=True), F.group_norm(images, 2)
F.pad(images, (1, 1, 1, 1), mode="reflect"), F.interpolate(images, scale_factor=2)
F.embedding(torch.arange(4, device=d), x), F.one_hot(torch.arange(4, device=d))
F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device=d)), F.huber_loss(x, x + 1)
F.scaled_dot_product_attention(images, images, images), F.multi_head_attention_forward
x.sort(1), x.topk(2), x.median(), x.cumsum(0), x.flip(0), x.roll(1), x.unique()
torch.fft.rfft(x), torch.fft.fft2(x), torch.fft.irfft(torch.fft.rfft(x))
torch.linalg.inv(x[:, :4] + 9 * torch.eye(4, device=d)), torch.linalg.svd(x), x @ x.t()
torch.rand(3, device=d), torch.randn_like(x), torch.randperm(5, device=d)
torch.cat([x, x]), torch.stack([x, x]), x[x > 3], x[torch.arange(2, device=d)]
x.masked_fill(x > 2, 0), x.clamp(0, 1), x.floor_divide(2), x.isnan().any()
torch.einsum("ij,kj->ik", x, x), torch.cdist(x, x), F.cosine_similarity(x, x), x.norm()
w = x.clone().requires_grad_(); (F.hardswish(w) + F.glu(w, 1).sum()).sum().backward()
net = nn.LSTM(6, 5).to(d); net(x[:, None])[0].sum().backward()
net = nn.Sequential(nn.Linear(6, 5), nn.GELU()).to(d); net(x).sum().backward()
net = nn.TransformerEncoderLayer(6, 2).to(d); net(x[None]).mean().backward()
with torch.no_grad(): x.mul_(2).add_(x); x[1:] = 0; x.t().copy_(x.t())
"""


def test_programs_never_import_dynamo(run_python):
    run_python(
        "import sys, torch, torch.nn.functional as F\nfrom torch import nn\n"
        f"programs = {PROGRAMS.strip().splitlines()!r}\n"
        "d = 'lazy'\n"
        "x = torch.arange(24.0, device=d).view(4, 6)\n"
        "images = x.new_ones(2, 2, 9, 9)\n"
        "for program in programs:\n"
        "    exec(program)\n"
        "    torch.lazy.synchronize()\n"
        "    assert 'torch._dynamo' not in sys.modules, program\n"
        "assert len(programs) > 20\n"
    )


EXAMPLE = """
import runpy, sys
sys.path[:0] = {folders!r}
from test_shapes import Watch
with Watch() as watch:
    sys.argv = {command!r}
    runpy.run_path(sys.argv[0], run_name="__main__")
assert not watch.entered, watch.entered
"""


@pytest.mark.parametrize(
    "command",
    [
        "train_digits.py --model cnn --optimizer adamw --epochs 1 --batch-size 700",
        "train_text.py --epochs 1 --steps-per-epoch 2 --width 32 --layers 1",
    ],
)
def test_examples_ask_no_kernel_in_python(command, run_python, request):
    folder = request.path.parents[3] / "examples"
    script, *options = command.split()
    command = [str(folder / script), *options, "--device", "lazy"]
    folders = [str(folder), *map(str, request.path.parents[:2])]
    code = EXAMPLE.format(folders=folders, command=command)
    run_python(code, timeout=300)
