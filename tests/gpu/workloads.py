# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests/gpu/speed.py times, and what part of eager's time it is to take.

Each workload is a function of a device and of whether it is to be small, to try the
script without a GPU. It returns a step, which returns a tensor, and how many bytes a
step has to move if it does little else, or 0.
"""

import torch
import torch.nn.functional as F
from models import Encoder, Gpt, Tagger, resnet
from torch import nn


def rows(small):
    """Return how many rows those of 4096 elements are."""
    return 64 if small else 8192


def chain(device, small):
    """Eight pointwise ops: two reads and one write of all."""
    size = 2**12 if small else 2**26
    x, y = (torch.randn(size).to(device) for _ in range(2))

    def step():
        z = x * 1.5 + y
        z = z * torch.sigmoid(z)
        z = torch.tanh(z) + x
        return torch.where(z > 0, z, 0.1 * z)

    return step, 12 * size


def both_ways(compute, parameters, device, small, dtype):
    """Forward and backward of rows; reads and writes rows twice, and once more."""
    x = torch.randn(rows(small), 4096).to(device, dtype).requires_grad_()
    gradient = torch.randn(rows(small), 4096).to(device, dtype)
    inputs = [x, *(p.to(device, dtype).requires_grad_() for p in parameters)]

    def step():
        return torch.autograd.grad(compute(*inputs), inputs, gradient)[0]

    return step, 5 * x.numel() * x.element_size()


def softmax_bf16(device, small):
    """Softmax over rows of 4096."""
    return both_ways(lambda x: x.softmax(-1), [], device, small, torch.bfloat16)


def softmax_short(device, small):
    """Softmax over 64 elements a row, forward alone."""
    x = torch.randn(100 if small else 2**20, 64).to(device, torch.bfloat16)
    return lambda: x.softmax(-1), 4 * x.numel()


def layer_norm(device, small, dtype=torch.float32):
    """Layer norm over rows of 4096."""
    return both_ways(
        lambda x, weight, bias: F.layer_norm(x, (4096,), weight, bias),
        [torch.ones(4096), torch.zeros(4096)],
        device,
        small,
        dtype,
    )


def layer_norm_bf16(device, small):
    """Layer norm over rows of 4096, in half the bytes."""
    return layer_norm(device, small, torch.bfloat16)


def cross_entropy_50k(device, small):
    """The loss of a language model and its gradient."""
    classes = 500 if small else 50257
    logits = torch.randn(rows(small), classes, dtype=torch.bfloat16).to(device)
    logits.requires_grad_()
    labels = torch.randint(classes, (rows(small),)).to(device)

    def step():
        return torch.autograd.grad(F.cross_entropy(logits.float(), labels), [logits])[0]

    return step, 6 * logits.numel()


def adamw_of(shapes, device):
    """Return a step of AdamW alone, of tensors of these shapes."""
    weights = [nn.Parameter(torch.randn(shape).to(device)) for shape in shapes]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    optimizer = torch.optim.AdamW(weights, lr=1e-3)

    def step():
        optimizer.step()
        return weights[0].detach()

    return step, 28 * sum(weight.numel() for weight in weights)


def adamw_100m(device, small):
    """An optimizer's update of 200 tensors."""
    return adamw_of(200 * [(500 if small else 500_000,)], device)


def adamw_gpt2(device, small):
    """The same of the 148 tensors of a GPT-2 small, of nine shapes."""
    n = 8 if small else 768
    layer = [(n,), (n,), (3 * n, n), (3 * n,), (n, n), (n,), (n,), (n,)]
    layer += [(4 * n, n), (4 * n,), (n, 4 * n), (n,)]
    return adamw_of([(65 * n, n), (n + 1, n), *12 * layer, (n,), (n,)], device)


def training(model, inputs, optimizer, device, autocast=False, layout=None):
    """Return a step of training by cross entropy."""
    model = model.to(device)
    if layout:
        model = model.to(memory_format=layout)
    update = optimizer(model.parameters())
    inputs = [value.to(device) for value in inputs]

    def step():
        update.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            logits = model(inputs[0]).float()
            loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), inputs[1])
        loss.backward()
        update.step()
        return loss.detach()

    return step, 0


def adamw(parameters):
    """Return what trains transformers."""
    return torch.optim.AdamW(parameters, lr=1e-4)


