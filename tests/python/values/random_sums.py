# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of random programs that compute: sums, products, norms, numbers."""

import torch
import torch.nn.functional as F
from random_steps import clear, step, unfolded

# Reductions and scans.


@step
def reduce(draw):
    axis, keep = draw.axis(), draw.one(True, False)
    order = draw.one(1, 2, 3, float("inf"), -float("inf"), 0.5)
    correction = draw.one(0, 1)
    return draw.one(
        lambda x, run: x.sum(axis(x), keepdim=keep),
        lambda x, run: x.mean(axis(x), keepdim=keep),
        lambda x, run: x.mean((0, -1), keepdim=keep),
        lambda x, run: x.var(axis(x), correction=correction, keepdim=keep),
        lambda x, run: x.std((0, -1), correction=correction, keepdim=keep),
        lambda x, run: torch.var_mean(x, axis(x), keepdim=keep)[0],
        lambda x, run: x.amax(axis(x), keepdim=keep),
        lambda x, run: x.amin((0, -1), keepdim=keep),
        lambda x, run: x.tanh().prod(axis(x), keepdim=keep),
        lambda x, run: x.logsumexp(axis(x), keepdim=keep),
        lambda x, run: torch.linalg.vector_norm(x, order, axis(x), keepdim=keep),
        lambda x, run: x.norm(dim=axis(x), keepdim=keep),
        lambda x, run: x.nansum(axis(x)),
        lambda x, run: x.max(axis(x), keepdim=keep).values,
        lambda x, run: (clear(x) > 0).any(axis(x)).to(x.dtype),
        lambda x, run: (clear(x) > -1).all(axis(x), keepdim=keep).to(x.dtype),
        lambda x, run: (clear(x) > 0).sum(axis(x)).to(x.dtype),
        lambda x, run: torch.aminmax(x, dim=axis(x)).max,
        lambda x, run: x.contiguous().nanmedian(axis(x), keepdim=keep).values,
    )


@step
def reduce_all(draw):
    return draw.one(
        lambda x, run: x - x.mean(),
        lambda x, run: x / (1 + x.std()),
        lambda x, run: x * x.sum() / x.numel(),
        lambda x, run: x - x.max(),
        lambda x, run: x / x.norm().clamp(min=1),
        lambda x, run: x.flatten().logsumexp(0) + x,
    )


@step
def scan(draw):
    axis = draw.axis()
    return draw.one(
        lambda x, run: x.cumsum(axis(x)),
        lambda x, run: x.tanh().cumprod(axis(x)),
        lambda x, run: x.cummax(axis(x)).values,
        lambda x, run: x.logcumsumexp(axis(x)),
        lambda x, run: x.flip(axis(x)).cumsum(axis(x)).flip(axis(x)),
        lambda x, run: x.diff(dim=axis(x)),
        lambda x, run: torch.trapezoid(x, dim=axis(x)).unsqueeze(-1),
        lambda x, run: x.cov() if x.dim() == 2 else x,
    )


