# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of training scripts, as their users write them, of test_scripts.py.

Each is a generator that trains on a device and yields, a step, what it would log.
"""

import io
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune


class Script(NamedTuple):
    train: Callable
    steps: int
    settled: int  # steps after which nothing is compiled
    fallbacks: frozenset[str]
    slow: bool


SCRIPTS = {}


def script(steps=6, settled=2, fallbacks=(), slow=False):
    def add(train):
        row = Script(train, steps, settled, frozenset(fallbacks), slow)
        SCRIPTS[train.__name__] = row
        return train

    return add


def mlp(*widths, device):
    layers = [nn.Linear(i, o) for i, o in itertools.pairwise(widths)]
    activations = [nn.Tanh() for _ in layers[1:]] + [nn.Identity()]
    pairs = zip(layers, activations, strict=True)
    return nn.Sequential(*itertools.chain.from_iterable(pairs)).to(device)


def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@script()
def adversarial_networks(device):
    generator = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 2))
    critic = nn.Sequential(
        nn.utils.spectral_norm(nn.Linear(2, 16)), nn.Dropout(0.1), nn.Linear(16, 1)
    )
    generator, critic = generator.to(device), critic.to(device)
    forger = torch.optim.Adam(generator.parameters(), 1e-3, betas=(0.5, 0.999))
    judge = torch.optim.Adam(critic.parameters(), 1e-3, betas=(0.5, 0.999))
    says = nn.BCEWithLogitsLoss()
    real, fake = torch.ones(16, 1, device=device), torch.zeros(16, 1, device=device)
    while True:
        true = (torch.randn(16, 2) / 2 + 1).to(device)
        forged = generator(torch.randn(16, 8, device=device))
        judged = says(critic(true), real) + says(critic(forged.detach()), fake)
        update(judge, judged)
        fooled = says(critic(forged), real)
        update(forger, fooled)
        yield judged.item(), fooled.item()


@script(steps=8, settled=4)
def gradient_penalty(device):
    generator, critic = mlp(8, 16, 2, device=device), mlp(2, 16, 1, device=device)
    forger = torch.optim.Adam(generator.parameters(), 1e-3)
    judge = torch.optim.RMSprop(critic.parameters(), 1e-3)
    for step in itertools.count():
        true = torch.randn(16, 2, device=device) + 1
        forged = generator(torch.randn(16, 8, device=device)).detach()
        share = torch.rand(16, 1, device=device)
        mixed = (share * true + (1 - share) * forged).requires_grad_()
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        update(judge, critic(forged).mean() - critic(true).mean() + 10 * penalty)
        if step % 2:
            update(forger, -critic(generator(torch.randn(16, 8, device=device))).mean())
        yield penalty.item()


@script()
def contrastive(device):
    encoder = mlp(12, 16, 8, device=device)
    scale = nn.Parameter(torch.tensor(2.0, device=device))
    optimizer = torch.optim.AdamW([*encoder.parameters(), scale], 1e-2)
    own = torch.arange(8, device=device)
    while True:
        x = torch.randn(8, 12).to(device)
        left, right = F.normalize(encoder(x)), F.normalize(encoder(x + 0.1))
        logits = left @ right.T * scale.exp()
        loss = (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
        loss = loss + nn.TripletMarginLoss()(left, right, right.roll(1, 0))
        update(optimizer, loss)
        with torch.no_grad():
            scale.clamp_(0, 4.6)
        yield loss.item(), (logits.argmax(1) == own).float().mean().item()


@script(settled=3, fallbacks={"aten::index.Tensor"})  # the boolean masks
def graph_attention(device):
    nodes, classes = 20, 4
    project = nn.Linear(8, classes).to(device)
    attend = nn.Linear(2 * classes, 1).to(device)
    optimizer = torch.optim.Adam([*project.parameters(), *attend.parameters()], 1e-2)
    x = torch.randn(nodes, 8).to(device)
    edges = torch.randint(0, nodes, (2, 60)).to(device)
    loops = torch.arange(nodes, device=device).repeat(2, 1)
    source, target = torch.cat([edges, loops], 1)
    labels = torch.randint(0, classes, (nodes,)).to(device)
    known = (torch.arange(nodes) % 3 > 0).to(device)
    while True:
        h = project(x)
        score = attend(torch.cat([h[source], h[target]], -1)).squeeze(-1)
        score = F.leaky_relu(score)
        low = torch.full((nodes,), -1e9, device=device)
        highest = low.scatter_reduce(0, target, score, "amax")
        weight = (score - highest[target]).exp()
        total = torch.zeros(nodes, device=device).index_add_(0, target, weight)
        weight = (weight / total[target]).unsqueeze(-1)
        out = torch.zeros_like(h).index_add(0, target, weight * h[source])
        loss = F.cross_entropy(out[known], labels[known])
        update(optimizer, loss)
        yield loss.item(), (out.argmax(-1)[~known] == labels[~known]).sum().item()


@script()
def experts_of_fixed_capacity(device):
    experts, capacity = 4, 6
    gate = nn.Linear(8, experts).to(device)
    up = nn.Parameter(torch.randn(experts, 8, 16).to(device) / 3)
    down = nn.Parameter(torch.randn(experts, 16, 8).to(device) / 3)
    optimizer = torch.optim.SGD([*gate.parameters(), up, down], 0.1, momentum=0.9)
    while True:
        x = torch.randn(16, 8).to(device)
        share, expert = gate(x).softmax(-1).max(-1)
        chosen = F.one_hot(expert, experts)
        place = (chosen.cumsum(0) * chosen).sum(-1) - 1
        places = F.one_hot(place.clamp(max=capacity - 1), capacity)
        sent = (chosen.unsqueeze(-1) * places.unsqueeze(1)).float()
        sent = sent * (place < capacity)[:, None, None]
        hidden = torch.einsum("tec,td,edf->ecf", sent, x, up).relu()
        back = sent * share[:, None, None]
        out = torch.einsum("tec,ecf,efd->td", back, hidden, down)
        loss = F.mse_loss(out, x.flip(-1))
        update(optimizer, loss)
        yield loss.detach()


@script(slow=True)
def meta_learning(device):
    """MAML: a step of each task within the step of all."""
    model = mlp(1, 16, 1, device=device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def loss_of(parameters, x, y):
        return F.mse_loss(torch.func.functional_call(model, parameters, (x,)), y)

    def adapted_loss(parameters, x, y, more, wanted):
        slopes = torch.func.grad(loss_of)(parameters, x, y)
        adapted = {name: p - 0.1 * slopes[name] for name, p in parameters.items()}
        return loss_of(adapted, more, wanted)

    losses_of = torch.func.vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))
    while True:
        phase = torch.rand(4, 1, 1).to(device) * math.pi
        x, more = torch.randn(4, 10, 1).to(device), torch.randn(4, 10, 1).to(device)
        parameters = dict(model.named_parameters())
        wave, others = torch.sin(x + phase), torch.sin(more + phase)
        loss = losses_of(parameters, x, wave, more, others).mean()
        update(optimizer, loss)
        yield loss.item()


@script(settled=2, slow=True)
def policy_gradient(device):
    """PPO: a rollout that reads each action, then shuffled minibatches of it."""
    steps = 8
    actor, critic = nn.Linear(6, 4).to(device), nn.Linear(6, 1).to(device)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, 3e-3)
    while True:
        states = torch.zeros(steps, 6, device=device)
        actions = torch.zeros(steps, dtype=torch.long, device=device)
        before, rewards = torch.zeros(2, steps, device=device)
        for step in range(steps):
            states[step] = torch.randn(6).to(device)
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=actor(states[step]))
                actions[step] = policy.sample()
                before[step] = policy.log_prob(actions[step])
            rewards[step] = actions[step].item() % 2
        for picked in torch.randperm(steps).split(4):
            mine = picked.to(device)
            policy = torch.distributions.Categorical(logits=actor(states[mine]))
            ratio = (policy.log_prob(actions[mine]) - before[mine]).exp()
            value = critic(states[mine]).squeeze(-1)
            gain = (rewards[mine] - value).detach()
            clipped = torch.min(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean()
            loss = F.mse_loss(value, rewards[mine]) - clipped
            update(optimizer, loss - 0.01 * policy.entropy().mean())
            nn.utils.clip_grad_norm_(parameters, 0.5)
        yield loss.item(), rewards.sum().item()


@script(steps=8, settled=5, slow=True)
def averaged_weights(device):
    """Schedules, accumulated and clipped gradients, SWA and its statistics."""
    averaging = torch.optim.swa_utils
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 3))
    averaged = averaging.AveragedModel(model.to(device))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    late = averaging.SWALR(optimizer, 0.05, anneal_epochs=4)
    data = [(torch.randn(8, 8), torch.randint(0, 3, (8,))) for _ in range(4)]
    data = [(x.to(device), y.to(device)) for x, y in data]
    for epoch in itertools.count():
        for number, (x, y) in enumerate(data):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1) / 2
            loss.backward()
            if number % 2:
                norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
                optimizer.zero_grad()
        if epoch < 2:
            scheduler.step()
        else:
            averaged.update_parameters(model)
            averaging.update_bn([x for x, _ in data], averaged)
            late.step()
        with torch.no_grad():
            yield (
                loss.item(),
                norm.item(),
                averaged.eval()(data[0][0]),
                late.get_last_lr(),
            )


@script(steps=7, settled=2, slow=True)
def translation_of_packed_sequences(device):
    rnn = nn.utils.rnn
    words, read = nn.Embedding(20, 8, padding_idx=0), nn.GRU(8, 8, bidirectional=True)
    write, ask, name = nn.LSTM(8, 16), nn.Linear(16, 16), nn.Linear(32, 20)
    model = nn.ModuleList([words, read, write, ask, name]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for step in itertools.count():
        lengths = [(9, 4, 7, 2), (3, 9, 5, 8)][step % 2]
        texts = rnn.pad_sequence([torch.randint(1, 20, (n,)) for n in lengths])
        texts, wanted = texts.to(device), torch.randint(1, 20, (6, 4)).to(device)
        packed = rnn.pack_padded_sequence(
            words(texts), torch.tensor(lengths), enforce_sorted=False
        )
        steps, last = read(packed)
        steps, lengths = rnn.pad_packed_sequence(steps)
        first = last.transpose(0, 1).reshape(1, 4, 16).tanh()
        written, _ = write(words(wanted[:-1]), (first, torch.zeros_like(first)))
        score = torch.einsum("tbd,sbd->tsb", ask(written), steps)
        padding = torch.arange(len(texts))[:, None] >= lengths
        share = score.masked_fill(padding.to(device), -1e9).softmax(1)
        seen = torch.einsum("tsb,sbd->tbd", share, steps)
        logits = name(torch.cat([written, seen], -1))
        loss = F.cross_entropy(logits.flatten(0, 1), wanted[1:].flatten())
        update(optimizer, loss)
        yield loss.item()


@script(steps=10, settled=8, slow=True)
def resumed_from_a_checkpoint(device):
    """Scaled and accumulated gradients, saved and loaded in mid-training."""

    def begin():
        layers = nn.Linear(8, 16), nn.LayerNorm(16), nn.Dropout(0.1), nn.Linear(16, 4)
        model = nn.Sequential(*layers).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        return model, optimizer, torch.amp.GradScaler(device, init_scale=1024.0)

    begun = begin()
    for step in itertools.count():
        model, optimizer, scaler = begun
        for _ in range(2):
            x, y = torch.randn(8, 8).to(device), torch.randint(0, 4, (8,)).to(device)
            loss = F.cross_entropy(model(x), y) / 2
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        yield loss.item(), norm.item(), scaler.get_scale()
        if step == 4:
            saved, file = [part.state_dict() for part in begun], io.BytesIO()
            torch.save([*saved, torch.get_rng_state()], file)
            begun = begin()
            file.seek(0)
            *saved, numbers = torch.load(file, map_location=device)
            for part, state in zip(begun, saved, strict=True):
                part.load_state_dict(state)
            torch.set_rng_state(numbers.cpu())


@script(steps=8, settled=6)
def pruned_and_parametrized(device):
    norms = nn.utils.parametrizations
    layers = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3)).to(device)
    norms.spectral_norm(layers[0])  # of a module that has been moved
    norms.weight_norm(layers[1])
    prune.l1_unstructured(layers[2], "weight", 0.3)
    optimizer = torch.optim.SGD(layers.parameters(), 0.1)
    for step in itertools.count():
        if step == 4:
            prune.remove(layers[2], "weight")
        x, y = torch.randn(8, 8).to(device), torch.randint(0, 3, (8,)).to(device)
        loss = F.cross_entropy(layers(x), y)
        update(optimizer, loss)
        yield loss.item(), (layers[2].weight == 0).sum().item()


@script(settled=3)
def quantization_aware(device):
    quantization = torch.ao.quantization
    observe = quantization.FakeQuantize(
        quantization.MovingAverageMinMaxObserver, quant_min=0, quant_max=255
    )
    weigh = quantization.FakeQuantize(
        quantization.MovingAveragePerChannelMinMaxObserver,
        quant_min=-128,
        quant_max=127,
        dtype=torch.qint8,
        qscheme=torch.per_channel_symmetric,
    )
    layers = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 3), observe, weigh])
    layers = layers.to(device)
    optimizer = torch.optim.SGD(layers.parameters(), 0.1)
    while True:
        x, y = torch.randn(8, 8).to(device), torch.randint(0, 3, (8,)).to(device)
        hidden = F.linear(observe(x), weigh(layers[0].weight), layers[0].bias)
        loss = F.cross_entropy(layers[1](hidden.relu()), y)
        update(optimizer, loss)
        yield loss.item(), observe.scale, weigh.scale
