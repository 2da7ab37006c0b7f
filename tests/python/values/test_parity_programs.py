# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs give on lazy what they give on eager CPU.

Each program takes a device and returns tensors, numbers or strings. What is
tested is not the op but what is around it: aliasing, writes, gradients,
transforms, generators, threads.
"""

import threading

import programs_on_tensors  # noqa: F401, fills the table
import pytest
import torch
import torch.nn.functional as F
import torch_ltc
from programs import PROGRAMS, program, values
from torch.utils import _pytree as pytree


def run(name, device):
    torch.manual_seed(7)
    with torch_ltc.settings.scope(rng="eager"):
        result = PROGRAMS[name](device)
        return pytree.tree_map(
            lambda v: v.detach().cpu() if isinstance(v, torch.Tensor) else v, result
        )


# Gradients


@program
def gradients_through_views(device):
    x = values(4, 6, device=device).requires_grad_()
    y = x * 2
    y[1].mul_(3)
    y.t()[0] += x[:, 1]
    y.view(-1)[3:9].pow_(2)
    (y.sum() + y[:, 2].prod()).backward()
    return x.grad


@program
def double_backward(device):
    x = values(5, device=device).requires_grad_()
    w = values(5, 5, seed=1, device=device).requires_grad_()
    y = torch.tanh(w @ x).pow(2).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g, torch.autograd.grad(g.pow(2).sum(), (x, w))


@program
def gradient_accumulation(device):
    layer = torch.nn.Linear(3, 2)
    layer.weight.data = values(2, 3)
    layer.bias.data = values(2)
    layer.to(device)
    for seed in range(3):
        layer(values(4, 3, seed=seed, device=device)).pow(2).mean().backward()
    grad = layer.weight.grad.clone()
    layer.zero_grad(set_to_none=False)
    return grad, layer.weight.grad, layer.bias.grad


@program
def hooks_and_retained_gradients(device):
    x = values(3, device=device).requires_grad_()
    seen = []
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g * 2) or g * 0.5)
    y.exp().sum().backward()
    return x.grad, y.grad, seen


@program
def custom_function(device):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = values(4, device=device).requires_grad_()
    Cube.apply(x).sum().backward()
    return x.grad


@program
def checkpointing(device):
    x = values(4, 4, device=device).requires_grad_()
    w = values(4, 4, seed=1, device=device).requires_grad_()

    def block(x):
        return F.dropout(torch.relu(x @ w), 0.5)

    y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
    y.sum().backward()
    return y, x.grad, w.grad


@program
def forward_mode(device):
    import torch.autograd.forward_ad as fwd

    x, t = values(4, device=device), values(4, seed=1, device=device)
    with fwd.dual_level():
        y = torch.sin(fwd.make_dual(x, t)) * 2
        y = y.cumsum(0)
        return tuple(fwd.unpack_dual(y))


@program
def function_transforms(device):
    from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

    x, w = values(3, device=device), values(3, 3, seed=1, device=device)

    def f(x):
        return torch.tanh(w @ x).sum()

    batch = values(5, 3, seed=2, device=device)
    return (
        grad(f)(x),
        vmap(f)(batch),
        vmap(grad(f))(batch),
        jacrev(f)(x),
        jacfwd(torch.sin)(x),
        hessian(f)(x),
        jvp(f, (x,), (x,)),
    )


@program
def function_transform_of_a_module(device):
    from torch.func import functional_call, grad, vmap

    layer = torch.nn.Linear(3, 1).to(device)
    weights = {"weight": values(1, 3, device=device), "bias": values(1, device=device)}

    def loss(weights, x, y):
        return (functional_call(layer, weights, (x,)) - y).pow(2).mean()

    x, y = values(6, 3, device=device), values(6, 1, seed=1, device=device)
    return vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)


@program
def inference_mode(device):
    with torch.inference_mode():
        x = values(3, device=device)
        x.add_(1)
        x[0] = 2
        return x * x


@program
def modules_in_inference_mode(device):
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    gru = torch.nn.GRU(4, 3, batch_first=True)
    head = torch.nn.Linear(3, 2)
    for module in (attention, gru, head):
        module.to(device).eval()
    with torch.inference_mode():
        x = values(2, 5, 4, device=device).transpose(0, 1)
        y = gru(attention(x, x, x)[0])[0]
        return head(y), head(y.transpose(0, 1)[1])


@program
def views_of_ordinary_tensors_in_inference_mode(device):
    x = values(3, 4, device=device)
    with torch.inference_mode():
        row = x.t()[1]
        row.mul_(2)
        made = x * 2
        column = made[:, 0]
        column.add_(1)
    x.view(-1)[0] = 7
    return [(t, t.is_inference()) for t in (x, row, made, column)]


# Layers with state


@program
def batch_norm_statistics(device):
    norm = torch.nn.BatchNorm1d(4).to(device)
    for seed in range(3):
        y = norm(values(6, 4, seed=seed, device=device))
    trained = y
    norm.eval()
    return (
        trained,
        norm(values(6, 4, device=device)),
        norm.running_mean,
        norm.running_var,
        norm.num_batches_tracked,
    )


@program
def instance_and_group_norm(device):
    x = values(2, 4, 5, device=device)
    inorm = torch.nn.InstanceNorm1d(4, track_running_stats=True).to(device)
    return inorm(x), inorm.running_mean, F.group_norm(x, 2), F.layer_norm(x, (5,))


@program
def recurrent_layers(device):
    torch.manual_seed(3)
    lstm, gru = torch.nn.LSTM(3, 4, 2, batch_first=True), torch.nn.GRU(3, 4)
    lstm, gru = lstm.to(device), gru.to(device)
    x = values(2, 5, 3, device=device)
    y, (h, c) = lstm(x)
    y.sum().backward()
    return y, h, c, gru(x)[0], lstm.weight_ih_l0.grad


@program
def packed_sequences(device):
    torch.manual_seed(3)
    lstm = torch.nn.LSTM(3, 4, batch_first=True, bidirectional=True).to(device)
    x = values(3, 5, 3, device=device).requires_grad_()
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        x, torch.tensor([3, 5, 2]), batch_first=True, enforce_sorted=False
    )
    y, (h, _) = lstm(packed)
    padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
    padded.pow(2).sum().backward()
    return padded, lengths, h, x.grad, lstm.weight_hh_l0.grad


@program
def embeddings(device):
    torch.manual_seed(3)
    table = torch.nn.Embedding(10, 4, padding_idx=0, max_norm=1.0).to(device)
    bag = torch.nn.EmbeddingBag(10, 4, mode="mean").to(device)
    i = torch.tensor([[1, 0, 3], [3, 3, 9]], device=device)
    y = table(i).sum() + bag(i).sum()
    y.backward()
    return y, table.weight, table.weight.grad, bag.weight.grad


@program
def attention(device):
    q, k, v = (values(2, 4, 6, 8, seed=s, device=device) for s in range(3))
    mask = torch.ones(6, 6, dtype=torch.bool, device=device).tril()
    return (
        F.scaled_dot_product_attention(q, k, v),
        F.scaled_dot_product_attention(q, k, v, is_causal=True),
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
    )


@program
def foreach_ops(device):
    a = [values(3, seed=s, device=device) for s in range(3)]
    b = [values(3, seed=s + 3, device=device) for s in range(3)]
    torch._foreach_add_(a, b, alpha=2)
    torch._foreach_mul_(a, [1, 2.5, 3])
    torch._foreach_addcdiv_(a, b, [x.abs() + 1 for x in b], value=0.5)
    torch._foreach_lerp_(a, b, 0.25)
    return a, torch._foreach_norm(a), torch._foreach_sqrt([x.abs() for x in a])


@program
def clipped_gradients(device):
    x = values(5, 5, device=device).requires_grad_()
    x.pow(3).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_([x], 1.0)
    return norm, x.grad


# Random numbers


@program
def random_numbers(device):
    x = torch.empty(3, 4, device=device)
    made = [
        torch.rand(3, device=device),
        torch.randn(2, 3, device=device),
        torch.randint(0, 9, (4,), device=device),
        torch.randperm(6, device=device),
        x.normal_(1, 2).clone(),
        x.uniform_(-1, 1).clone(),
        x.bernoulli_(0.3).clone(),
        x.exponential_().clone(),
        torch.rand_like(x),
        torch.randn_like(x),
        torch.bernoulli(torch.full((5,), 0.5, device=device)),
        torch.multinomial(torch.ones(6, device=device), 3),
        F.dropout(torch.ones(4, 4, device=device), 0.25),
        torch.normal(torch.zeros(3, device=device), 1.0),
    ]
    return made


@program
def random_numbers_in_the_shape_of_views(device):
    x = torch.rand(6, 5).to(device)
    repeated = x[:1].expand(6, 5)
    views = [x.t(), x[:, ::2], repeated, repeated.t(), x.reshape(-1).unfold(0, 4, 2)]
    return [
        draw(view)
        for view in views
        for draw in (
            torch.rand_like,
            torch.bernoulli,
            lambda v: F.dropout(v, 0.4),
            lambda v: torch.normal(v, 1.0),
        )
    ]


@program
def generators(device):
    g = torch.Generator().manual_seed(5)
    a = torch.rand(3, generator=g, device=device)
    b = torch.empty(3, device=device).normal_(generator=g)
    g.manual_seed(5)
    return a, b, torch.rand(3, generator=g, device=device)


@program
def dropout_gradient(device):
    x = values(8, 8, device=device).requires_grad_()
    y = F.dropout(x, 0.4) + F.dropout1d(x, 0.5) + F.alpha_dropout(x, 0.2)
    y.sum().backward()
    return y, x.grad


# Around the device


@program
def threads(device):
    results = [None] * 4

    def work(i):
        x = values(6, 6, seed=i, device=device).requires_grad_()
        y = x
        for _ in range(30):
            y = torch.tanh(y @ x * 0.1) + i  # contracts: rounding stays small
        y.sum().backward()
        results[i] = x.grad.cpu()

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return results


@program
def order_of_nested_reads(device):
    x = values(4, device=device)
    total = 0.0
    for i in range(4):
        x = x * 1.5
        total += x[i].item()
        x[i] = total
    return x, total


@program
def custom_op_with_views(device):
    return torch.ops.ltc_test.scale_rows(values(3, 4, device=device), 2.0)


@program
def custom_op_that_mutates(device):
    x = values(3, 4, device=device)
    torch.ops.ltc_test.bump(x[1:])
    return x


@program
def custom_op_with_a_gradient(device):
    x = values(3, 4, device=device).requires_grad_()
    y = torch.ops.ltc_test.scale_rows(x * 2, 3.0)
    y.sum().backward()
    return y, x.grad


@torch.library.custom_op("ltc_test::scale_rows", mutates_args=())
def scale_rows(x: torch.Tensor, by: float) -> torch.Tensor:
    y = x.clone()
    y[1:].mul_(by)
    for row in y.unbind(0):
        row.add_(1)
    return y


scale_rows.register_autograd(
    lambda ctx, g: (torch.cat([g[:1], g[1:] * ctx.by]), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]),
)


@torch.library.custom_op("ltc_test::bump", mutates_args={"x"})
def bump(x: torch.Tensor) -> None:
    x[0].add_(1)
    x.mul_(2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_eager_gives(name):
    actual, expected = run(name, "lazy"), run(name, "cpu")
    assert pytree.tree_structure(actual) == pytree.tree_structure(expected)
    leaves = zip(pytree.tree_leaves(actual), pytree.tree_leaves(expected), strict=True)
    for one, other in leaves:
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, equal_nan=True)
        else:
            assert one == pytest.approx(other)


def test_a_long_chain_is_destroyed_without_recursion():
    with torch_ltc.settings.scope(max_pending_ops=10**9):
        x = torch.zeros(2, device="lazy")
        for _ in range(100_000):
            x = x + 1
        del x
        torch.lazy.synchronize()
    assert (torch.zeros(2, device="lazy") + 1).tolist() == [1, 1]