@step
def order(draw):
    # contiguous(): of expanded tensors eager gives other elements' medians.
    axis, largest = draw.axis(), draw.one(True, False)
    return draw.one(
        lambda x, run: x.sort(axis(x), descending=largest).values,
        lambda x, run: clear(x).argsort(axis(x), stable=True).to(x.dtype) + x,
        lambda x, run: x.topk(2, axis(x), largest).values,
        lambda x, run: x.topk(x.shape[axis(x)] // 2, axis(x), largest).values,
        lambda x, run: (
            x.contiguous().kthvalue((x.shape[axis(x)] + 1) // 2, axis(x)).values
        ),
        lambda x, run: clear(x).argmax(axis(x)).to(x.dtype),
        lambda x, run: clear(x).argmin().to(x.dtype) + x,
        lambda x, run: clear(x).min(axis(x)).indices.to(x.dtype),
        lambda x, run: x.contiguous().median(axis(x)).values,
        lambda x, run: x.quantile(0.3, axis(x)),
    )


# Contractions.


@step
def product(draw):
    square = lambda x: x @ x.transpose(-1, -2)  # noqa: E731
    return draw.one(
        lambda x, run: square(x),
        lambda x, run: x.transpose(-1, -2) @ x / x.shape[-2],
        lambda x, run: F.linear(x, run.numbers(3, x.shape[-1]), run.numbers(3)),
        lambda x, run: x @ run.numbers(x.shape[-1]),
        lambda x, run: x @ run.numbers(x.shape[-1], x.shape[-1]),
        lambda x, run: torch.einsum("...ij,...kj->...ik", x, x.tanh()),
        lambda x, run: torch.einsum("...i,...i->...", x, x),
        lambda x, run: torch.einsum("i...,j...->ij", x, x),
        lambda x, run: torch.einsum("ij...,ik...->jk", x, x),
        lambda x, run: torch.tensordot(x, x, dims=([0], [0])),
        lambda x, run: torch.outer(x.flatten()[:9], x.flatten()[:7]),
        lambda x, run: torch.cdist(unfolded(x, 3), unfolded(x, 3) + 1),
        lambda x, run: torch.baddbmm(
            x[..., :1], x, x.transpose(-1, -2), beta=0.5, alpha=1 / x.shape[-1]
        ),
        lambda x, run: torch.addmv(x[:, 0], x, x[0], alpha=x.shape[0]),
    )


@step
def attention(draw):
    causal = draw.one(True, False)

    def own(x, run):
        scores = x @ x.transpose(-1, -2) * x.shape[-1] ** -0.5
        if causal:
            length = x.shape[-2]
            mask = torch.ones(length, length, dtype=torch.bool, device=run.device)
            scores = scores.masked_fill(~mask.tril(), float("-inf"))
        return scores.softmax(-1) @ x

    def of_all_but_the_first(x, run):
        if x.shape[-2] < 2:
            raise ValueError("without keys eager's kernel ends the process")
        keys = x[..., 1:, :]
        return F.scaled_dot_product_attention(x, keys, keys, scale=1 / x.shape[-2])

    return draw.one(
        own,
        lambda x, run: F.scaled_dot_product_attention(x, x, x, is_causal=causal),
        lambda x, run: F.scaled_dot_product_attention(
            x, x, x, run.numbers(x.shape[-2], x.shape[-2])
        ),
        of_all_but_the_first,
    )


@step
def convolution(draw):
    stride, padding = draw.one(1, 2), draw.one(0, 1)
    out = draw.one(2, 3)

    def of(convolve, rank, channels_first=False):
        def run_it(x, run):
            x = unfolded(x, rank)
            shape = (x.shape[1], out) if channels_first else (out, x.shape[1])
            weight = run.numbers(*shape, *[2] * (rank - 2))
            return convolve(x, weight, stride=stride, padding=padding)

        return run_it

    return draw.one(
        of(F.conv1d, 3),
        of(F.conv2d, 4),
        of(F.conv_transpose1d, 3, channels_first=True),
        of(F.conv_transpose2d, 4, channels_first=True),
        lambda x, run: F.conv1d(
            unfolded(x, 3),
            run.numbers(unfolded(x, 3).shape[1], 1, 2),
            padding=1,
            groups=unfolded(x, 3).shape[1],
        ),
        lambda x, run: F.unfold(unfolded(x, 4), 2, padding=1),
        lambda x, run: F.fold(
            F.unfold(unfolded(x, 4), 2, padding=1), x.shape[-2:], 2, padding=1
        ),
    )


@step
def pool(draw):
    stride, padding, ceil = draw.one(1, 2), draw.one(0, 1), draw.one(True, False)
    out = draw.one(1, 2, 3)
    window = dict(kernel_size=2, stride=stride, padding=padding, ceil_mode=ceil)
    return draw.one(
        lambda x, run: F.max_pool1d(unfolded(x, 3), **window),
        lambda x, run: F.max_pool2d(unfolded(x, 4), **window),
        lambda x, run: F.avg_pool1d(unfolded(x, 3), **window),
        lambda x, run: F.avg_pool2d(unfolded(x, 4), **window, count_include_pad=ceil),
        lambda x, run: F.avg_pool2d(unfolded(x, 4), x.shape[-2:]),
        lambda x, run: F.adaptive_avg_pool1d(unfolded(x, 3), out),
        lambda x, run: F.adaptive_avg_pool2d(unfolded(x, 4), (out, 2)),
        lambda x, run: F.adaptive_max_pool2d(unfolded(x, 4), out),
        lambda x, run: F.lp_pool1d(unfolded(x, 3).abs() + 1, 2, 2),
    )


@step
def resize(draw):
    aligned = draw.one(True, False)
    scale = draw.one(2, 1.5, 0.7)
    smooth = draw.one("bilinear", "bicubic")
    nearest = draw.one("nearest", "nearest-exact", "area")
    return draw.one(
        lambda x, run: F.interpolate(unfolded(x, 4), scale_factor=scale, mode=nearest),
        lambda x, run: F.interpolate(
            unfolded(x, 4), scale_factor=scale, mode=smooth, align_corners=aligned
        ),
        lambda x, run: F.interpolate(
            unfolded(x, 3), x.shape[-1] * 2 - 1, mode="linear", align_corners=aligned
        ),
        lambda x, run: F.interpolate(
            unfolded(x, 4), (5, x.shape[-1]), mode=smooth, align_corners=aligned
        ),
        lambda x, run: F.interpolate(unfolded(x, 3), x.shape[-1] // 2 + 1),
        lambda x, run: F.pixel_shuffle(torch.cat([unfolded(x, 4)] * 4, 1), 2),
        lambda x, run: F.grid_sample(
            unfolded(x, 4),
            run.numbers(unfolded(x, 4).shape[0], 3, x.shape[-1], 2),
            align_corners=aligned,
        ),
    )


# Normalisation, losses, and numbers that follow sizes.


@step
def normalise(draw):
    axis = draw.axis()
    return draw.one(
        lambda x, run: x.softmax(axis(x)),
        lambda x, run: x.log_softmax(axis(x)),
        lambda x, run: F.layer_norm(x, x.shape[-1:]),
        lambda x, run: F.layer_norm(
            x, x.shape[-2:], run.numbers(*x.shape[-2:]), eps=1 / x.shape[0]
        ),
        lambda x, run: F.batch_norm(unfolded(x, 3), None, None, training=True),
        lambda x, run: F.batch_norm(
            unfolded(x, 4),
            None,
            None,
            run.numbers(unfolded(x, 4).shape[1]),
            training=True,
        ),
        lambda x, run: F.instance_norm(unfolded(x, 3)),
        lambda x, run: F.group_norm(unfolded(x, 3), unfolded(x, 3).shape[1]),
        lambda x, run: F.group_norm(torch.cat([unfolded(x, 3)] * 2, 1), 2),
        lambda x, run: F.rms_norm(x, x.shape[-1:]),
        lambda x, run: F.normalize(x, dim=axis(x)),
        lambda x, run: F.cosine_similarity(x, x.flip(-1), dim=axis(x)),
        lambda x, run: F.local_response_norm(unfolded(x, 3), 2),
    )


@step
def loss(draw):
    reduction = draw.one("mean", "sum", "none")

    def classes(x, run):
        x = unfolded(x, 2)
        return x, run.arange(x.shape[0]) % x.shape[1]

    def crossed(x, run, **how):
        return F.cross_entropy(*classes(x, run), reduction=reduction, **how)

    return draw.one(
        lambda x, run: F.mse_loss(x, x.flip(0), reduction=reduction),
        lambda x, run: F.smooth_l1_loss(
            x, x.flip(0), reduction=reduction, beta=1 / x.shape[0]
        ),
        lambda x, run: F.huber_loss(x, x.flip(0), reduction=reduction),
        lambda x, run: crossed(x, run),
        lambda x, run: crossed(x, run, ignore_index=1),
        lambda x, run: crossed(x, run, ignore_index=x.shape[-1] - 1),
        lambda x, run: crossed(x, run, label_smoothing=1 / x.shape[-1]),
        lambda x, run: crossed(x, run, weight=run.numbers(x.shape[-1]).abs() + 1),
        lambda x, run: F.kl_div(
            x.log_softmax(-1), x.flip(-1).softmax(-1), reduction="batchmean"
        ),
        lambda x, run: F.binary_cross_entropy_with_logits(
            x, x.flip(0).sigmoid(), reduction=reduction
        ),
        lambda x, run: F.binary_cross_entropy(
            x.sigmoid(), x.flip(0).sigmoid(), reduction=reduction
        ),
        lambda x, run: F.multilabel_soft_margin_loss(
            unfolded(x, 2), unfolded(x, 2).sigmoid(), reduction=reduction
        ),
    )


@step
def number(draw):
    axis = draw.axis()
    return draw.one(
        lambda x, run: x / x.shape[axis(x)],
        lambda x, run: x * x.shape[axis(x)] ** -0.5,
        lambda x, run: x + x.shape[axis(x)],
        lambda x, run: x.shape[axis(x)] - x,
        lambda x, run: clear(x) % x.shape[axis(x)],
        lambda x, run: torch.remainder(clear(x), 1 / x.shape[0]),
        lambda x, run: x.clamp(max=0.1 * x.shape[0]),
        lambda x, run: torch.add(x, x, alpha=x.shape[-1]),
        lambda x, run: torch.addcmul(x, x, x, value=1 / x.numel()),
        lambda x, run: torch.addcdiv(x, x, 1 + x * x, value=1 / x.numel()),
        lambda x, run: torch.lerp(x, x.flip(0), 1 / x.shape[0]),
        lambda x, run: F.leaky_relu(x, 1 / x.shape[0]),
        lambda x, run: F.elu(x, x.shape[-1]),
        lambda x, run: F.threshold(clear(x), 0.1, x.shape[0]),
        lambda x, run: x.where(clear(x) < x.shape[0] * 0.1, x.shape[-1]),
        lambda x, run: (clear(x) > 1 / x.shape[0]).to(x.dtype),
        lambda x, run: x.masked_fill(clear(x) > 0, x.numel()),
        lambda x, run: F.gelu(x) * x.shape.numel() ** 0.25,
    )


@step
def created(draw):
    return draw.one(
        lambda x, run: x + run.arange(x.shape[-1], x.dtype),
        lambda x, run: (
            x
            * torch.linspace(
                0, x.shape[-1], x.shape[-1], device=run.device, dtype=x.dtype
            )
        ),
        lambda x, run: (
            x * torch.linspace(-1, 1, x.shape[-1], device=run.device, dtype=x.dtype)
        ),
        lambda x, run: (
            x + torch.logspace(0, 0.5, x.shape[-1], device=run.device, dtype=x.dtype)
        ),
        lambda x, run: (
            x + torch.full(x.shape[-1:], x.shape[0], device=run.device, dtype=x.dtype)
        ),
        lambda x, run: x @ torch.eye(x.shape[-1], device=run.device, dtype=x.dtype),
        lambda x, run: (
            x
            + torch.arange(
                x.shape[-1], 2 * x.shape[-1], device=run.device, dtype=x.dtype
            )
        ),
        lambda x, run: (
            x * torch.arange(x.shape[-1], 0, -1, device=run.device, dtype=x.dtype)
        ),
        lambda x, run: (
            x + torch.tensor(float(x.shape[-1]), device=run.device, dtype=x.dtype)
        ),
        lambda x, run: (
            x
            + x.new_ones(x.shape[-1:])
            * torch.hann_window(x.shape[-1], device=run.device, dtype=x.dtype)
        ),
        lambda x, run: torch.cartesian_prod(x.flatten()[:5], x.flatten()[:4]),
        lambda x, run: sum(
            torch.meshgrid(x.flatten()[:6], x.flatten()[:5], indexing="ij")
        ),
        lambda x, run: torch.vander(x.flatten()[:5].tanh(), x.shape[0]),
    )


@step
def dropped(draw):
    p = draw.one(0.2, 0.5)
    return draw.one(
        lambda x, run: F.dropout(x, p),
        lambda x, run: F.dropout1d(unfolded(x, 3), p),
        lambda x, run: x + torch.rand_like(x),
        lambda x, run: x * torch.randn(x.shape[-1:], device=run.device, dtype=x.dtype),
        lambda x, run: x + torch.bernoulli(x.sigmoid()),
    )


@step
def smooth(draw):
    return draw.one(
        lambda x, run: x.tanh(),
        lambda x, run: x.sigmoid(),
        lambda x, run: F.silu(x),
        lambda x, run: F.relu(x),
        lambda x, run: F.glu(torch.cat([x, x], -1)),
        lambda x, run: F.softplus(x),
        lambda x, run: x.exp().clamp(max=9).log1p(),
        lambda x, run: F.prelu(unfolded(x, 3), run.numbers(unfolded(x, 3).shape[1])),
    )


@step
def again(draw):
    """Meet an earlier tensor, where the two can meet."""
    number = draw.randrange(60)

    def earlier(run):
        return run.before[number % len(run.before)]

    return draw.one(
        lambda x, run: x + earlier(run),
        lambda x, run: x * earlier(run),
        lambda x, run: torch.maximum(x, earlier(run)),
        lambda x, run: x + earlier(run).sum(),
        lambda x, run: torch.cat([x, earlier(run)]),
        lambda x, run: torch.cat([x.flatten(), earlier(run).flatten()]),
        lambda x, run: x @ earlier(run).transpose(-1, -2),
        lambda x, run: x.reshape(earlier(run).shape) - earlier(run),
    )