def sgd(parameters):
    """Return what trains the others."""
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def letters(model, count, shape, device, **options):
    """Return a step that trains on random letters."""
    text = torch.randint(count, shape)
    inputs = (text, text.roll(-1, 1).flatten())
    return training(model, inputs, adamw, device, **options)


def gpt2_small_bf16(device, small):
    """8 x 1024 letters of 50257, dropout."""
    if small:
        return letters(Gpt(50, 16, 32, 4, 2, 0.1), 50, (2, 16), device, autocast=True)
    model = Gpt(50304, 1024, 768, 12, 12, 0.1)
    return letters(model, 50257, (8, 1024), device, autocast=True)


def resnet50_bf16(device, small):
    """128 pictures, channels last."""
    model = resnet((1, 1, 1, 1), 8) if small else resnet()
    pictures = torch.randn(2, 3, 32, 32) if small else torch.randn(128, 3, 224, 224)
    layout = torch.channels_last
    pictures = pictures.contiguous(memory_format=layout)
    inputs = (pictures, torch.randint(1000, (len(pictures),)))
    return training(model, inputs, sgd, device, autocast=True, layout=layout)


def encoder_8_lengths(device, small):
    """16 texts of each of eight lengths, in bfloat16."""
    model = Encoder(32, 4, 1) if small else Encoder(512, 8, 6)
    model = model.to(device).eval()
    texts = [
        torch.randint(1000, (16, k * (8 if small else 64) - k % 2)).to(device)
        for k in (5, 2, 8, 3, 6, 1, 7, 4)
    ]

    def step():
        with torch.no_grad(), torch.autocast(device, torch.bfloat16):
            return torch.cat([model(text) for text in texts])

    return step, 0


def lstm(device, small):
    """Two layers of 512, 64 rows of 128 times."""
    width, shape = (16, (4, 5)) if small else (512, (64, 128))
    inputs = (torch.randn(*shape, width // 2), torch.randint(64, shape).flatten())
    return training(Tagger(width), inputs, adamw, device)


def generation(device, small):
    """64 letters after another for 8 rows, none of them read."""
    width, count = (32, 4) if small else (256, 64)
    model = Gpt(256, 128, width, 4, 4).to(device).eval()
    shape = (8, 4, 128, width // 4)
    caches = [[torch.zeros(shape).to(device) for _ in range(2)] for _ in range(4)]
    first = torch.randint(256, (8, 1)).to(device)
    places = [torch.tensor([i]).to(device) for i in range(count)]

    def step():
        letter = first
        with torch.no_grad():
            for place in places:
                letter = model.next(letter, place, caches)
                if device == "lazy":
                    torch.lazy.mark_step()
        return letter

    return step, 0


def gpt_small(device, small):
    """Four layers of 256, recorded anew each step."""
    width = 32 if small else 256
    return letters(Gpt(256, 128, width, 4, 4), 256, (8, 128), device)


def tiny_train(device, small):
    """Three layers of 16, recorded anew each step."""
    del small
    model = nn.Sequential(
        nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)
    )
    return training(model, (torch.randn(4, 16), torch.randint(4, (4,))), adamw, device)


def mlp_small(device, small):
    """784-1024-1024-10, recorded anew each step."""
    width = 32 if small else 1024
    model = nn.Sequential(
        nn.Linear(784, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 10),
    )
    inputs = (torch.randn(256, 784), torch.randint(10, (256,)))
    return training(model, inputs, sgd, device)


def frozen(workload):
    """Return the workload with its step repeated without running its Python."""

    def make(device, small):
        step, moved = workload(device, small)
        if device == "lazy":
            import torch_ltc

            step = torch_ltc.freeze(step)
        return step, moved

    make.__name__ = workload.__name__ + "_frozen"
    return make


# Of eager's time, in the order in which they tell most; what takes long is last.
WANTED = {
    chain: 0.14,
    softmax_bf16: 0.40,
    softmax_short: 0.50,
    layer_norm: 0.70,
    layer_norm_bf16: 0.70,
    cross_entropy_50k: 0.13,
    adamw_100m: 0.31,
    adamw_gpt2: 0.31,
    gpt_small: 0.45,
    tiny_train: 0.5,
    mlp_small: 0.5,
    frozen(gpt_small): 0.20,
    frozen(tiny_train): 0.05,
    frozen(mlp_small): 0.09,
    lstm: 0.42,
    generation: 0.20,
    encoder_8_lengths: 0.45,
    gpt2_small_bf16: 0.60,
    resnet50_bf16: 0.62,
}
