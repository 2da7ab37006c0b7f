# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.autocast('lazy') casts what autocast casts on the CPU."""

import re

import parity
import pytest
import torch
import torch.nn.functional as F
import train_digits
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import checkpoint

HALVES = (torch.bfloat16, torch.float16)


def has_kernel(op, key):
    return torch._C._dispatch_has_kernel_for_dispatch_key(op, key)


CAST = {
    op for op in torch._C._dispatch_get_all_op_names() if has_kernel(op, "AutocastCPU")
}
# Random, random, and on sparse tensors.
NOT_COMPARABLE = {
    "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d",
    "sparse.mm.reduce",
}
OPS = [
    name
    for name, op in parity.OPS.items()
    if name not in NOT_COMPARABLE
    and {f"aten::{n}" for n in (op.aten_name, op.name.split(".")[-1])}
    & {name.split(".")[0] for name in CAST}
]


def tree_to(device, tree):
    move = lambda x: x.to(device) if isinstance(x, torch.Tensor) else x  # noqa: E731
    return pytree.tree_map(move, tree)


def test_the_same_ops_are_cast():
    torch.ones(1, device="lazy")
    ours = {
        op
        for op in torch._C._dispatch_get_all_op_names()
        if has_kernel(op, "AutocastXLA")
    }
    # Of an LSTM, eager casts the oneDNN layer inside.
    assert ours == CAST | {"aten::lstm.input"}
    assert len(OPS) > 40


@pytest.mark.parametrize("name", OPS)
def test_op_has_the_dtype_and_value_of_the_cpu(name):
    op = parity.OPS[name]
    sample = next(iter(op.sample_inputs("cpu", torch.float32)))

    def run(device):
        arguments = tree_to(device, (sample.input, sample.args, sample.kwargs))
        with torch.autocast(device, dtype=torch.bfloat16):
            return op(arguments[0], *arguments[1], **arguments[2])

    try:
        expected = run("cpu")
    except (RuntimeError, NotImplementedError) as error:
        with pytest.raises(type(error)):
            run("lazy")
        return
    actual = pytree.tree_leaves(run("lazy"))
    for one, other in zip(actual, pytree.tree_leaves(expected), strict=True):
        if isinstance(other, torch.Tensor):
            assert one.dtype == other.dtype
            torch.testing.assert_close(one.cpu(), other, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("dtype", HALVES)
def test_training_gives_the_losses_of_the_cpu(dtype, counts):
    def train(device):
        torch.manual_seed(0)
        model = train_digits.Cnn().to(device)
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16)
        images = torch.linspace(-1, 1, 16 * 64).view(16, 1, 8, 8).to(device)
        labels = torch.arange(16, device=device) % 10
        losses = []
        for _ in range(8):
            optimizer.zero_grad()
            with torch.autocast(device, dtype=dtype):
                logits = model(images)
                assert logits.dtype == dtype
                loss = F.cross_entropy(logits, labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.detach().float())
        return torch.stack(losses).cpu()

    lazy = train("lazy")
    torch.testing.assert_close(lazy, train("cpu"), rtol=5e-3, atol=0)
    assert counts.fallbacks() == []


def test_regions_nest_and_end():
    x = torch.ones(2, 2, device="lazy")
    assert not torch.is_autocast_enabled("lazy")
    with torch.autocast("lazy"):
        assert torch.is_autocast_enabled("lazy")
        assert torch.get_autocast_dtype("lazy") == torch.bfloat16
        with torch.autocast("lazy", enabled=False):
            assert (x @ x).dtype == torch.float32
        with torch.autocast("lazy", dtype=torch.float16):
            assert (x @ x).dtype == torch.float16
        assert (x @ x).dtype == torch.bfloat16
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    assert (x @ x).dtype == torch.float32


def test_an_index_means_nothing_as_in_eager():
    for device in ("cpu", "lazy"):
        x = torch.ones(2, 2, device=device)
        for index in ("", ":0", ":3"):
            with torch.autocast(device + index, dtype=torch.bfloat16):
                assert torch.is_autocast_enabled(device)
                assert torch.is_autocast_enabled(device + ":0")
                assert (x @ x).dtype == torch.bfloat16
            assert (x @ x).dtype == torch.float32
        with pytest.raises(RuntimeError, match="Invalid device string"):
            torch.autocast(device + ":x")


