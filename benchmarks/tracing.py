# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the host does for one call; `make bench ARGS=--tracing` runs it.

Each call is made in a steady loop on tensors so small that eager's time is that
of its dispatch. What is measured is the calling thread's processor time: eager's
computes in it, lazy's records. Syncs are outside. Rounds of both take turns.
"""

import statistics
import sys
import time
from contextlib import nullcontext

ROUNDS, CALLS_A_ROUND = 15, 80
SMALL_ROUNDS = 1
SHOWN_FROM = 1.05
BEGIN, END = "<!-- made by benchmarks/tracing.py -->", "<!-- end of tracing -->"

MODES = ("inference mode", "no gradients", "gradients")

# x is 4x4, y 2x4x4, v of 4, images 1x2x4x4, filters 3x2x2x2; b is x > 0, i of 4
# indices, j of 4x4; z has no gradient and may be written to, w is another. The
# mean and variance are of running statistics.
OUT_OF_PLACE = """
x + x | x - x | x * x | x / x | x + 1 | x * 2 | 1 - x | 2 / x | x**2 | -x
x.abs() | x.exp() | x.log() | x.sqrt() | x.rsqrt() | x.sin() | x.tanh()
x.sigmoid() | x.erf() | x.floor() | x.relu() | F.gelu(x) | F.silu(x)
F.leaky_relu(x) | F.elu(x) | F.softplus(x) | F.hardswish(x) | F.glu(x)
x.clamp(0, 1) | torch.maximum(x, x) | torch.where(b, x, x) | x > 0 | x == x
b & b | ~b | x.isnan() | torch.lerp(x, x, 0.5) | x.addcmul(x, x)
x.sum() | x.sum(0) | x.mean(-1, True) | x.var(-1) | x.amax(-1) | x.max(-1)
x.argmax(-1) | x.norm() | x.prod() | x.any() | x.cumsum(0) | x.topk(2) | x.sort()
torch.logsumexp(x, 0) | x.softmax(-1) | x.log_softmax(-1)
x @ x | x @ v | y @ y | torch.bmm(y, y) | torch.addmm(v, x, x) | torch.outer(v, v)
F.linear(x, x) | F.linear(x, x, v) | F.linear(y, x) | F.linear(y, x, v)
torch.einsum("ij,jk->ik", x, x)
F.scaled_dot_product_attention(images, images, images)
F.layer_norm(x, (4,), v, v) | F.rms_norm(x, (4,)) | F.group_norm(y, 2)
F.batch_norm(x, mean, variance) | F.batch_norm(x, mean, variance, v, v, True)
F.dropout(x, 0.1) | F.embedding(i, x) | F.one_hot(i, 4) | F.normalize(x)
F.conv2d(images, filters) | F.max_pool2d(images, 2) | F.avg_pool2d(images, 2)
F.adaptive_avg_pool2d(images, 1) | F.interpolate(images, scale_factor=2)
F.pad(x, (1, 1)) | F.mse_loss(x, w) | F.cross_entropy(x, i)
torch.cat([x, x]) | torch.stack([x, x]) | x.repeat(2, 1) | x.flip(0) | x.roll(1)
x.tril() | x.masked_fill(b, 0.0) | x.gather(0, j) | x.index_select(0, i) | x[i]
x.clone() | x.t().contiguous() | x.t().reshape(-1) | x.to(torch.float64) | x.half()
torch.zeros_like(x) | torch.empty_like(x) | torch.rand_like(x)
torch.zeros(4, 4, device=device) | torch.full((4,), 1.0, device=device)
torch.arange(4, device=device) | torch.randn(4, 4, device=device)
"""
IN_PLACE = """
z.add_(1) | z.add_(w) | z.mul_(2) | z.mul_(w) | z.sub_(w, alpha=0.5) | z.div_(2)
z.addcmul_(w, w) | z.addcdiv_(w, w) | z.lerp_(w, 0.5) | z.sqrt_() | z.neg_()
z.relu_() | z.clamp_(0, 1) | z.zero_() | z.fill_(1) | z.copy_(w)
z.masked_fill_(b, 0.0) | z.normal_() | z.uniform_()
"""
VIEWS = """
x.t() | x.view(2, 8) | x.reshape(2, 8) | x.flatten() | x[0] | x[:, 1:3] | x[..., 0]
x[None] | x.unsqueeze(0) | x.squeeze(0) | x.transpose(0, 1) | x.permute(1, 0)
x.expand(2, 4, 4) | x.chunk(2) | x.split(2) | x.unbind(0) | x.detach()
x.t()[1:].unsqueeze(0)
"""
KINDS = {
    kind: [call.strip() for call in calls.replace("\n", "|").split("|") if call.strip()]
    for kind, calls in {
        "out of place": OUT_OF_PLACE,
        "in place": IN_PLACE,
        "view": VIEWS,
    }.items()
}


def arguments(device, gradients):
    """Return what the calls are made of, by name."""
    import torch

    def made(*sizes):
        value = torch.ones(sizes).to(device) * 1
        return value.requires_grad_() if gradients else value

    plain = torch.ones(4, 4).to(device)
    return {
        "x": made(4, 4),
        "y": made(2, 4, 4),
        "v": made(4),
        "images": made(1, 2, 4, 4),
        "filters": made(3, 2, 2, 2),
        "z": plain * 1,
        "w": plain * 1,
        "mean": torch.zeros(4).to(device),
        "variance": torch.ones(4).to(device),
        "b": plain > 0,
        "i": torch.arange(4).to(device),
        "j": torch.zeros(4, 4, dtype=torch.long).to(device),
        "device": device,
    }


class Loop:
    """A call in a loop on one device."""

    def __init__(self, call, device, mode):
        import torch
        from torch.nn import functional

        self.sync = torch.lazy.mark_step if device == "lazy" else nullcontext
        self.mode = {
            "inference mode": torch.inference_mode,
            "no gradients": torch.no_grad,
            "gradients": torch.enable_grad,
        }[mode]
        with self.mode():
            values = arguments(device, gradients=mode == "gradients")
        names = {"torch": torch, "F": functional}
        make = eval(f"lambda {', '.join(values)}: lambda: {call}", names)
        self.call = make(**values)

    def round(self, calls):
        """Return the thread's time for a call, in nanoseconds."""
        call, numbers = self.call, range(calls)
        with self.mode():
            start = time.thread_time_ns()
            for _ in numbers:
                call()
            took = time.thread_time_ns() - start
            self.sync()
        return took / calls


