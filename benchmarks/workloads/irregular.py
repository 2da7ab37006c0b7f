# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose graphs come once, never end, or are cut by reads.

What a program does next depends on chance, on data or on sizes. A step is a
few turns of its loop; no two steps need have the same graph.
"""

import random
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn

from workloads.workload import Workload


class Irregular(Workload):
    """One that makes its choices by a generator of its own."""

    checked_steps = 2
    bound = 1e-4
    turns = 4
    targets: ClassVar[dict] = {"step_ms": 1.5}

    def __init__(self, contender, size="full"):
        self.choice = random.Random(0)
        super().__init__(contender, size)

    def step(self):
        return [self.turn() for _ in range(self.turns)]

    def tensor(self, *sizes):
        return torch.randn(*sizes).to(self.device)


class Learning(Irregular):
    """One that trains self.model, with a loss for each turn."""

    def __init__(self, contender, size="full"):
        super().__init__(contender, size)
        self.model.to(self.device)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), 1e-2, **contender.optimizer_options
        )

    def turn(self):
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class Trees(Learning):
    """A network that follows random binary trees of 12 leaves."""

    name = "trees"

    def build(self):
        modules = {"node": nn.Linear(64, 32), "leaf": nn.Embedding(50, 32)}
        self.model = nn.ModuleDict({**modules, "out": nn.Linear(32, 5)})
        self.label = torch.tensor([1]).to(self.device)

    def encode(self, leaves):
        if leaves == 1:
            return self.model["leaf"].weight[self.choice.randrange(50)]
        left = self.choice.randrange(1, leaves)
        parts = [self.encode(left), self.encode(leaves - left)]
        return torch.tanh(self.model["node"](torch.cat(parts)))

    def loss(self):
        return F.cross_entropy(self.model["out"](self.encode(12))[None], self.label)


class RandomDepth(Learning):
    """A residual network that leaves out layers by chance."""

    name = "random-depth"

    def build(self):
        layers = [nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(12)]
        self.model = nn.Sequential(*layers)
        self.x = self.tensor(32, 64)

    def loss(self):
        x = self.x
        for layer in self.model:
            if self.choice.random() < 0.7:
                x = x + layer(x)
        return x.square().mean()


class RandomOps(Learning):
    """A search over architectures: each edge has one of six ops."""

    name = "random-ops"

    def build(self):
        self.model = nn.ModuleList(nn.Linear(32, 32) for _ in range(6))
        self.x = self.tensor(16, 32)

    def loss(self):
        kinds = [torch.tanh, torch.relu, torch.sigmoid, F.gelu, F.silu, torch.sin]
        x = self.x
        for layer in self.model:
            x = self.choice.choice(kinds)(layer(x))
            if self.choice.random() < 0.3:
                x = F.layer_norm(x, (32,))
        return x.square().mean()


class Experts(Learning):
    """Four experts; each gets the rows that a router sends it."""

    name = "experts"
    shaped_by_values = True

    def build(self):
        self.model = nn.ModuleDict({"router": nn.Linear(32, 4)})
        self.model["experts"] = nn.ModuleList(nn.Linear(32, 32) for _ in range(4))
        self.batches = [self.tensor(64, 32) for _ in range(8)]

    def loss(self):
        x = self.choice.choice(self.batches)
        weights = self.model["router"](x).softmax(1)
        best = weights.argmax(1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.model["experts"]):
            rows = (best == i).nonzero()[:, 0]
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * weights[rows, i, None])
        return (out - x).square().mean()


class GPTSizes(Learning):
    """A small transformer; batch and length vary together."""

    name = "gpt-sizes"

    def build(self):
        layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
        self.model = nn.ModuleDict({"blocks": nn.TransformerEncoder(layer, 2)})
        self.model["embed"] = nn.Embedding(100, 64)
        self.model["head"] = nn.Linear(64, 100)

    def loss(self):
        batch, length = self.choice.randrange(2, 8), self.choice.randrange(8, 64)
        tokens = torch.arange(batch * length).view(batch, length) % 100
        tokens = tokens.to(self.device)
        out = self.model["head"](self.model["blocks"](self.model["embed"](tokens)))
        return F.cross_entropy(out.flatten(0, 1), tokens.flatten())


class ImageSizes(Learning):
    """A small convolutional network; images of six sizes."""

    name = "image-sizes"

    def build(self):
        convs = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        convs += [nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()]
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
        self.model = nn.Sequential(*convs, *head)
        sides = (24, 28, 32, 36, 40, 48)
        self.images = [self.tensor(4, 3, side, side) for side in sides]

    def loss(self):
        return self.model(self.choice.choice(self.images)).square().mean()


class DoubleLSTM(Learning):
    """An LSTM with projections, in float64, over sequences of many lengths."""

    name = "lstm-projected"

    def build(self):
        self.model = nn.LSTM(16, 32, proj_size=16, batch_first=True).double()

    def loss(self):
        length = self.choice.randrange(5, 30)
        x = torch.ones(4, length, 16, dtype=torch.float64).to(self.device)
        return self.model(x)[0].square().mean()


class Episodes(Learning):
    """REINFORCE on a pole that is balanced until it falls."""

    name = "episodes"
    turns = 2

    def build(self):
        layers = [nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)]
        self.model = nn.Sequential(*layers)

    def loss(self):
        angle, speed, terms = self.choice.uniform(-0.05, 0.05), 0.0, []
        while abs(angle) < 0.2 and len(terms) < 40:
            state = torch.tensor([angle, speed]).to(self.device)
            chances = self.model(state).log_softmax(0)
            action = int(self.choice.random() > chances[0].exp().item())
            terms.append(chances[action])
            speed += 0.1 * angle + (0.02 if action else -0.02)
            angle += speed
        return -torch.stack(terms).sum() * len(terms) / 40


class UnreadSteps(Irregular):
    """Gradient descent by hand; nothing is read and no optimizer steps."""

    name = "unread-steps"
    turns = 400

    def build(self):
        self.x, self.w = self.tensor(32, 16), self.tensor(16, 16).requires_grad_()

    def turn(self):
        (self.x @ self.w).pow(2).mean().backward()
        with torch.no_grad():
            self.w -= 1e-3 * self.w.grad
            self.w.grad.zero_()

    def step(self):
        super().step()
        return self.w.detach().clone()


class KeptLosses(UnreadSteps):
    """The same with its losses kept on the device, to be looked at later."""

    name = "kept-losses"
    turns = 100

    def turn(self):
        loss = (self.x @ self.w).pow(2).mean()
        loss.backward()
        self.losses.append(loss.detach())
        with torch.no_grad():
            self.w -= 1e-3 * self.w.grad
            self.w.grad.zero_()

    def step(self):
        self.losses = []
        super().step()
        return torch.stack(self.losses)


class MovingAverage(Irregular):
    """A long chain of one recurrence, without a read."""

    name = "moving-average"
    turns = 1000

    def build(self):
        self.w, self.a = self.tensor(64, 64), self.tensor(64)

    def turn(self):
        self.a = self.a * 0.99 + self.w.mean(0) * 0.01

    def step(self):
        super().step()
        return self.a


class InPlaceChain(Irregular):
    """The same, in place."""

    name = "in-place-chain"
    turns = 250

    def build(self):
        self.x = self.tensor(1000)

    def turn(self):
        self.x.mul_(0.99).add_(0.1)

    def step(self):
        super().step()
        return self.x.clone()


class NMS(Irregular):
    """Non-maximum suppression by hand: a read for each box that stays."""

    name = "nms"
    shaped_by_values = True
    turns = 1

    def build(self):
        corners = torch.rand(100, 2) * 80
        self.boxes = torch.cat([corners, corners + 20], 1).to(self.device)
        self.scores = torch.rand(100).to(self.device)

    def turn(self):
        order = self.scores.argsort(descending=True)
        kept = []
        while len(order):
            first, rest = order[0], order[1:]
            kept.append(first)
            low = torch.maximum(self.boxes[first, :2], self.boxes[rest, :2])
            high = torch.minimum(self.boxes[first, 2:], self.boxes[rest, 2:])
            shared = (high - low).clamp(min=0).prod(1)
            order = rest[shared / (800 - shared) < 0.5]
        return torch.stack(kept)


class SmallReads(Irregular):
    """Single numbers and sizes that depend on values."""

    name = "small-reads"
    shaped_by_values = True
    turns = 10

    def build(self):
        self.x, self.y = self.tensor(100), self.tensor(50, 4)
        self.words = torch.randint(20, (200,)).to(self.device)

    def turn(self):
        bound = self.choice.uniform(-1, 1)
        count = (self.x > bound).nonzero().sum().item()
        mean = self.y[self.y[:, 0] > bound].mean().item()
        return torch.tensor([count, mean, len(self.words.unique())])


class Solver(Irregular):
    """Conjugate gradients, which look at the residual in every turn."""

    name = "conjugate-gradients"
    turns = 2

    def build(self):
        root = torch.randn(64, 64) / 8
        self.a = (root @ root.t() + torch.eye(64)).to(self.device)
        self.b = self.tensor(64)

    def turn(self):
        x, r = torch.zeros_like(self.b), self.b.clone()
        p, rr = r.clone(), r @ r
        while rr.item() > 1e-10:
            ap = self.a @ p
            alpha = rr / (p @ ap)
            x, r = x + alpha * p, r - alpha * ap
            p, rr = r + (r @ r) / rr * p, r @ r
        return x


class BeamSearch(Irregular):
    """Sequences that grow, chosen by data."""

    name = "beam-search"
    turns = 1

    def build(self):
        self.table = self.tensor(50, 50).log_softmax(1)

    def turn(self):
        beams = torch.zeros(4, 1, dtype=torch.long).to(self.device)
        scores = self.tensor(4)
        for _ in range(self.choice.randrange(8, 16)):
            grown = scores[:, None] + self.table[beams[:, -1]]
            scores, best = grown.flatten().topk(4)
            beams = torch.cat([beams[best // 50], (best % 50)[:, None]], 1)
        return beams[scores.argmax()]


class Coefficients(Irregular):
    """Numbers that are other ones in each call."""

    name = "coefficients"
    turns = 10

    def build(self):
        self.x, self.y, self.z = (self.tensor(64, 64) for _ in range(3))

    def turn(self):
        a = self.choice.random()
        out = torch.addmm(self.x, self.y, self.z, alpha=a, beta=a / 2)
        out = F.leaky_relu(out, a / 10).clamp(-a, a)
        return torch.add(out, self.x, alpha=a)


WORKLOADS = [
    Trees,
    RandomDepth,
    RandomOps,
    Experts,
    GPTSizes,
    ImageSizes,
    DoubleLSTM,
    Episodes,
    UnreadSteps,
    KeptLosses,
    MovingAverage,
    InPlaceChain,
    NMS,
    SmallReads,
    Solver,
    BeamSearch,
    Coefficients,
]