def test_a_shared_parameter_is_cast_once(counts):
    weight = nn.Parameter(torch.ones(4, 4, device="lazy"))
    with torch.autocast("lazy"):
        (weight @ weight @ weight).sum()
    assert torch.lazy.pending_graph().count("f32[4, 4]") == 1  # the weight itself
    torch.lazy.mark_step()
    with torch.no_grad():
        weight.mul_(2)
    with torch.autocast("lazy"):  # the cast of the old value is forgotten
        assert (weight @ weight).sum().item() == 4 * 4 * 16


def test_custom_functions_see_the_region():
    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="lazy", cast_inputs=torch.float32)
        def forward(ctx, x):
            assert not torch.is_autocast_enabled("lazy")
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="lazy")
        def backward(ctx, gradient):
            return gradient * 2

    x = torch.ones(3, device="lazy", dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("lazy"):
        y = Double.apply(x)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_replays_in_the_same_dtype(reentrant):
    x = torch.ones(4, 4, device="lazy", requires_grad=True)
    seen = []

    def block(x):
        seen.append(torch.is_autocast_enabled("lazy"))
        return x @ x

    with torch.autocast("lazy"):
        y = checkpoint(block, x, use_reentrant=reentrant)
    y.float().sum().backward()
    assert seen == [True, True]
    assert x.grad.tolist() == [[8.0] * 4] * 4


@pytest.mark.parametrize("later", [torch.enable_grad, torch.no_grad])
@pytest.mark.parametrize("first", [torch.no_grad, torch.inference_mode])
def test_a_cast_without_gradients_serves_calls_with_them(first, later):
    def gradient(device):
        weight = torch.linspace(-1, 1, 16).view(4, 4).to(device).requires_grad_()
        x = torch.ones(4, 4, device=device)
        with torch.autocast(device):
            with first():
                teacher = x @ weight
            with later():
                middle = x @ weight
            student = x @ weight
        (student - teacher * 2).float().square().sum().backward()
        assert middle.requires_grad == (later is torch.enable_grad)
        return weight.grad.cpu()

    assert torch.equal(gradient("lazy"), gradient("cpu"))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: torch.zeros_like(x).addmm_(x, x),
        lambda x: torch.zeros_like(x)[:, 1:].addmm_(x, x[:, 1:]),
        lambda x: torch.zeros_like(x)[None].baddbmm_(x[None], x[None]),
        lambda x: torch.mm(x, x, out=torch.empty_like(x)),
        lambda x: torch.bmm(x[None], x[None], out=torch.empty_like(x[None])),
        lambda x: torch.prod(x, 0, out=torch.empty_like(x[0])),
    ],
)
def test_what_writes_casts_nothing(write):
    x = torch.linspace(-1, 1, 16).view(4, 4) / 3
    with torch.autocast("cpu"):
        expected = write(x)
    for _ in range(3):  # the first call and its repetitions go other ways
        with torch.autocast("lazy"):
            actual = write(x.to("lazy")).cpu()
        torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-6)


def test_what_is_not_of_the_written_dtype_is_refused_in_a_region():
    x = torch.ones(2, 2, device="lazy")
    with torch.autocast("lazy"), pytest.raises(RuntimeError, match="dtype"):
        x.index_copy_(0, torch.arange(2, device="lazy"), x.bfloat16())


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 2, 1), (2, 1), (1, 1)])
@pytest.mark.parametrize("region", HALVES)
def test_halves_are_joined_where_eager_joins_them(order, region):
    def run(device):
        dtypes = torch.float32, torch.bfloat16, torch.float16
        with torch.autocast(device, dtype=region):
            return torch.cat([torch.ones(2, dtype=dtypes[i]).to(device) for i in order])

    try:
        expected = run("cpu")
    except RuntimeError as error:
        with pytest.raises(RuntimeError, match=re.escape(str(error).split("\n")[0])):
            run("lazy")
    else:
        assert run("lazy").dtype == expected.dtype
