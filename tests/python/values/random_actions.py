# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Actions of random programs that train, write, read and end steps in any order."""

import copy
import pickle
import re

import torch
import torch.nn.functional as F

SHAPES = [(3, 4), (4, 3), (4,), (3, 1), (2, 3, 4), ()]


def numbers(shape, device, start=0):
    count = torch.Size(shape).numel()
    made = ((torch.arange(count) * 7 + start) % 11 - 5.0) / 4
    return made.reshape(shape).double().to(device)


class World:
    """What a program holds: parameters, values made of them, buffers, optimizers."""

    def __init__(self, draw, device):
        self.device = device
        shapes = [draw.choice(SHAPES) for _ in range(3)]
        self.params = [
            numbers(s, device, i).requires_grad_() for i, s in enumerate(shapes)
        ]
        self.values = [p * 1 for p in self.params]
        self.buffers = [numbers(draw.choice(SHAPES), device, 5 + i) for i in range(3)]
        kind = draw.choice([torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
        options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
        self.optimizer = kind(self.params, lr=0.1, **options)
        self.log = []

    def any(self, d):
        return d.choice([*self.params, *self.values, *self.values, *self.buffers])

    def keep(self, x):
        if x.numel() < 500:
            self.values.append(x)
            del self.values[:-8]


def strides(x):
    return [s for n, s in zip(x.shape, x.stride(), strict=True) if n > 1]


def param(w, d):
    return d.choice(w.params)


def value(w, d):
    return w.values[int(d.random() ** 0.5 * len(w.values))]


def axis(x, d):
    return d.randrange(max(1, x.dim()))


def compute(w, d):
    x, y = w.any(d), w.any(d)
    w.keep(
        d.choice(
            [
                lambda: x + y,
                lambda: x * y,
                lambda: x - 2 * y,
                lambda: (x * y).tanh(),
                lambda: x @ y,
                lambda: x @ x.mT,
                lambda: x.sum(axis(x, d)),
                lambda: x.softmax(axis(x, d)),
                lambda: x.exp().log1p(),
                lambda: torch.cat([x, x * 2], axis(x, d)),
                lambda: torch.where(x > 0, x, y),
                lambda: x.abs().sqrt() + 1,
                lambda: F.relu(x),
                lambda: F.layer_norm(x, x.shape[-1:]),
                lambda: x.clone(),
                lambda: x.detach(),
                lambda: x.detach().clone().requires_grad_(),
                lambda: x.float().double(),
                lambda: (x * 4).round().long().double() / 4,
                lambda: x.cumsum(axis(x, d)),
                lambda: x.max(axis(x, d)).values,
                lambda: x / (y * y + 1),
                lambda: x + y.detach().sum(),
                lambda: x * y.detach().sum().item(),
                lambda: x.pow(2).mean(),
            ]
        )()
    )


def view(w, d):
    x = w.any(d)
    w.keep(
        d.choice(
            [
                lambda: x[0],
                lambda: x[-1:],
                lambda: x.mT,
                lambda: x.t(),
                lambda: x.reshape(-1),
                lambda: x.view(-1)[1:],
                lambda: x[..., ::2],
                lambda: x.unsqueeze(0),
                lambda: x.chunk(2, -1)[0],
                lambda: x.expand(2, *x.shape),
                lambda: x.diagonal(),
                lambda: x.narrow(-1, 1, 1),
                lambda: x.detach(),
                lambda: x.data,
                lambda: x.view_as(x),
                lambda: x.contiguous(),
            ]
        )()
    )


def write_to(x, y, d):
    d.choice(
        [
            lambda: x.add_(1),
            lambda: x.add_(y),
            lambda: x.mul_(2),
            lambda: x.mul_(y),
            lambda: x.sub_(y, alpha=0.5),
            lambda: x.copy_(y),
            lambda: x.zero_(),
            lambda: x.fill_(0.5),
            lambda: x.neg_(),
            lambda: x.clamp_(-1, 1),
            lambda: x.tanh_(),
            lambda: x.exp_().clamp_(max=3),
            lambda: x.__setitem__(0, 2.0),
            lambda: x.__setitem__((..., 0), y.sum()),
            lambda: x.__setitem__(slice(1, None), 0.25),
            lambda: x.__setitem__(x > 0, 0.75),
            lambda: x.masked_fill_(x < 0, 1.25),
            lambda: x.index_add_(0, torch.tensor([0], device=x.device), x[:1].clone()),
            lambda: x.cumsum_(axis(x, d)),
            lambda: x.addcmul_(y, y, value=0.5),
            lambda: x.lerp_(y, 0.5),
            lambda: x.t_(),
            lambda: x.squeeze_(),
            lambda: x.unsqueeze_(0),
            lambda: x.fill_(y.sum()),
            lambda: x.floor_(),
            lambda: x.div_(2),
            lambda: x.copy_(numbers(x.shape, "cpu", 3)),
            lambda: x.copy_(numbers(x.shape[-1:], "cpu", 3).float()),
            lambda: x.swapaxes_(0, -1),
        ]
    )()


def write(w, d):
    write_to(value(w, d), w.any(d), d)


def write_buffer(w, d):
    write_to(d.choice(w.buffers), w.any(d).detach(), d)


def write_part(w, d):
    x = w.any(d)
    write_to(d.choice([x[:1], x[..., -1:], x.reshape(-1)[::2], x[-1]]), w.any(d), d)


def update(w, d):
    p = param(w, d)
    with torch.no_grad():
        d.choice(
            [
                lambda: p.add_(p.grad, alpha=-0.1),
                lambda: p.mul_(0.5),
                lambda: p[:1].add_(1),
                lambda: p.copy_(numbers(p.shape, p.device, 2)),
                lambda: p.sub_(p.grad),
                lambda: p.clamp_(-1, 1),
                lambda: torch._foreach_add_(w.params, 0.25),
                lambda: torch._foreach_mul_(w.params, [1.0, 0.5, 2.0]),
                lambda: torch._foreach_add_(w.params, [p.grad for p in w.params]),
                lambda: write_to(p, w.any(d).detach(), d),
            ]
        )()


def data(w, d):
    p = param(w, d)

    def replaced():
        p.data = p.detach() * 0.5 + 1

    def swapped():
        p.data = numbers(p.shape, p.device, 9)

    d.choice(
        [
            replaced,
            swapped,
            lambda: p.data.add_(1),
            lambda: p.data.copy_(p.detach().flip(0)),
            lambda: p.data.zero_(),
            lambda: p.detach().mul_(2),
            lambda: p.detach_(),
        ]
    )()
    p.requires_grad_()


def backward(w, d):
    y = value(w, d)
    (y * y).sum().backward(retain_graph=d.random() < 0.7)


def plain_backward(w, d):
    value(w, d).sum().backward(retain_graph=True)


def grad(w, d):
    y = value(w, d)
    found = torch.autograd.grad(
        y.sin().sum(), w.params, allow_unused=True, retain_graph=True
    )
    return [None if g is None else g.tolist() for g in found]


def second(w, d):
    y = value(w, d)
    found = torch.autograd.grad(
        (y**3).sum(), w.params, allow_unused=True, create_graph=True
    )
    for g in found:
        if g is not None and d.random() < 0.7:
            w.keep(g)


def gradient(w, d):
    p = param(w, d)

    def none():
        p.grad = None

    def held():
        w.keep(p.grad)

    def assigned():
        p.grad = numbers(p.shape, p.device, 4)

    def shared():
        p.grad = w.params[0].grad

    d.choice(
        [
            none,
            held,
            assigned,
            shared,
            lambda: p.grad.zero_(),
            lambda: p.grad.mul_(0.5),
            lambda: p.grad[:1].add_(1),
            lambda: w.optimizer.zero_grad(),
            lambda: w.optimizer.zero_grad(set_to_none=False),
            lambda: torch.nn.utils.clip_grad_norm_(w.params, 1.0),
            lambda: torch.nn.utils.clip_grad_value_(w.params, 0.5),
        ]
    )()


def step(w, d):
    w.optimizer.step()


def out(w, d):
    # Apart from what is written to: eager may resize it over what it reads.
    x, y = w.any(d).detach().clone(), w.any(d).detach().clone()
    o = d.choice([*w.buffers, d.choice(w.buffers)[:1], d.choice(w.buffers).mT])
    written = d.choice(
        [
            lambda: torch.add(x, y, out=o),
            lambda: torch.mul(x, 2, out=o),
            lambda: torch.exp(x, out=o),
            lambda: torch.sum(x, 0, out=o),
            lambda: torch.cat([x, x], out=o),
            lambda: torch.matmul(x, y, out=o),
            lambda: torch.maximum(x, y, out=o),
            lambda: torch.cumsum(x, 0, out=o),
            lambda: torch.clamp(x, -1, 1, out=o),
        ]
    )
    try:
        written()
    except RuntimeError:
        o.zero_()  # eager may have resized it first, over memory that holds anything
        raise


def printed(x):
    return re.sub(r",\s*device='lazy:0'|,?\s*grad_fn=.*|\s+", "", str(x.detach()))


def read(w, d):
    x = w.any(d)
    return d.choice(
        [
            lambda: x.tolist(),
            lambda: x.detach().cpu().numpy().tolist(),
            lambda: x.sum().item(),
            lambda: float(x.detach().flatten()[0]),
            lambda: bool((x > 0).any()),
            lambda: printed(x),
            lambda: x.cpu().tolist(),
            lambda: x.is_contiguous(),
            lambda: (strides(x), x.storage_offset()),
            lambda: torch.equal(x, x.clone()),
            lambda: torch.allclose(x, x * 1.5),
            lambda: len(x),
            lambda: [row.sum().item() for row in x],
            lambda: int(x.argmax()),
            lambda: x.nonzero().tolist(),
            lambda: x[x > 0].tolist(),
            lambda: x.max().item() > 1,
            lambda: (x.requires_grad, x.is_leaf),
            lambda: copy.deepcopy(x.detach()).tolist(),
            lambda: pickle.loads(pickle.dumps(x.detach())).tolist(),
        ]
    )()


def boundary(w, d):
    if w.device == "lazy":
        d.choice(
            [
                torch.lazy.mark_step,
                torch.lazy.mark_step,
                torch.lazy.synchronize,
                lambda: torch.lazy.mark_step(wait=True),
            ]
        )()


def buffer(w, d):
    x = w.any(d).detach()
    i = d.randrange(3)
    w.buffers[i] = d.choice(
        [
            lambda: x.clone(),
            lambda: x,
            lambda: x.cpu().clone().to(w.device),
            lambda: x.cpu().clone().to(w.device),
            lambda: torch.zeros_like(x),
            lambda: w.buffers[i].T,
            lambda: copy.deepcopy(x),
            lambda: x.to(torch.float32).to(torch.float64),
        ]
    )()


def drop(w, d):
    del w.values[d.randrange(len(w.values))]
    if not w.values:
        w.values.append(w.params[0] * 2)


def hook(w, d):
    y = value(w, d)
    y.register_hook(lambda g: g * 0.5)


def retain(w, d):
    y = value(w, d)
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    return y.grad.tolist()


def untracked(w, d):
    with torch.no_grad():
        compute(w, d)


ACTIONS = {
    compute: 8,
    view: 4,
    write: 4,
    write_buffer: 3,
    write_part: 3,
    update: 3,
    data: 1,
    backward: 3,
    plain_backward: 2,
    grad: 2,
    second: 1,
    gradient: 2,
    step: 2,
    out: 3,
    read: 3,
    boundary: 3,
    buffer: 2,
    drop: 1,
    hook: 1,
    retain: 1,
    untracked: 1,
}
