# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a detector to find, name and fill shapes in pictures.

    python examples/train_detector.py --device lazy --picture found.png

The script draws its pictures itself (shapes.py). How many boxes there are
differs in every step, as do most sizes in detector.py. An ordinary PyTorch
script: it says which device it wants and knows nothing else about it.
"""

import argparse
import time

import shapes
import torch
from detector import Detector, overlaps

NAMES = ("objectness", "anchors", "kinds", "boxes", "masks")


def draw_batch(generator, count, size):
    scenes = []
    for _ in range(count):
        several = int(torch.randint(1, 5, (), generator=generator))
        scenes.append(shapes.draw(generator, size, several))
    return scenes


def on_device(scenes, device, dtype):
    """Return what Detector.losses() takes."""
    return (
        torch.stack([scene.image for scene in scenes]).to(device, dtype),
        [scene.boxes.to(device, dtype) for scene in scenes],
        [scene.kinds.to(device) for scene in scenes],
        [scene.masks.to(device) for scene in scenes],
    )


def found_share(scenes, results):
    """Return (the share of shapes found, the share of finds that are right)."""
    right = shown = claimed = 0
    for scene, (boxes, kinds, _, _) in zip(scenes, results, strict=True):
        shown += len(scene.boxes)
        claimed += len(boxes)
        if len(boxes):
            alike = scene.kinds[:, None] == kinds
            hits = (overlaps(scene.boxes.to(boxes), boxes) > 0.5) & alike
            right += hits.any(1).sum().item()
    return right / shown, right / max(1, claimed)


def train(options):
    """Yield the five losses of each step, an epoch at a time; print what they gave."""
    torch.manual_seed(options.seed)
    dtype = getattr(torch, options.dtype)
    draws = torch.Generator().manual_seed(options.seed)
    chance = torch.Generator().manual_seed(options.seed)
    test = draw_batch(torch.Generator().manual_seed(options.seed + 1), 16, options.size)
    model = Detector(len(shapes.KINDS), options.width, chance)
    model = model.to(options.device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    steps = options.epochs * options.steps_per_epoch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.lr, steps)
    for epoch in range(1, options.epochs + 1):
        losses, spent = [], 0.0
        for _ in range(options.steps_per_epoch):
            scenes = draw_batch(draws, options.batch_size, options.size)
            started = time.perf_counter()
            parts = model.losses(*on_device(scenes, options.device, dtype))
            optimizer.zero_grad()
            sum(parts).backward()
            optimizer.step()
            schedule.step()
            losses.append([part.item() for part in parts])
            spent += time.perf_counter() - started
        results = model(on_device(test, options.device, dtype)[0])
        found, right = found_share(test, results)
        mean = torch.tensor(losses).mean(0).tolist()
        listed = "  ".join(
            f"{name} {value:.4f}" for name, value in zip(NAMES, mean, strict=True)
        )
        print(
            f"epoch {epoch:3d}  {listed}  found {found:.3f}  right {right:.3f}  "
            f"{1e3 * spent / len(losses):7.2f} ms a step",
            flush=True,
        )
        yield losses
    if options.picture:
        save_picture(options.picture, test, results)


def save_picture(path, scenes, results, rows=2, columns=4):
    """Write pictures with the boxes, names and masks that the detector gives."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import patches, pyplot

    figure, axes = pyplot.subplots(rows, columns, figsize=(3 * columns, 3 * rows))
    for axis, scene, result in zip(axes.flat, scenes, results, strict=False):
        axis.imshow(scene.image.permute(1, 2, 0).numpy())
        for box, kind, score, mask in zip(*result, strict=True):
            left, top, right, bottom = box.tolist()
            extent = (left, right, bottom, top)
            shown = (mask > 0.5).float().numpy()
            axis.imshow(shown, extent=extent, alpha=0.45 * shown, cmap="cool")
            size = (right - left, bottom - top)
            axis.add_patch(patches.Rectangle((left, top), *size, fill=False, ec="w"))
            words = f"{shapes.KINDS[kind]} {score:.2f}"
            axis.text(left, top - 2, words, color="w", fontsize=8)
        axis.set(xlim=(0, scene.image.shape[2]), ylim=(scene.image.shape[1], 0))
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    print(f"picture {path}")


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--steps-per-epoch", type=int, default=25)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--size", type=int, default=128, help="pixels a side")
    parser.add_argument("--width", type=int, default=64, help="channels")
    parser.add_argument("--lr", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", metavar="FILE", help="save predictions as PNG")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    for _ in train(parse_options()):
        pass