def measure_call(call, mode, rounds=ROUNDS, calls=CALLS_A_ROUND):
    """Return eager's and lazy's nanoseconds, medians over rounds in turns."""
    loops = [Loop(call, device, mode) for device in ("cpu", "lazy")]
    for loop in loops:
        loop.round(calls)
    found = [[loop.round(calls) for loop in loops] for _ in range(rounds)]
    return [statistics.median(times) for times in zip(*found, strict=True)]


def measure(rounds=ROUNDS):
    """Return ``{kind: {call: {mode: [eager ns, lazy ns]}}}``."""
    import torch

    torch.set_num_threads(1)
    result = {}
    for kind, calls in KINDS.items():
        print(f"tracing: {kind} ...", file=sys.stderr, flush=True)
        result[kind] = {
            call: {mode: measure_call(call, mode, rounds) for mode in MODES}
            for call in calls
        }
    return result


def summary(result):
    """Return rows: the kind, the mode, how many calls, and by what ratio."""
    rows = []
    for kind, calls in result.items():
        for mode in MODES:
            pairs = [times[mode] for times in calls.values()]
            ratios = sorted(lazy / eager for eager, lazy in pairs)
            held = [sum(ratio <= most for ratio in ratios) for most in (1.0, 1.1, 1.5)]
            shares = [f"{100 * count / len(ratios):.0f} %" for count in held]
            middle = f"{statistics.median(ratios):.2f}"
            rows.append([kind, mode, str(len(ratios)), middle, *shares])
    return rows


COLUMNS = ["kind", "mode", "calls", "median", "at most 1.0", "1.1", "1.5"]


def slower(result):
    """Return a row for each call above ``SHOWN_FROM``: its ratio in each mode."""
    rows = []
    for calls in result.values():
        for call, times in calls.items():
            ratios = [lazy / eager for eager, lazy in (times[m] for m in MODES)]
            if max(ratios) > SHOWN_FROM:
                rows.append([call, *ratios])
    rows.sort(key=lambda row: -max(row[1:]))
    return [[call, *(f"{ratio:.2f}" for ratio in ratios)] for call, *ratios in rows]


def tables(result):
    return [COLUMNS, *summary(result)], [["call", *MODES], *slower(result)]


def table(result):
    """Return the figures as text."""
    lines = ["host time of a call, lazy over eager"]
    for rows in tables(result):
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += ["", *("  ".join(map(str.ljust, row, widths)) for row in rows)]
    return "\n".join(line.rstrip() for line in lines)


def markdown(result, heading):
    """Return the generated part of docs/performance.md on tracing."""
    lines = [BEGIN, "", *heading]
    for rows in tables(result):
        first, *rest = rows
        lines += ["", f"| {' | '.join(first)} |", "|---" * len(first) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in rest]
    return "\n".join([*lines, "", END])
