# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a ResNet-18 to name the shape in a picture.

    python examples/train_resnet.py --device lazy --picture shapes.png

The script draws its pictures itself (shapes.py). An ordinary PyTorch script: it
says which device it wants and knows nothing else about it.
"""

import argparse
import time

import shapes
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.shortcut = nn.Sequential()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False),
                nn.BatchNorm2d(channels),
            )

    def forward(self, x):
        return F.relu(self.path(x) + self.shortcut(x))


def resnet18(classes, width=64):
    """Return a ResNet-18 for small pictures, whose first layers keep their size."""
    layers = [
        nn.Conv2d(3, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
    ]
    before = width
    for stage in range(4):
        channels = width * 2**stage
        layers += [
            Block(before, channels, 1 if stage == 0 else 2),
            Block(channels, channels, 1),
        ]
        before = channels
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return nn.Sequential(*layers, *head)


def draw_pictures(count, size, seed):
    """Return (pictures (count, 3, size, size), their kinds)."""
    generator = torch.Generator().manual_seed(seed)
    scenes = [shapes.draw(generator, size, 1, 0.2, 0.45) for _ in range(count)]
    return (
        torch.stack([scene.image for scene in scenes]),
        torch.cat([scene.kinds for scene in scenes]),
    )


def evaluate(model, images, kinds):
    """Return (the share that is named rightly, all names given)."""
    model.eval()
    with torch.no_grad():
        guess = model(images).argmax(1)
    model.train()
    return (guess == kinds).float().mean().item(), guess.cpu()


def train(options):
    """Yield the losses of one epoch after another, and print what they gave."""
    torch.manual_seed(options.seed)
    dtype = getattr(torch, options.dtype)
    images, kinds = draw_pictures(options.pictures, options.size, options.seed)
    images = images.to(dtype)
    test = draw_pictures(128, options.size, options.seed + 1)
    test = test[0].to(options.device, dtype), test[1].to(options.device)
    shuffle = torch.Generator().manual_seed(options.seed)
    model = resnet18(len(shapes.KINDS), options.width).to(options.device, dtype)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=options.lr, momentum=0.9, weight_decay=5e-4
    )
    steps = options.epochs * (len(images) // options.batch_size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, steps)
    for epoch in range(1, options.epochs + 1):
        losses, started = [], time.perf_counter()
        order = torch.randperm(len(images), generator=shuffle)
        for batch in order.split(options.batch_size):
            if len(batch) < options.batch_size:
                continue
            x, y = images[batch].to(options.device), kinds[batch].to(options.device)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
        losses = [loss.item() for loss in losses]
        ms = 1e3 * (time.perf_counter() - started) / len(losses)
        accuracy, guess = evaluate(model, *test)
        print(
            f"epoch {epoch:3d}  loss {sum(losses) / len(losses):.5f}  "
            f"test accuracy {accuracy:.4f}  {ms:7.2f} ms a step",
            flush=True,
        )
        yield losses
    if options.picture:
        save_picture(options.picture, test[0].float().cpu(), guess)


def save_picture(path, images, guess, rows=4, columns=8):
    """Write the first pictures with the names that the network gives them."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, figsize=(columns, rows * 1.2))
    for axis, image, kind in zip(axes.flat, images, guess, strict=False):
        axis.imshow(image.permute(1, 2, 0).numpy())
        axis.set_title(shapes.KINDS[kind], fontsize=8)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"picture {path}")


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--pictures", type=int, default=1024)
    parser.add_argument("--size", type=int, default=32, help="pixels a side")
    parser.add_argument("--width", type=int, default=16, help="first channels")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.01, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", metavar="FILE", help="save predictions as PNG")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    for _ in train(parse_options()):
        pass
