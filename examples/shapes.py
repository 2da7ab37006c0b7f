# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of circles, squares, triangles and crosses, drawn by torch on the CPU."""

import dataclasses

import torch

KINDS = ("circle", "square", "triangle", "cross")


@dataclasses.dataclass
class Scene:
    """A picture and the shapes in it, from the hindmost to the foremost."""

    image: torch.Tensor  # (3, H, W), in [0, 1]
    kinds: torch.Tensor  # (N) of int64, places in KINDS
    boxes: torch.Tensor  # (N, 4): left, top, right, bottom, in pixels
    masks: torch.Tensor  # (N, H, W) of bool, what is seen of each shape


def uniform(generator, low, high):
    return low + (high - low) * torch.rand((), generator=generator).item()


def outline(kind, x, y):
    """Return where a shape of radius 1 around (0, 0) covers the points (x, y)."""
    if kind == "circle":
        return x * x + y * y <= 1
    if kind == "square":
        return (x.abs() <= 0.85) & (y.abs() <= 0.85)
    if kind == "triangle":
        return (y <= 0.8) & (y >= -1 + 1.8 * x.abs())
    return ((x.abs() <= 0.3) | (y.abs() <= 0.3)) & (x.abs() <= 1) & (y.abs() <= 1)


def box_of(mask):
    rows, columns = mask.any(1).nonzero(), mask.any(0).nonzero()
    edges = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    return torch.stack(edges).float()


def draw(generator, size, count, smallest=0.1, largest=0.25):
    """Return a Scene of up to `count` shapes; radii are shares of `size` pixels.

    A shape that the others hide for the most part is left out.
    """
    places = torch.arange(size, dtype=torch.float32) + 0.5
    down, across = torch.meshgrid(places, places, indexing="ij")
    slope = uniform(generator, -0.3, 0.3) * (across / size - 0.5)
    image = uniform(generator, 0.3, 0.7) + slope.expand(3, size, size)
    kinds, masks, areas = [], [], []
    for _ in range(count):
        kind = int(torch.randint(len(KINDS), (), generator=generator))
        radius = uniform(generator, smallest, largest) * size
        left = uniform(generator, radius, size - radius)
        top = uniform(generator, radius, size - radius)
        mask = outline(KINDS[kind], (across - left) / radius, (down - top) / radius)
        color = torch.rand(3, 1, 1, generator=generator)
        image = torch.where(mask, color, image)
        masks = [seen & ~mask for seen in masks] + [mask]
        kinds.append(kind)
        areas.append(mask.sum())
    image = image + 0.05 * torch.randn(image.shape, generator=generator)
    shown = [i for i, mask in enumerate(masks) if mask.sum() > 0.4 * areas[i]]
    return Scene(
        image.clamp(0, 1),
        torch.tensor([kinds[i] for i in shown]),
        torch.stack([box_of(masks[i]) for i in shown]),
        torch.stack([masks[i] for i in shown]),
    )
